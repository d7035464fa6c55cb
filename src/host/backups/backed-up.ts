import { type Dirent, readdirSync } from 'node:fs';
import path from 'node:path';
import type { LocalFile } from '../../backup/local-source.ts';
import type { DatabaseRecord, LogPoint } from '../../backup/manifest.ts';
import { chainToHex } from '../../log/history-point.ts';
import type { LogPlace } from '../../log/log-options.ts';
import { bigintToHex } from '../../values/hex.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import { type Registry, registryIdentity, registryOwner } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';

/** What a backup keeps of a database beside its log. `program`: hash of the one that serves. */
export function recordOf(
  registry: Registry,
  database: RegisteredDatabase,
  program: string | undefined,
): DatabaseRecord {
  const { identity, owner, isLocked, generation, hostType, initialProgram } = database;
  const roles = registry.grantsOf(identity).map((grant) => ({
    identity: identityToHex(grant.identity),
    role: grant.role,
    by: identityToHex(grant.grantedBy),
    micros: Number(grant.grantedMicros),
  }));
  const createdMicros = Number(database.createdMicros);
  return {
    names: registry.namesOf(identity).map(({ name }) => name),
    owner: identityToHex(owner),
    roles,
    lock: isLocked,
    settings: {},
    program: program ?? initialProgram,
    more: { generation, hostType, initialProgram, createdMicros },
  };
}

/** The same for the registry, which is a database as well. */
export const registryRecord: DatabaseRecord = {
  names: [],
  owner: identityToHex(registryOwner),
  roles: [],
  lock: false,
  settings: {},
  program: '',
  more: {},
};

export const registryHex = identityToHex(registryIdentity);

/**
 * The static files and the deploys that a database keeps, and the log of its module, as a backup
 * calls them.
 */
export function filesBesideLog(
  files: DatabaseFiles,
  { identity }: RegisteredDatabase,
  withLogs: boolean,
): LocalFile[] {
  const folder = files.staticFolder(identity);
  if (folder === undefined) return [];
  const deploys = path.join(path.dirname(folder), 'deploys');
  const logs = path.join(path.dirname(folder), 'module-logs');
  const kept = [...filesIn(deploys, 'deploys'), ...filesIn(folder, 'static')];
  return [...kept, ...(withLogs ? filesIn(logs, 'module-logs') : [])];
}

/** The configuration, the audit log and, if wanted, the keys. */
export function hostFilesOf(
  options: { readonly directory: string | undefined; readonly keyDirectory: string | undefined },
  withKeys: boolean,
): LocalFile[] {
  const { directory, keyDirectory } = options;
  if (directory === undefined) return [];
  const configuration = filesIn(directory, '').filter((file) => file.path === 'config.toml');
  const keys = withKeys && keyDirectory !== undefined ? filesIn(keyDirectory, 'keys') : [];
  return [...configuration, ...filesIn(path.join(directory, 'audit'), 'audit'), ...keys];
}

/** The files of a folder, as a backup calls them; those that are being written are left out. */
function filesIn(folder: string, named: string): LocalFile[] {
  return entriesOf(folder)
    .filter((entry) => entry.isFile() && /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(entry.name))
    .map(({ name }) => ({
      path: named === '' ? name : `${named}/${name}`,
      file: path.join(folder, name),
    }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** None if it does not exist. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** A place in a log as a backup names it. */
export function pointOf(place: LogPlace): LogPoint {
  return {
    epoch: bigintToHex(place.epoch, 16),
    offset: place.offset,
    position: place.position,
    chain: chainToHex(place),
    micros: Number(place.lastMicros),
  };
}

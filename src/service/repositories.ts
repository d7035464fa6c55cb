import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { BackupError } from '../backup/backup-error.ts';
import { parsePlace } from '../backup/parse-place.ts';
import { endpointOf, type S3Keys } from '../backup/s3-settings.ts';
import type { RepositorySettings } from '../host/backups/backup-messages.ts';
import { limits } from '../limits.ts';
import { ConfigurationError } from './configuration.ts';
import { parseToml } from './toml.ts';

/** Variables with the keys of S3-compatible stores; they are never shown. */
export const s3Variables = [
  'REDUCERDB_S3_ACCESS_KEY_ID',
  'REDUCERDB_S3_SECRET_ACCESS_KEY',
  'REDUCERDB_S3_SESSION_TOKEN',
] as const;

export interface RepositorySources {
  /** `config.toml`, for messages. */
  readonly file: string;
  /** Its folder, to which paths are relative. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the tables `[repository.NAME]`, with the keys of stores from variables, or from the file
 * that `keys-file` names. Throws `ConfigurationError`.
 */
export function repositoriesIn(tables: unknown, sources: RepositorySources): RepositorySettings[] {
  if (tables === undefined) return [];
  if (!isTable(tables)) throw fault(sources, 'repository', 'is not a table');
  const entries = Object.entries(tables);
  if (entries.length > limits.repositoriesMax) {
    throw fault(sources, 'repository', `names more than ${limits.repositoriesMax} repositories`);
  }
  return entries.map(([name, table]) => repositoryIn(name, table, sources));
}

function repositoryIn(name: string, table: unknown, sources: RepositorySources) {
  const place = `repository.${name}`;
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) {
    throw fault(sources, place, 'has a name of other characters than a-z, 0-9 and dashes');
  }
  if (!isTable(table)) throw fault(sources, place, 'is not a table');
  for (const key of Object.keys(table)) {
    if (!keysOfTable.includes(key)) {
      throw fault(sources, `${place}.${key}`, `is not a setting; one of ${keysOfTable.join(', ')}`);
    }
  }
  const text = (key: string) => textIn(table, key, `${place}.${key}`, sources);
  const url = text('url');
  if (url === undefined) throw fault(sources, place, 'needs `url`');
  const settings = {
    name,
    url: /^[a-z0-9]+:\/\//i.test(url) ? url : path.resolve(sources.folder, url),
    region: text('region'),
    endpoint: text('endpoint'),
    pathStyle: flagIn(table, `${place}.path-style`, sources),
    recipients: listIn(table, `${place}.recipients`, sources),
  };
  checkPlace(settings, place, sources);
  const keysFile = text('keys-file');
  const identityFile = text('identity-file');
  const keys =
    keysFile === undefined ? s3KeysIn(sources.environment) : keysOf(keysFile, place, sources);
  // It is read when something is restored.
  if (identityFile === undefined) return { ...settings, keys };
  return { ...settings, keys, identityFile: path.resolve(sources.folder, identityFile) };
}

const keysOfTable = [
  'url',
  'region',
  'endpoint',
  'path-style',
  'recipients',
  'keys-file',
  'identity-file',
];

function checkPlace(settings: RepositorySettings, place: string, sources: RepositorySources) {
  try {
    const parsed = parsePlace(settings.url);
    if (parsed.kind === 's3') endpointOf(parsed.bucket, settings);
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    throw fault(sources, place, `cannot be used: ${error.message}`);
  }
}

/** The keys of a store from variables; `undefined`: they are not set. */
export function s3KeysIn(environment: RepositorySources['environment']): S3Keys | undefined {
  const [accessKeyId, secretAccessKey, sessionToken] = s3Variables.map((name) => {
    const value = environment[name];
    return value === '' ? undefined : value;
  });
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken };
}

function keysOf(named: string, place: string, sources: RepositorySources): S3Keys {
  const file = path.resolve(sources.folder, named);
  return readKeysFile(file, `${sources.file}: ${place}.keys-file`);
}

/**
 * Reads `access-key-id`, `secret-access-key` and `session-token` from a file of its own, which
 * `where` names. Throws `ConfigurationError`.
 */
export function readKeysFile(file: string, where: string): S3Keys {
  const faultOf = (why: string) => new ConfigurationError(`${where} ${why}`);
  let table: Record<string, unknown>;
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      throw faultOf(`${file} can be read by others; chmod 600 it`);
    }
    table = parseToml(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const isSystem = error instanceof Error && 'code' in error;
    // The text of a parse error would show what is in the file.
    const why = isSystem ? (error as Error).message : 'it is not valid TOML';
    throw faultOf(`${file} cannot be read: ${why}`);
  }
  const { 'access-key-id': id, 'secret-access-key': secret, 'session-token': token } = table;
  if (typeof id !== 'string' || typeof secret !== 'string') {
    throw faultOf(`${file} needs access-key-id and secret-access-key`);
  }
  return {
    accessKeyId: id,
    secretAccessKey: secret,
    sessionToken: typeof token === 'string' ? token : undefined,
  };
}

function textIn(
  table: Record<string, unknown>,
  key: string,
  place: string,
  sources: RepositorySources,
): string | undefined {
  const value = table[key];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw fault(sources, place, 'is not a string');
}

function flagIn(table: Record<string, unknown>, place: string, sources: RepositorySources) {
  const value = table['path-style'];
  if (value === undefined || typeof value === 'boolean') return value;
  throw fault(sources, place, 'is not `true` or `false`');
}

function listIn(table: Record<string, unknown>, place: string, sources: RepositorySources) {
  const value = table.recipients ?? [];
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (!isList) throw fault(sources, place, 'is not a list of strings');
  if (value.length <= limits.backupKeysMax) return value as string[];
  throw fault(sources, place, `has more than ${limits.backupKeysMax} recipients`);
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault({ file }: RepositorySources, place: string, why: string): ConfigurationError {
  return new ConfigurationError(`${file}: ${place} ${why}`);
}

import { BackupError, checkSignal } from '../../backup/backup-error.ts';
import { finishBackup } from '../../backup/finish-backup.ts';
import { KnownObjects } from '../../backup/known-objects.ts';
import { localSource, readFile, sourceFile } from '../../backup/local-source.ts';
import { type DatabaseEntry, objectsOf } from '../../backup/manifest.ts';
import { type Repository, requireRecipients } from '../../backup/repository.ts';
import {
  checkTakesKeys,
  type DatabaseSource,
  type ShipProgress,
  type ShippedDatabase,
  shipDatabase,
  shipFiles,
} from '../../backup/ship.ts';
import { DiskError } from '../../log/disk.ts';
import { MachineDisk } from '../../node/disk.ts';
import type { JobProgress } from '../databases/jobs.ts';
import { registryHex } from './backed-up.ts';
import type { BackedUpDatabase, CreatedBackup, CreateWork } from './backup-messages.ts';
import { findLogEnd, findPlace, type LogEnd, lineageOf } from './log-end.ts';
import { refuseForeignFiles } from './own-files.ts';

interface Running {
  /** Whom the configuration wants the repository to be encrypted to; none: it does not say. */
  readonly recipients: readonly string[];
  readonly signal: AbortSignal;
  readonly report: (progress: JobProgress) => void;
}

/**
 * Ships databases, and writes the manifest of all of them. In a backup of a whole host, one that
 * cannot be read to its end is shipped as far as it can, and its entry says why.
 */
export async function createBackup(
  repository: Repository,
  work: CreateWork,
  { recipients, signal, report }: Running,
): Promise<CreatedBackup> {
  const { databases, files, hasKeys, isWhole, withHistory, program } = work;
  requireRecipients(repository, recipients);
  if (hasKeys) checkTakesKeys(repository, recipients);
  const known = new KnownObjects(repository);
  const entries: DatabaseEntry[] = [];
  const sum = { newObjects: 0, newBytes: 0 };
  for (const [at, database] of databases.entries()) {
    checkSignal(signal);
    const phase = databases.length === 1 ? 'sending' : `sending ${at + 1} of ${databases.length}`;
    const onProgress = ({ bytesDone: done, bytesTotal: total }: ShipProgress): void => {
      report({ phase, done, total });
    };
    const options = { withHistory, signal, known, onProgress };
    const shipped = await shipOrSay(repository, database, isWhole, options);
    entries.push(shipped.entry);
    sum.newObjects += shipped.newObjects;
    sum.newBytes += shipped.newBytes;
  }
  const sources = await Promise.all(files.map(sourceFile));
  const places = new Map(sources.map((source, at) => [source, files[at]?.file ?? '']));
  const options = { signal, known };
  const read = (source: (typeof sources)[number]) =>
    readFile(places.get(source) ?? '', source.bytes);
  const shippedFiles = await shipFiles(repository, sources, read, options);
  const nowMicros = Date.now() * 1_000;
  const parts = { databases: entries, files: shippedFiles, isWhole, program, nowMicros };
  const manifest = await finishBackup(repository, parts, signal);
  const bytes = objectsOf(manifest).reduce((total, { storedBytes }) => total + storedBytes, 0);
  return {
    ...sum,
    id: manifest.id,
    timeMicros: manifest.timeMicros,
    bytes,
    databases: entries.map(({ identity, record: { names }, end, fault }) => {
      return { identity, names, end, fault };
    }),
  };
}

/**
 * In a backup of a whole host, a database of which nothing can be read does not keep the others
 * from being backed up: its entry has no objects, and says why.
 */
async function shipOrSay(
  repository: Repository,
  database: BackedUpDatabase,
  isWhole: boolean,
  options: Parameters<typeof shipDatabase>[2],
): Promise<ShippedDatabase> {
  try {
    return await ship(repository, database, options);
  } catch (error) {
    const isOfFiles =
      error instanceof BackupError ? error.code === 'backup.source' : isUnreadable(error);
    const { identity, record, end } = database;
    if (!isWhole || !isOfFiles || identity === registryHex) throw named(error, database);
    const given = end.kind === 'files' && end.fault !== '' ? `${end.fault}; ` : '';
    const fault = `${given}${error instanceof Error ? error.message : String(error)}`;
    const nothing = { lineage: [], snapshots: [], segments: [], files: [] };
    const entry = { identity, record, epoch: nowhere.epoch, ...nothing, end: nowhere, fault };
    return { entry, newObjects: 0, newBytes: 0 };
  }
}

/** What is wrong with the files of a database says of which; owners see no paths of the machine. */
function named(error: unknown, { identity, record }: BackedUpDatabase): unknown {
  const name = identity === registryHex ? 'the registry' : (record.names[0] ?? identity);
  if (isUnreadable(error)) {
    return new BackupError('backup.source', `${name}: its files cannot be read`, error);
  }
  if (!(error instanceof BackupError) || error.code !== 'backup.source') return error;
  return new BackupError(error.code, `${name}: ${error.message}`, error);
}

const nowhere = {
  ...{ epoch: '0'.repeat(16), offset: 0, position: 0 },
  ...{ chain: '0'.repeat(16), micros: 0 },
};

/** Whether the files of a log cannot be read, or one of the others is not there. */
function isUnreadable(error: unknown): boolean {
  if (error instanceof DiskError) return true;
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function ship(
  repository: Repository,
  database: BackedUpDatabase,
  options: Parameters<typeof shipDatabase>[2],
): Promise<ShippedDatabase> {
  return shipDatabase(repository, await sourceOf(database), options);
}

/** What there is to back up of a database; of its log only headers are read. */
export async function sourceOf(database: BackedUpDatabase): Promise<DatabaseSource> {
  const { directory, isForeign, end: wanted, ...rest } = database;
  if (isForeign) refuseForeignFiles(directory);
  const disk = new MachineDisk(directory);
  const lineage = lineageOf(disk);
  const found = endOf(disk, wanted);
  if (found === undefined) {
    throw new BackupError('backup.source', `${directory} holds no log that can be read`);
  }
  const { fault, identity: _, sequence: __, ...end } = found;
  const given = wanted.kind === 'files' ? wanted.fault : '';
  const why = [given, fault].filter((text) => text !== '').join('; ');
  return localSource({ ...rest, directory, lineage, end, fault: why });
}

function endOf(disk: MachineDisk, end: BackedUpDatabase['end']): LogEnd | undefined {
  switch (end.kind) {
    case 'sealed':
      return { ...end.at, identity: '', sequence: 0, fault: '' };
    case 'offset':
      return findPlace(disk, end.offset);
    case 'files':
      return findLogEnd(disk);
  }
}

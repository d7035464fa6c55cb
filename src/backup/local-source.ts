import fs from 'node:fs';
import type { Disk } from '../log/disk.ts';
import { MachineDisk } from '../node/disk.ts';
import { noFollow } from '../node/private-files.ts';
import { type LogObject, objectsOfLog, readLogObject } from './log-source.ts';
import type { DatabaseRecord, LineagePoint, LogPoint } from './manifest.ts';
import { ByteCount } from './object-body.ts';
import type { DatabaseSource, SourceFile } from './ship.ts';

/** A database whose files are on this machine. */
export interface LocalDatabase {
  readonly identity: string;
  readonly record: DatabaseRecord;
  /** The folder of its log, `log-<generation>`. */
  readonly directory: string;
  readonly end: LogPoint;
  readonly lineage: readonly LineagePoint[];
  readonly files: readonly LocalFile[];
  readonly fault?: string;
}

export interface LocalFile {
  /** As the backup calls it. */
  readonly path: string;
  readonly file: string;
}

/** Reads what there is to back up of a database; nothing of its log is read but headers. */
export function localSource(database: LocalDatabase): Promise<DatabaseSource> {
  const { directory, ...rest } = database;
  return diskSource(new MachineDisk(directory), rest);
}

/** A database whose log is on `disk`. */
export async function diskSource(
  disk: Disk,
  database: Omit<LocalDatabase, 'directory'>,
): Promise<DatabaseSource> {
  const { files, ...rest } = database;
  const read = new Map<SourceFile, string>();
  for (const file of files) read.set(await sourceFile(file), file.file);
  return {
    ...rest,
    objects: objectsOfLog(disk, database.end),
    files: [...read.keys()],
    read: (object: LogObject | SourceFile) => {
      if (object.kind !== 'file') return readLogObject(disk, object);
      return readFile(String(read.get(object)), object.bytes);
    },
  };
}

/** Reads a file to find its size and hash. */
export async function sourceFile({ path, file }: LocalFile): Promise<SourceFile> {
  const count = new ByteCount();
  for await (const _ of count.over(readFile(file)));
  return { kind: 'file', path, bytes: count.bytes, hash: count.hash() };
}

/**
 * The content of a file, or its first bytes: a log may have grown since it was looked at. A
 * symbolic link in its place is an error.
 */
export async function* readFile(file: string, bytes?: number): AsyncIterable<Uint8Array> {
  if (bytes === 0) return;
  const handle = await fs.promises.open(file, fs.constants.O_RDONLY | noFollow);
  try {
    yield* handle.createReadStream({
      autoClose: false,
      highWaterMark: 256 * 1024,
      ...(bytes !== undefined && { end: bytes - 1 }),
    });
  } finally {
    await handle.close();
  }
}

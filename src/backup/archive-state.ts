import { limits } from '../limits.ts';
import { BackupError } from './backup-error.ts';
import { JsonFault, type JsonObject, Members, openSealedJson, sealedJson } from './checked-json.ts';
import {
  checkVersion,
  type DatabaseRecord,
  type FileEntry,
  type LineagePoint,
  type LogPoint,
  type ObjectEntry,
  objectsOfDatabase,
  readFileEntry,
  readLineagePoint,
  readPoint,
  readRecord,
  readSegmentEntry,
  readSnapshotEntry,
  type SegmentEntry,
  type SnapshotEntry,
} from './manifest.ts';
import { type ArchiveName, archiveFolder, archiveName, parseArchiveName } from './object-names.ts';
import { ObjectMissingError, ObjectTooLargeError, readWhole } from './object-store.ts';
import { ObjectFault, type Repository } from './repository.ts';

/**
 * How far the archive of one database reaches, in one epoch: the object `archive/….json`, which is
 * replaced after each step. Objects that it names were put before; those that it does not name any
 * more are deleted afterwards.
 */
export interface ArchiveState {
  /** The service that archives: 32 hexadecimal digits. */
  readonly host: string;
  readonly identity: string;
  readonly epoch: string;
  readonly line: number;
  readonly record: DatabaseRecord;
  readonly lineage: readonly LineagePoint[];
  readonly snapshots: readonly SnapshotEntry[];
  readonly segments: readonly SegmentEntry[];
  /** Parts of the segment that is not sealed yet, in order. */
  readonly tails: readonly SegmentEntry[];
  readonly files: readonly FileEntry[];
  readonly end: LogPoint;
  /** When `end` was last known to be the durable end of the log. */
  readonly confirmedMicros: number;
}

/** All objects that an archive names. */
export function objectsOfArchive(
  state: Pick<ArchiveState, 'snapshots' | 'segments' | 'tails' | 'files'>,
): ObjectEntry[] {
  return [...objectsOfDatabase(state), ...state.tails];
}

export async function writeArchiveState(
  repository: Repository,
  state: ArchiveState,
): Promise<string> {
  const bytes = sealedJson({ version: 1, ...(state as unknown as JsonObject) });
  const name = archiveName(state.identity, state.epoch, state.line);
  if (bytes.length > limits.archiveStateBytesMax) {
    const text = `${name} has ${bytes.length} bytes; at most ${limits.archiveStateBytesMax} fit`;
    throw new BackupError('backup.source', text);
  }
  await repository.store.replace(name, bytes);
  return name;
}

/** `undefined`: there is none. Throws `ObjectFault` if it is damaged. */
export async function readArchiveState(
  repository: Repository,
  { name }: Pick<ArchiveName, 'name'>,
): Promise<ArchiveState | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await readWhole(repository.store, name, limits.archiveStateBytesMax);
  } catch (error) {
    if (error instanceof ObjectMissingError) return undefined;
    if (!(error instanceof ObjectTooLargeError)) throw error;
    throw new ObjectFault('damaged', name, `${name} is damaged: ${error.message}`, error);
  }
  try {
    return stateOf(bytes);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw new ObjectFault('damaged', name, `${name} is damaged: ${error.message}`, error);
  }
}

/** The archives of all databases, or of one, in the order of their names. */
export async function listArchives(
  repository: Repository,
  identity?: string,
): Promise<ArchiveName[]> {
  const names: ArchiveName[] = [];
  const prefix = identity === undefined ? archiveFolder : `${archiveFolder}${identity}/`;
  for await (const { name } of repository.store.list(prefix)) {
    const parsed = parseArchiveName(name);
    if (parsed !== undefined) names.push(parsed);
  }
  return names;
}

function stateOf(bytes: Uint8Array): ArchiveState {
  checkVersion(bytes, 'the archive');
  const members = new Members(openSealedJson(bytes), 'archive');
  members.count('version', 1);
  const state: ArchiveState = {
    host: members.hex('host', 32),
    identity: members.hex('identity', 64),
    epoch: members.hex('epoch', 16),
    line: members.count('line', limits.archiveLinesMax),
    record: readRecord(members.value('record'), 'archive.record'),
    lineage: members.list('lineage', 1_024, readLineagePoint),
    snapshots: members.list('snapshots', limits.manifestObjectsMax, readSnapshotEntry),
    segments: members.list('segments', limits.manifestObjectsMax, readSegmentEntry),
    tails: members.list('tails', limits.archiveTailsMax + 1, readSegmentEntry),
    files: members.list('files', limits.manifestObjectsMax, readFileEntry),
    end: readPoint(members.value('end'), 'archive.end'),
    confirmedMicros: members.count('confirmedMicros'),
  };
  members.finish();
  return state;
}

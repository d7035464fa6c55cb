import { limits } from '../limits.ts';
import { laterFileError } from './backup-error.ts';
import {
  JsonFault,
  type JsonObject,
  type JsonValue,
  Members,
  openSealedJson,
  parseObject,
  sealedJson,
} from './checked-json.ts';
import { isObjectName } from './object-store.ts';

/**
 * A manifest: what one backup consists of. It is a JSON object, described member by member in
 * `docs/format/repository.md`, and read strictly: an unknown member, or a value out of bounds, is
 * an error. Identities have 64 hexadecimal digits, epochs and chain hashes 16, hashes 64; times are
 * microseconds since the Unix epoch.
 */
export interface Manifest {
  /** 12 hexadecimal digits. */
  readonly id: string;
  readonly timeMicros: number;
  /** What wrote it, for people. */
  readonly program: string;
  /** True if it has all databases of a host, its registry included. */
  readonly isWhole: boolean;
  readonly databases: readonly DatabaseEntry[];
  /** Files of the host itself: configuration, audit log, keys. */
  readonly files: readonly FileEntry[];
}

/** An object as a manifest names it. */
export interface ObjectEntry {
  readonly name: string;
  /** Bytes and SHA-256 of what is stored. */
  readonly storedBytes: number;
  readonly storedHash: string;
  /** Bytes and SHA-256 of what is inside. */
  readonly bytes: number;
  readonly hash: string;
}

/** A place in a log: after commit `offset`, at `position` with its chain hash. */
export interface LogPoint {
  readonly epoch: string;
  readonly offset: number;
  readonly position: number;
  readonly chain: string;
  /** T of the commit. */
  readonly micros: number;
}

/** Where one history of a database was left for the next one. */
export interface LineagePoint extends LogPoint {
  readonly identity: string;
  /** Sequence number of the segment that holds the place. */
  readonly sequence: number;
}

export interface SnapshotEntry extends ObjectEntry {
  readonly identity: string;
  readonly at: LogPoint;
  /** Sequence number of the segment in which the log continues. */
  readonly sequence: number;
}

export interface SegmentEntry extends ObjectEntry {
  readonly identity: string;
  readonly sequence: number;
  /** The place before its first record, and the one after its last. */
  readonly from: LogPoint;
  readonly to: LogPoint;
}

/** A file that is not part of the log; `path` is relative, to the database or to the host. */
export interface FileEntry extends ObjectEntry {
  readonly path: string;
}

/** What the host knows of a database beside its log; the host reads and writes all of it. */
export interface DatabaseRecord {
  readonly names: readonly string[];
  readonly owner: string;
  readonly roles: readonly JsonObject[];
  readonly lock: JsonValue;
  readonly settings: JsonObject;
  /** Hash of the program that served. */
  readonly program: string;
  /** Anything else. */
  readonly more: JsonObject;
}

export interface DatabaseEntry {
  readonly identity: string;
  readonly record: DatabaseRecord;
  readonly epoch: string;
  readonly lineage: readonly LineagePoint[];
  /** In ascending order; a restore begins with the last one that is not behind its end. */
  readonly snapshots: readonly SnapshotEntry[];
  readonly segments: readonly SegmentEntry[];
  readonly files: readonly FileEntry[];
  readonly end: LogPoint;
  /** Why what is here is not all of it; empty if it is. */
  readonly fault: string;
}

export function encodeManifest(manifest: Manifest): Uint8Array {
  return sealedJson({ version: 1, ...(manifest as unknown as JsonObject) });
}

/** Reads a manifest; throws `JsonFault`, or `BackupError` if it is of a later version. */
export function readManifest(bytes: Uint8Array): Manifest {
  checkVersion(bytes, 'the manifest');
  const members = new Members(openSealedJson(bytes), 'manifest');
  members.count('version', 1);
  const manifest: Manifest = {
    id: members.hex('id', backupIdDigits),
    timeMicros: members.count('timeMicros'),
    program: members.text('program', 256),
    isWhole: members.flag('isWhole'),
    databases: members.list('databases', limits.manifestDatabasesMax, readDatabase),
    files: members.list('files', limits.manifestObjectsMax, readFileEntry),
  };
  members.finish();
  return manifest;
}

export const backupIdDigits = 12;

/** Throws `BackupError` if a JSON text is of a later version than this program reads. */
export function checkVersion(bytes: Uint8Array, what: string): void {
  const { version } = parseObject(Buffer.from(bytes).toString());
  if (typeof version === 'number' && version > 1) throw laterFileError(what);
}

/** All objects that a manifest names. */
export function objectsOf(manifest: Pick<Manifest, 'databases' | 'files'>): ObjectEntry[] {
  const ofDatabases = manifest.databases.flatMap(objectsOfDatabase);
  return [...ofDatabases, ...manifest.files];
}

export function objectsOfDatabase(
  entry: Pick<DatabaseEntry, 'snapshots' | 'segments' | 'files'>,
): ObjectEntry[] {
  return [...entry.snapshots, ...entry.segments, ...entry.files];
}

function readDatabase(value: JsonValue, place: string): DatabaseEntry {
  const members = new Members(value, place);
  const entry: DatabaseEntry = {
    identity: members.hex('identity', 64),
    record: readRecord(members.value('record'), `${place}.record`),
    epoch: members.hex('epoch', 16),
    lineage: members.list('lineage', 1_024, readLineagePoint),
    snapshots: members.list('snapshots', limits.manifestObjectsMax, readSnapshotEntry),
    segments: members.list('segments', limits.manifestObjectsMax, readSegmentEntry),
    files: members.list('files', limits.manifestObjectsMax, readFileEntry),
    end: readPoint(members.value('end'), `${place}.end`),
    fault: members.text('fault'),
  };
  members.finish();
  return entry;
}

/** Reads what the host knows of a database. */
export function readRecord(value: JsonValue, place: string): DatabaseRecord {
  const members = new Members(value, place);
  const record = {
    names: members.list('names', 1_024, (name, at) => readText(name, at)),
    owner: members.text('owner', 64),
    roles: members.list('roles', 65_536, (role, at) => readObject(role, at)),
    lock: members.value('lock'),
    settings: members.object('settings'),
    program: members.text('program', 64),
    more: members.object('more'),
  };
  members.finish();
  return record;
}

function readText(value: JsonValue, place: string): string {
  return new Members({ it: value }, place).text('it');
}

function readObject(value: JsonValue, place: string): JsonObject {
  return new Members({ it: value }, place).object('it');
}

export function readLineagePoint(value: JsonValue, place: string): LineagePoint {
  const members = new Members(value, place);
  const identity = members.hex('identity', 64);
  const sequence = members.count('sequence');
  const point = { ...takePoint(members), identity, sequence };
  members.finish();
  return point;
}

export function readSnapshotEntry(value: JsonValue, place: string): SnapshotEntry {
  const members = new Members(value, place);
  const entry = {
    ...takeObject(members),
    identity: members.hex('identity', 64),
    at: readPoint(members.value('at'), `${place}.at`),
    sequence: members.count('sequence'),
  };
  members.finish();
  return entry;
}

export function readSegmentEntry(value: JsonValue, place: string): SegmentEntry {
  const members = new Members(value, place);
  const entry = {
    ...takeObject(members),
    identity: members.hex('identity', 64),
    sequence: members.count('sequence'),
    from: readPoint(members.value('from'), `${place}.from`),
    to: readPoint(members.value('to'), `${place}.to`),
  };
  members.finish();
  return entry;
}

export function readFileEntry(value: JsonValue, place: string): FileEntry {
  const members = new Members(value, place);
  const entry = { ...takeObject(members), path: members.text('path', 1_024) };
  members.finish();
  if (isFilePath(entry.path)) return entry;
  throw new JsonFault(
    `${place}.path leads out of the folder or into a log, or has other characters`,
  );
}

/**
 * Whether a path of a file stays below the folder that it is relative to, and out of the logs
 * there, which are restored from objects that are checked as such.
 */
export function isFilePath(path: string): boolean {
  if (/^(?:(?:log|replaced)-\d+|databases|registry)(?:\/|$)/.test(path)) return false;
  return path.split('/').every((part) => /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(part));
}

export function readPoint(value: JsonValue, place: string): LogPoint {
  const members = new Members(value, place);
  const point = takePoint(members);
  members.finish();
  return point;
}

function takePoint(members: Members): LogPoint {
  return {
    epoch: members.hex('epoch', 16),
    offset: members.count('offset'),
    position: members.count('position'),
    chain: members.hex('chain', 16),
    micros: members.count('micros'),
  };
}

function takeObject(members: Members): ObjectEntry {
  const name = members.text('name', limits.objectNameBytesMax);
  if (!isObjectName(name))
    throw new JsonFault(`${JSON.stringify(name)} is not a name of an object`);
  return {
    name,
    storedBytes: members.count('storedBytes'),
    storedHash: members.hex('storedHash', 64),
    bytes: members.count('bytes'),
    hash: members.hex('hash', 64),
  };
}

/**
 * Names in a repository, without the endings `.gz` and `.age`, which the repository adds:
 *
 * ```
 * objects/<identity>/<epoch>/snapshot-<offset>.rdbs
 * objects/<identity>/<epoch>/commit-<sequence>-<first offset>-<last offset>.log
 * objects/<identity>/<epoch>/tail-<sequence>-<from position>-<to position>     of archives only
 * objects/<identity>/files/<SHA-256>
 * objects/host/<SHA-256>
 * backups/<time>-<id>.json
 * archive/<identity>/<epoch>.json, and <epoch>.2.json and so on for further lines
 * ```
 *
 * A further line of an archive has `<epoch>.2` in place of `<epoch>`. Offsets and positions have 16
 * digits, sequence numbers 8.
 */
export function objectFolder(identity: string, line: string): string {
  return `objects/${identity}/${line}`;
}

export const objectsFolder = 'objects/';
export const backupsFolder = 'backups/';
export const archiveFolder = 'archive/';

export function snapshotObject(folder: string, offset: number): string {
  return `${folder}/snapshot-${digits(offset, 16)}.rdbs`;
}

export function segmentObject(
  folder: string,
  { sequence, first, last }: { sequence: number; first: number; last: number },
): string {
  return `${folder}/commit-${digits(sequence, 8)}-${digits(first, 16)}-${digits(last, 16)}.log`;
}

export function tailObject(
  folder: string,
  { sequence, from, to }: { sequence: number; from: number; to: number },
): string {
  return `${folder}/tail-${digits(sequence, 8)}-${digits(from, 16)}-${digits(to, 16)}`;
}

export function fileObject(identity: string | undefined, hash: string): string {
  return identity === undefined ? `objects/host/${hash}` : `objects/${identity}/files/${hash}`;
}

/** The name of a manifest: names sort by time. */
export function manifestName(timeMicros: number, id: string): string {
  return `${backupsFolder}${timeText(timeMicros)}-${id}.json`;
}

export interface ManifestName {
  readonly name: string;
  readonly id: string;
  readonly timeMicros: number;
}

/** `undefined` for any other object. */
export function parseManifestName(name: string): ManifestName | undefined {
  const [, time = '', id = ''] = /^backups\/([\dT.]{19}Z)-([0-9a-f]{12})\.json$/.exec(name) ?? [];
  const timeMicros = microsIn(time);
  return timeMicros === undefined ? undefined : { name, id, timeMicros };
}

/** A marker that a backup was verified; see `verify.ts`. */
export function verifiedName(backup: ManifestName, depth: string, timeMicros: number): string {
  const base = backup.name.slice(backupsFolder.length, -'.json'.length);
  return `${verifiedFolder}${base}/${timeText(timeMicros)}-${depth}`;
}

export interface VerifiedName {
  /** The name of the manifest, without folder and ending. */
  readonly stem: string;
  readonly depth: string;
  readonly timeMicros: number;
}

/** `undefined` for any other object. */
export function parseVerifiedName(name: string): VerifiedName | undefined {
  const found = /^verified\/([^/]+)\/([\dT.]{19}Z)-(read|deep)$/.exec(name);
  const [, stem = '', time = '', depth = ''] = found ?? [];
  const timeMicros = microsIn(time);
  return timeMicros === undefined ? undefined : { stem, depth, timeMicros };
}

export const verifiedFolder = 'verified/';

/** `epoch` is 16 digits; the first line of an archive has the number 1. */
export function archiveLine(epoch: string, line: number): string {
  return line === 1 ? epoch : `${epoch}.${line}`;
}

export function archiveName(identity: string, epoch: string, line: number): string {
  return `${archiveFolder}${identity}/${archiveLine(epoch, line)}.json`;
}

export interface ArchiveName {
  readonly name: string;
  readonly identity: string;
  readonly epoch: string;
  readonly line: number;
}

export function parseArchiveName(name: string): ArchiveName | undefined {
  const found = /^archive\/([0-9a-f]{64})\/([0-9a-f]{16})(?:\.(\d{1,4}))?\.json$/.exec(name);
  if (found === null) return undefined;
  const [, identity, epoch, line] = found;
  return { name, identity: String(identity), epoch: String(epoch), line: Number(line ?? 1) };
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

/** A time in UTC to the millisecond, as in `20261122T100000.000Z`. */
function timeText(micros: number): string {
  const iso = new Date(Math.floor(micros / 1000)).toISOString();
  return iso.replaceAll(/[-:]/g, '');
}

function microsIn(text: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\.\d{3}Z)$/.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const millis = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}`);
  return Number.isNaN(millis) ? undefined : millis * 1000;
}

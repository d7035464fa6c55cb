import type { Disk } from '../log/disk.ts';
import { floorName, readFloor } from '../log/floor.ts';
import { LogDamageError } from '../log/log-error.ts';
import { segmentNames } from '../log/segment-reader.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { verifyDeeply } from './deep-verify.ts';
import { headerOf } from './files.ts';
import { type HistoryReport, historyStatus } from './keep.ts';
import { indexName, readIndex } from './segment-index.ts';

/** What was found about one file beside a log. */
export interface FileFinding {
  readonly name: string;
  /** `aside`: it was set aside by a start or a pass, and is never read. */
  readonly kind: 'damaged' | 'aside';
  readonly detail: string;
}

/** The extent of a history; `undefined`: its files do not say. */
export function historyExtent(disk: Disk, identity: DatabaseIdentity): HistoryReport | undefined {
  try {
    return historyStatus(disk, identity);
  } catch (error) {
    if (error instanceof LogDamageError) return undefined;
    throw error;
  }
}

/** Checks each index of a segment. A damaged one costs nothing: the next pass builds it again. */
export function verifyIndexes(disk: Disk): FileFinding[] {
  const segments = segmentNames(disk);
  return segments.flatMap((segment, at): FileFinding[] => {
    const following = segments[at + 1];
    const header = tried(() => headerOf(disk, segment));
    const next = following === undefined ? undefined : tried(() => headerOf(disk, following));
    if (header === undefined || next === undefined) return [];
    const reading = readIndex(disk, segment, header, next);
    if (reading.kind !== 'damaged') return [];
    const detail = `${reading.reason}; the service builds it again`;
    return [{ name: indexName(segment), kind: 'damaged', detail }];
  });
}

/** The snapshot in `floor` is the oldest one: without it, history begins later than it says. */
export function verifyFloor(disk: Disk): FileFinding[] {
  const reading = readFloor(disk);
  if (reading.kind !== 'valid') return [];
  const { snapshot: name } = reading.floor;
  const isThere = disk.list().some((file) => file === name || file.startsWith(`${name}.bad-`));
  if (isThere) return [];
  return [{ name, kind: 'damaged', detail: `it is missing, and \`${floorName}\` names it` }];
}

/** Replays the log, which must be intact, and compares it with its snapshots. */
export function deepFindings(disk: Disk, identity: DatabaseIdentity): FileFinding[] {
  return verifyDeeply(disk, identity).map(({ name, reason: detail }) => {
    return { name, kind: 'damaged', detail };
  });
}

/** The files that a start or a pass has set aside. */
export function filesSetAside(disk: Disk): FileFinding[] {
  const names = disk.list().filter((name) => /\.(?:bad|torn)-\d+$/.test(name));
  const detail = 'it was set aside, and is never read';
  return names.map((name) => ({ name, kind: 'aside', detail }));
}

/** What is wrong with the segment itself is reported for the log. */
function tried<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof LogDamageError) return undefined;
    throw error;
  }
}

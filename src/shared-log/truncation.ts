import { limits } from '../limits.ts';
import { decodeEntry, entryKinds } from './entry.ts';
import { lastSeq } from './find-start.ts';
import type { LogName } from './log-name.ts';
import type { SharedLog } from './shared-log.ts';

/** What has to stay of a shared log. */
export interface TruncationBounds {
  /** Log position of the second newest snapshot that was verified. */
  readonly position: number;
  /** The least offset that a host has which is waited for. */
  readonly offset: number;
  /** Entries from this one on are young. */
  readonly seq: number;
}

export interface TruncationPlace {
  /** All entries before this one can go. It says how the log is read on from there. */
  readonly seq: number;
  readonly position: number;
  readonly offset: number;
}

/**
 * Where a shared log can begin from now on: the last entry for that which has nothing in front of
 * it that must stay. `undefined`: nothing can go. All that it looks at is in acknowledged history.
 * Rejects with `EngineError`.
 */
export async function truncationPlace(
  sharedLog: Pick<SharedLog, 'read' | 'confirm'>,
  log: LogName,
  bounds: TruncationBounds,
  every: number = limits.restartEveryEntries,
): Promise<TruncationPlace | undefined> {
  const last = await lastSeq(sharedLog, log);
  const { first } = await sharedLog.read(log, 0, limits.sharedReadBytesMax, 1);
  const newest = Math.min(last, bounds.seq);
  for (let seq = newest - (newest % every); seq > first; seq -= every) {
    const { entries } = await sharedLog.read(log, seq, limits.sharedReadBytesMax, 1);
    const [found] = entries;
    const reading = found?.seq === seq ? decodeEntry(found.bytes) : undefined;
    if (reading?.kind !== 'valid' || reading.entry.kind !== entryKinds.restart) continue;
    const { position, offset } = reading.entry;
    if (position > bounds.position || offset > bounds.offset) continue;
    // An entry that an engine shows may still be lost, and what is removed is gone.
    const [confirmed] = await sharedLog.confirm([{ log, seq: last }]);
    return confirmed === 'unknown' || confirmed === undefined
      ? undefined
      : { seq, position, offset };
  }
  return undefined;
}

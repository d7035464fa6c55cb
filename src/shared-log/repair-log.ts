import { limits } from '../limits.ts';
import type { LogPoint } from '../log/log-point.ts';
import { beginBehind } from './begin-log.ts';
import { LogComparison } from './compare-log.ts';
import { beginningEntry, createLog } from './create-log.ts';
import { decodeEntry } from './entry.ts';
import { entryBehind } from './gap-search.ts';
import { bootId } from './host-ids.ts';
import { continueLog, type ImportedLog, type ImportLogOptions } from './import-log.ts';
import type { StoredEntry } from './shared-log.ts';
import { Tail } from './tail.ts';

export interface RepairOptions extends ImportLogOptions {
  /** The log of the host whose word is taken. */
  readonly source: ImportedLog;
  /**
   * Where a log that is begun again begins: all that is before it is in a snapshot that hosts
   * share, or there is nothing. `undefined`: there is no such place.
   */
  readonly base: () => Promise<LogPoint | undefined>;
  /** Commits up to this one are known to be acknowledged, by whichever host. */
  readonly knownOffset: number;
  /** Where acknowledged history ends, by those other hosts that say so. */
  readonly knownEnds: readonly LogPoint[];
  /** The last term that hosts know. */
  readonly knownTerm: number;
}

export type RepairOutcome =
  /** The log has everything, as far as anybody knows. */
  | { readonly kind: 'whole'; readonly offset: number }
  /** The commits that were missing at its end are there again. */
  | { readonly kind: 'restored'; readonly from: number; readonly offset: number }
  /** It begins at entry `seq` from now on, and has everything up to `offset`. */
  | { readonly kind: 'begun'; readonly seq: number; readonly offset: number };

/** The log stays as it is; the message says why, and what to do. */
export class RepairError extends Error {
  override readonly name = 'RepairError';
}

/**
 * Has a shared log hold what the log of one host holds: writes what is missing at its end, or,
 * where entries within it are missing or damaged, begins it again behind them. Both in a term of
 * its own,
 * so that nobody who leads goes on unnoticed. Rejects with `RepairError`, with `ImportError` if
 * another host writes meanwhile, and with `EngineError`.
 */
export async function repairLog(options: RepairOptions): Promise<RepairOutcome> {
  const { source, knownEnds } = options;
  const knownOffset = Math.max(options.knownOffset, ...knownEnds.map((end) => end.offset));
  const found = await endOf(options);
  const { tail, comparison } = found;
  const { offset } = source.end;
  if (knownOffset > offset) throw new RepairError(lacksText(knownOffset, offset));
  for (const end of knownEnds) comparison.compareEnd(end);
  if (found.isWhole && tail.next > 0 && tail.promised <= offset) {
    const { point } = tail;
    if (point.offset > offset) throw new RepairError(lacksText(point.offset, offset));
    requireSame(comparison);
    if (source.chainAt(point.position) !== point.chain) {
      throw new RepairError(`this host has other commits than the log, up to ${point.offset}`);
    }
    if (knownOffset <= point.offset) return { kind: 'whole', offset: point.offset };
    await continueLog(options, tail);
    return { kind: 'restored', from: point.offset + 1, offset };
  }
  if (found.offset > offset) throw new RepairError(lacksText(found.offset, offset));
  requireSame(comparison);
  return beginAgain(options, found);
}

/** A host that was down while it was deposed still has commits that nobody else has. */
function requireSame({ difference }: LogComparison): void {
  if (difference !== undefined) throw new RepairError(difference);
}

/** What a log has, readable or not. */
interface FoundEnd {
  readonly tail: Tail;
  readonly comparison: LogComparison;
  /** True if all of it was read. */
  isWhole: boolean;
  last: StoredEntry | undefined;
  /** The largest term and offset that an entry names. */
  term: number;
  offset: number;
}

async function endOf(options: RepairOptions): Promise<FoundEnd> {
  const { sharedLog, log, source } = options;
  const comparison = new LogComparison(source);
  const found: FoundEnd = {
    ...{ tail: new Tail(), comparison, isWhole: true, last: undefined, term: 0, offset: 0 },
  };
  let next = 0;
  for (;;) {
    const { entries, first } = await sharedLog.read(log, next, limits.sharedReadBytesMax);
    // It is shortened meanwhile.
    if (next > 0 && first > next) return endOf(options);
    if (next === 0) next = first;
    for (const entry of entries) {
      if (entry.seq !== next) found.isWhole = false;
      note(found, entry);
      next = entry.seq + 1;
    }
    if (entries.length > 0) continue;
    const behind = await entryBehind(sharedLog, log, next);
    if (behind === undefined) return found;
    found.isWhole = false;
    next += 1;
    for (let at = next; at < behind; at++) {
      if ((await sharedLog.read(log, at, limits.sharedReadBytesMax, 1)).entries.length > 0) break;
      next = at + 1;
    }
  }
}

function note(found: FoundEnd, stored: StoredEntry): void {
  found.last = stored;
  const reading = decodeEntry(stored.bytes);
  if (reading.kind === 'later') throw new RepairError(laterText(stored.seq));
  if (reading.kind === 'valid') {
    found.term = Math.max(found.term, reading.entry.term);
    found.offset = Math.max(found.offset, reading.entry.offset);
    // One that is another's copy stands for nothing where it lies.
    if (reading.entry.seq === stored.seq) found.comparison.compare(reading.entry);
  }
  if (!found.isWhole) return;
  if (found.tail.accept(stored).kind === 'fault') found.isWhole = false;
}

async function beginAgain(options: RepairOptions, found: FoundEnd): Promise<RepairOutcome> {
  const { source, knownTerm } = options;
  const base = await options.base();
  if (base === undefined) throw new RepairError(noBaseText);
  const last = found.last ?? (await entryZero(options));
  const term = Math.max(found.term, knownTerm);
  const seq = await beginBehind(options, { last, point: base, term });
  return { kind: 'begun', seq, offset: source.end.offset };
}

/** Entry 0, in a log of which nothing is there. */
async function entryZero({ sharedLog, log, source, pause }: RepairOptions): Promise<StoredEntry> {
  const bytes = beginningEntry(source.beginning, bootId(0n));
  const made = await createLog(sharedLog, log, bytes, { pause, isStopped: () => false });
  if (made !== 'created') throw new RepairError('another host has begun the log; try again');
  return { seq: 0, bytes };
}

function lacksText(offset: number, has: number): string {
  return (
    `commits up to ${offset} were acknowledged, or are in the log, and this host has those up ` +
    `to ${has}: name a host that has more`
  );
}

function laterText(seq: number): string {
  return `a later version wrote entry ${seq}: repair it with that version`;
}

const noBaseText =
  'its log begins at a snapshot on this host, and the hosts have no place for snapshots that ' +
  'they share (--snapshots); name a host that has all of it';

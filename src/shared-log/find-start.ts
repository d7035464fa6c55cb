import { limits } from '../limits.ts';
import { decodeEntry, type Entry, entryKinds } from './entry.ts';
import { type Beginning, decodeBeginning, decodeLead, decodeRestart } from './entry-payloads.ts';
import type { LogName } from './log-name.ts';
import type { SharedLog } from './shared-log.ts';
import type { TailStart } from './tail.ts';

/** The local log, as far as it is compared with the shared one. */
export interface LocalEnd {
  readonly position: number;
  /** The chain hash in front of the record at a position, or at the end. */
  chainAt(position: number): bigint | undefined;
}

/**
 * Where a host reads on that has a local log, instead of from entry 0: behind the last entry with
 * records that its log has whole. `undefined`: the log is short, or has another history than the
 * local one there; then all of it is read. Positions and terms never fall along a log, so this
 * takes a few dozen reads of one entry. Rejects with `EngineError`.
 */
export async function findStart(
  sharedLog: Pick<SharedLog, 'read'>,
  log: LogName,
  local: LocalEnd,
): Promise<{ readonly start: TailStart; readonly beginning: Beginning } | undefined> {
  const { startSearchEntriesMin, sharedReadBytesMax } = limits;
  if (local.position === 0) return undefined;
  const { first } = await sharedLog.read(log, 0, sharedReadBytesMax, 1);
  const entries = new OneByOne(sharedLog, log);
  const searchFrom = first + startSearchEntriesMin;
  if (!(await entries.has(searchFrom))) return undefined;
  const opening = openingIn(await entries.at(first));
  if (opening === undefined) return undefined;
  const count = await entries.firstWhere(searchFrom, undefined, () => false);
  const last = await entries.at(count - 1);
  if (last === undefined) return undefined;
  const range = { first, count };
  const next = await behind(entries, range, Math.min(local.position, last.position));
  const before = next === undefined ? undefined : await entries.at(next.seq - 1);
  if (next === undefined || before === undefined || before.term === 0) return undefined;
  if (local.chainAt(next.position) !== next.chain) return undefined;
  const { term } = before;
  const began = await entries.at(
    await entries.firstWhere(first, next.seq, (one) => one.term >= term),
  );
  const found = began?.term === term ? termIn(began) : undefined;
  if (found === undefined) return undefined;
  const point = { position: next.position, chain: next.chain, offset: before.offset };
  const { lead } = found;
  const start = { last: before, point, salt: opening.header.salt, term, lead };
  const acknowledged = Math.min(before.acknowledged, before.offset);
  const promised = Math.max(before.acknowledged, found.promised);
  return { start: { ...start, acknowledged, promised }, beginning: opening.beginning };
}

/** How the log begins, by its first entry, which can be one from which it is read on. */
function openingIn(entry: Entry | undefined) {
  if (entry?.kind === entryKinds.restart) return decodeRestart(entry.payload);
  if (entry?.kind !== entryKinds.beginning) return undefined;
  const reading = decodeBeginning(entry.payload);
  return reading.kind === 'valid' ? reading : undefined;
}

/** Who leads the term that begins with an entry, or that it says it is in. */
function termIn(entry: Entry): Pick<TailStart, 'lead' | 'promised'> | undefined {
  if (entry.kind === entryKinds.restart) return decodeRestart(entry.payload);
  const lead = entry.kind === entryKinds.term ? decodeLead(entry.payload) : undefined;
  return lead && { lead, promised: entry.acknowledged };
}

/** Seq of the last entry that the engine shows; -1: there is none. Rejects with `EngineError`. */
export async function lastSeq(sharedLog: Pick<SharedLog, 'read'>, log: LogName): Promise<number> {
  const { first, entries } = await sharedLog.read(log, 0, limits.sharedReadBytesMax, 1);
  if (first === 0 && entries.length === 0) return -1;
  const count = await new OneByOne(sharedLog, log).firstWhere(first, undefined, () => false);
  return count - 1;
}

/** The first entry that is not in front of `position`, or of the records that it is in. */
async function behind(
  entries: OneByOne,
  { first, count }: { readonly first: number; readonly count: number },
  position: number,
): Promise<Entry | undefined> {
  const firstAt = (least: number) =>
    entries
      .firstWhere(first + 1, count, (one) => one.position >= least)
      .then((seq) => entries.at(seq));
  const found = await firstAt(position);
  if (found === undefined || found.position === position) return found;
  const around = await entries.at(found.seq - 1);
  return around === undefined ? undefined : firstAt(around.position);
}

class OneByOne {
  readonly #sharedLog: Pick<SharedLog, 'read'>;
  readonly #log: LogName;
  readonly #known = new Map<number, Entry>();

  constructor(sharedLog: Pick<SharedLog, 'read'>, log: LogName) {
    this.#sharedLog = sharedLog;
    this.#log = log;
  }

  async has(seq: number): Promise<boolean> {
    return (await this.at(seq)) !== undefined;
  }

  /** `undefined`: it is not there, or cannot be read. */
  async at(seq: number): Promise<(Entry & { readonly seq: number }) | undefined> {
    const known = this.#known.get(seq);
    if (known !== undefined) return known;
    const { entries } = await this.#sharedLog.read(this.#log, seq, limits.sharedReadBytesMax, 1);
    const [found] = entries;
    if (found?.seq !== seq) return undefined;
    const reading = decodeEntry(found.bytes);
    if (reading.kind !== 'valid') return undefined;
    this.#known.set(seq, reading.entry);
    return reading.entry;
  }

  /**
   * The first seq from `from` on with an entry for which `test` holds, which then holds for all
   * later ones, or `end`; without `end`, that of the log.
   */
  async firstWhere(
    from: number,
    end: number | undefined,
    test: (entry: Entry) => boolean,
  ): Promise<number> {
    let low = from;
    let high = end ?? (await this.#beyond(from));
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const entry = await this.at(middle);
      if (entry === undefined || test(entry)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  async #beyond(from: number): Promise<number> {
    let step = 1;
    while (await this.has(from + step)) step *= 2;
    return from + step;
  }
}

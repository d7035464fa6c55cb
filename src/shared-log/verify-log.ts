import { limits } from '../limits.ts';
import { chainOf } from '../log/log-point.ts';
import { recordLengths } from './check-records.ts';
import { entryBehind } from './gap-search.ts';
import type { LogName } from './log-name.ts';
import type { SharedLog, StopSignal } from './shared-log.ts';
import type { CheckedSnapshot, StoredSnapshots } from './stored-snapshots.ts';
import { Tail, type TailStep } from './tail.ts';

/** What is wrong with a shared log. */
export interface SharedLogFault {
  /**
   * `absent`: it has no entries. `missing`: entries between others, or at its beginning, are not
   * there. `damaged`: an entry is not what was written, or contradicts those before it. `later`:
   * a later version wrote it. `snapshot`: a snapshot cannot be used. `uncovered`: no snapshot has
   * what was removed. `unsettled`: the engine does not confirm the end. `behind`: a host has
   * acknowledged commits that the log lacks. `uncompared`: nobody knows which ones a host has.
   */
  readonly kind:
    | 'absent'
    | 'missing'
    | 'damaged'
    | 'later'
    | 'snapshot'
    | 'uncovered'
    | 'unsettled'
    | 'behind'
    | 'uncompared';
  /** The entry that it is about, or the one that would come next. */
  readonly seq: number;
  /** The last commit before it. */
  readonly offset: number;
  readonly reason: string;
}

export interface SharedLogReport {
  /** The oldest entry that is kept, and how many were read and are fine. */
  readonly first: number;
  readonly entryCount: number;
  readonly bytes: number;
  readonly term: number;
  /** The last commit that can be read. */
  readonly offset: number;
  /** Snapshots that can be used. */
  readonly snapshotCount: number;
  readonly faults: readonly SharedLogFault[];
}

export interface VerifyLogOptions {
  readonly sharedLog: Pick<SharedLog, 'read' | 'confirm'>;
  readonly log: LogName;
  /** `undefined`: hosts share none. */
  readonly snapshots: StoredSnapshots | undefined;
  readonly signal?: StopSignal | undefined;
}

/**
 * Reads a shared log from its first entry to its last, and checks all that a host would: checksums,
 * chain, terms, and that none is missing; and each snapshot against the records at its place.
 * Changes nothing. Rejects with `EngineError`.
 */
export async function verifySharedLog(options: VerifyLogOptions): Promise<SharedLogReport> {
  const { sharedLog, log, snapshots, signal } = options;
  const checked = (await snapshots?.check(signal)) ?? [];
  const reading = new Reading(checked);
  await reading.run(options);
  const { tail, first, faults } = reading;
  if (faults.length === 0 && tail.next > 0) {
    const [confirmed] = await sharedLog.confirm([{ log, seq: tail.next - 1 }]);
    if (confirmed === 'unknown' || confirmed === undefined) {
      faults.push(reading.fault('unsettled', 'the engine does not confirm that this is its end'));
    }
  }
  const isRead = faults.length === 0;
  faults.push(...snapshotFaults(checked, reading, isRead));
  return {
    ...{ first, entryCount: reading.entryCount, bytes: reading.bytes, term: tail.term },
    ...{ offset: tail.point.offset, faults },
    snapshotCount: checked.filter(({ fault }) => fault === undefined).length,
  };
}

class Reading {
  tail = new Tail();
  first = 0;
  entryCount = 0;
  bytes = 0;
  /** Where the log began to be readable. */
  begins = 0;
  faults: SharedLogFault[] = [];
  /** The chain in front of the record at each wanted position, as far as it was read. */
  readonly chains = new Map<number, bigint>();
  readonly #wanted: ReadonlySet<number>;

  constructor(checked: readonly CheckedSnapshot[]) {
    this.#wanted = new Set(checked.flatMap(({ found }) => (found ? [found.position] : [])));
  }

  async run({ sharedLog, log, signal }: VerifyLogOptions): Promise<void> {
    const bytesMax = limits.sharedReadBytesMax;
    while (this.faults.length === 0) {
      if (signal?.aborted === true) return;
      const { entries, first } = await sharedLog.read(log, this.tail.next, bytesMax);
      if (this.tail.next > 0 && first > this.tail.next) {
        // It was shortened meanwhile.
        this.#again();
        continue;
      }
      if (this.tail.next === 0) this.first = first;
      if (entries.length === 0) {
        const { next } = this.tail;
        const found = await entryBehind(sharedLog, log, next);
        if (found !== undefined) this.faults.push(this.fault('missing', missingText(next, found)));
        break;
      }
      for (const entry of entries) if (!this.#take(entry, first)) return;
    }
    if (this.tail.next > 0 || this.faults.length > 0) return;
    this.faults.push(this.fault('absent', 'the engine has nothing of it'));
  }

  fault(kind: SharedLogFault['kind'], reason: string): SharedLogFault {
    return { kind, seq: this.tail.next, offset: this.tail.point.offset, reason };
  }

  #again(): void {
    this.tail = new Tail();
    this.chains.clear();
    this.entryCount = 0;
    this.bytes = 0;
  }

  /** False if the rest cannot be checked. */
  #take(entry: { readonly seq: number; readonly bytes: Uint8Array }, first: number): boolean {
    const { tail } = this;
    const expected = tail.next === 0 ? first : tail.next;
    if (entry.seq !== expected) {
      const reason = missingText(expected, entry.seq);
      this.faults.push({ ...this.fault('missing', reason), seq: expected });
      return false;
    }
    const from = tail.point.position;
    const step = tail.accept(entry);
    if (step.kind === 'fault') {
      const { code, reason } = step.fault;
      const isHeadless = tail.next === 0 && first > 0 && code === 'damaged';
      this.faults.push(
        isHeadless
          ? { ...this.fault('missing', headlessText(first)), seq: 0 }
          : this.fault(code, reason),
      );
      return false;
    }
    this.entryCount++;
    this.bytes += entry.bytes.length;
    this.#note(step, from);
    return true;
  }

  #note(step: TailStep, from: number): void {
    const { point } = this.tail;
    if (step.kind === 'beginning' || step.kind === 'restart') this.begins = point.position;
    if (this.#wanted.has(point.position)) this.chains.set(point.position, point.chain);
    if (step.kind !== 'records') return;
    if (![...this.#wanted].some((one) => one > from && one < point.position)) return;
    const { records, end } = step;
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    let at = 0;
    for (const length of recordLengths(records)) {
      const position = end.position - records.length + at;
      // A record has the chain hash of all before it.
      const chain = chainOf(view.getInt32(at + 24, true), view.getInt32(at + 28, true));
      if (this.#wanted.has(position)) this.chains.set(position, chain);
      at += length;
    }
  }
}

function snapshotFaults(
  checked: readonly CheckedSnapshot[],
  { tail, begins, chains, first }: Reading,
  isRead: boolean,
): readonly SharedLogFault[] {
  const { position: end } = tail.point;
  const place = { seq: first, offset: tail.point.offset };
  const faults: SharedLogFault[] = [];
  let isCovered = begins === 0;
  for (const { name, found, fault } of checked) {
    const wrong = fault ?? wrongIn(found, { begins, end: isRead ? end : Infinity, chains });
    const at = { ...place, offset: found?.offset ?? place.offset };
    if (wrong !== undefined) {
      faults.push({ ...at, kind: 'snapshot', reason: `the snapshot ${name}: ${wrong}` });
    } else if (found !== undefined && found.position >= begins) isCovered = true;
  }
  if (isCovered || !isRead) return faults;
  const reason = 'no snapshot has what was removed from its beginning: no new host can begin';
  return [...faults, { ...place, kind: 'uncovered', reason }];
}

function wrongIn(
  found: CheckedSnapshot['found'],
  log: { readonly begins: number; readonly end: number; readonly chains: Reading['chains'] },
): string | undefined {
  if (found === undefined || found.position < log.begins) return undefined;
  if (found.position > log.end) return 'it has commits behind the end of the log';
  const chain = log.chains.get(found.position);
  if (chain === undefined) {
    return log.end === Infinity ? undefined : 'no record of the log begins at its place';
  }
  return chain === found.chain ? undefined : 'the records before its place are others';
}

/** `found`: an entry that is there, though not always the first one. */
function missingText(from: number, found: number): string {
  const is = found === from + 1 ? 'is' : 'or more from there on are';
  return `entry ${from} ${is} missing, and entry ${found} is there`;
}

function headlessText(first: number): string {
  return `entries 0 to ${first - 1} are missing, and none says what was in them`;
}

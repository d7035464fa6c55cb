import { type EndedRuns, keyOfRuns, sumOfRuns } from '../../database/schedules/ended-runs.ts';
import { limits } from '../../limits.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { Activity, ActivityCaller, ActivitySink } from './activity.ts';
import { BlockDraft } from './block-draft.ts';
import { ledgerCallerOf } from './ledger-caller.ts';
import { doneResult, type LedgerCaller, type LedgerEntry } from './ledger-entry.ts';
import { lostEntry } from './ledger-page.ts';

/** How often a limited token has read a table. */
interface Reads {
  readonly caller: ActivityCaller;
  readonly table: string;
  readonly sinceMicros: bigint;
  count: number;
}

/** How often requests of somebody were refused before they reached the database. */
interface TurnedAway {
  readonly caller: LedgerCaller | undefined;
  readonly result: string;
  readonly sinceMicros: bigint;
  count: number;
}

/** What was done in one database since its ledger was last written. */
export class DatabaseLedger implements ActivitySink {
  readonly #wake: () => void;
  /** In the order in which it was noted; the last one is open. */
  #drafts: BlockDraft[] = [];
  #size = 0;
  readonly #reads = new Map<string, Reads>();
  readonly #turnedAway = new Map<string, TurnedAway>();
  readonly #runs = new Map<string, { readonly by: CallerIdentity; runs: EndedRuns }>();
  #minute = 0n;
  #refusals = 0;
  /** Refusals of that minute without an entry of their own. */
  #unnamed = 0;
  #dropped = 0;
  #readsSince = 0;

  /** `wake` is called when something waits to be written. */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  did(activity: Activity): void {
    if (activity.result !== doneResult && this.#isFlood(activity.micros)) return;
    this.#push(activity);
  }

  read(caller: ActivityCaller, tables: readonly string[], micros: bigint): void {
    for (const table of tables) {
      const key = `${caller.identity.toString(36)} ${table}`;
      const known = this.#reads.get(key);
      if (known !== undefined) known.count += 1;
      else if (this.#reads.size >= limits.ledgerReadsMax) this.#dropped += 1;
      else this.#reads.set(key, { caller, table, sinceMicros: micros, count: 1 });
    }
    this.#wake();
  }

  /**
   * Counts a request that was refused at a door, for which anyone can ask as often as they like: by
   * the token, as far as there are few, else without a caller.
   */
  turnedAway(caller: LedgerCaller | undefined, result: string, micros: bigint): void {
    const isNamed =
      this.#turnedAway.size < limits.ledgerTurnedAwayMax ||
      this.#turnedAway.has(turnedAwayKey(caller, result));
    const shown = isNamed ? caller : undefined;
    const key = turnedAwayKey(shown, result);
    const known = this.#turnedAway.get(key);
    if (known !== undefined) known.count += 1;
    else this.#turnedAway.set(key, { caller: shown, result, sinceMicros: micros, count: 1 });
    this.#wake();
  }

  /** Counts runs of schedules, by function; `by`: the identity of the database. */
  ran(by: CallerIdentity, runs: EndedRuns): void {
    const key = keyOfRuns(runs);
    const known = this.#runs.get(key);
    if (known !== undefined) known.runs = sumOfRuns(known.runs, runs);
    else if (this.#runs.size >= limits.ledgerReadsMax) this.#dropped += 1;
    else this.#runs.set(key, { by, runs });
    this.#wake();
  }

  /** Adds an entry that no request of the database made. */
  add(entry: LedgerEntry): void {
    if (entry.result !== doneResult && this.#isFlood(entry.micros)) return;
    this.#push(entry);
  }

  #push(noted: Activity | LedgerEntry): void {
    if (this.#size >= limits.ledgerWaitingMax) this.#dropped += 1;
    else this.#append(noted);
    const size = this.#size;
    if (size === 1 || size === limits.ledgerHurriedEntries) this.#wake();
  }

  #append(noted: Activity | LedgerEntry): void {
    let draft = this.#drafts.at(-1);
    if (draft === undefined || draft.length >= limits.ledgerBlockEntriesMax) {
      // Behind a full one, as many are to be expected.
      draft = new BlockDraft(draft?.length);
      this.#drafts.push(draft);
    }
    draft.add(noted);
    this.#size += 1;
  }

  /** So many entries could not be written. */
  lost(count: number): void {
    this.#dropped += count;
    this.#wake();
  }

  get isEmpty(): boolean {
    const counted = this.#reads.size + this.#turnedAway.size + this.#runs.size;
    return this.#size + counted + this.#dropped + this.#unnamed === 0;
  }

  /** How many entries wait to be written. */
  get size(): number {
    return this.#size;
  }

  /** Takes the blocks to write; reads are among them only if they are due. */
  take(nowMicros: bigint, withReads: boolean): readonly BlockDraft[] {
    for (const entry of this.#counted(nowMicros, withReads)) this.#append(entry);
    const drafts = this.#drafts;
    this.#drafts = [];
    this.#size = 0;
    return drafts;
  }

  /** What was only counted, as far as it is due. */
  *#counted(nowMicros: bigint, withReads: boolean): Generator<LedgerEntry> {
    if (this.#unnamed > 0 && nowMicros / minuteMicros > this.#minute) yield this.#takeUnnamed();
    if (this.#dropped > 0) {
      yield lostEntry(nowMicros, 'overload', this.#dropped);
      this.#dropped = 0;
    }
    if (!withReads && !this.#areReadsDue(nowMicros)) return;
    const reads = [...this.#reads.values()];
    this.#reads.clear();
    this.#readsSince = Number(nowMicros / 1_000n);
    for (const { caller, table, sinceMicros, count } of reads) {
      yield {
        ...{ micros: sinceMicros, caller: ledgerCallerOf(caller), action: 'read' },
        ...{ subject: table, result: doneResult, rows: undefined, count, offset: undefined },
      };
    }
    yield* this.#takeTurnedAway();
    yield* this.#takeRuns();
  }

  *#takeRuns(): Generator<LedgerEntry> {
    const all = [...this.#runs.values()];
    this.#runs.clear();
    for (const { by, runs } of all) {
      const { functionName, hasFailed, startMicros, count, rows, offset } = runs;
      yield {
        ...{ micros: BigInt(startMicros), caller: { identity: by }, action: 'schedule' },
        subject: functionName,
        result: hasFailed ? 'schedule.failed' : doneResult,
        ...{ rows, count: Math.min(count, 0xffff_ffff), offset },
      };
    }
  }

  *#takeTurnedAway(): Generator<LedgerEntry> {
    const all = [...this.#turnedAway.values()];
    this.#turnedAway.clear();
    for (const { sinceMicros: micros, ...one } of all) {
      yield { micros, action: 'refused', subject: '', rows: undefined, offset: undefined, ...one };
    }
  }

  #areReadsDue(nowMicros: bigint): boolean {
    const now = Number(nowMicros / 1_000n);
    // A clock that was set back must not keep them.
    return Math.abs(now - this.#readsSince) >= limits.ledgerReadsMillis;
  }

  /** True of a refusal that only counts. */
  #isFlood(micros: bigint): boolean {
    const minute = micros / minuteMicros;
    if (minute > this.#minute) {
      if (this.#unnamed > 0) this.#push(this.#takeUnnamed());
      this.#minute = minute;
      this.#refusals = 0;
    }
    this.#refusals += 1;
    if (this.#refusals <= limits.ledgerRefusalsPerMinuteMax) return false;
    this.#unnamed += 1;
    return true;
  }

  #takeUnnamed(): LedgerEntry {
    const count = this.#unnamed;
    this.#unnamed = 0;
    const micros = this.#minute * minuteMicros;
    const unknown = { caller: undefined, subject: '', rows: undefined, offset: undefined };
    return { micros, action: 'refused', result: 'unnamed', count, ...unknown };
  }
}

function turnedAwayKey(caller: LedgerCaller | undefined, result: string): string {
  return `${caller?.identity.toString(36) ?? ''} ${result}`;
}

const minuteMicros = 60_000_000n;

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../database/clock.ts';
import type { EndedRuns } from '../../database/schedules/ended-runs.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import {
  type CallerIdentity,
  type DatabaseIdentity,
  databaseAsCaller,
} from '../../values/identity-roles.ts';
import { type Answer, type Asked, noteAnswer } from './activity.ts';
import type { BlockDraft } from './block-draft.ts';
import { DatabaseLedger } from './database-ledger.ts';
import { limitedCaller } from './ledger-caller.ts';
import type { LedgerCaller } from './ledger-entry.ts';
import type { LedgerStore } from './ledger-files.ts';
import { type LedgerAsk, type LedgerPage, readPage } from './ledger-page.ts';

export interface LedgerOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly report: Report;
  /** Older entries are not shown, whether or not their files are gone already. */
  readonly keepMillis: number;
}

/** An action on a database that its requests know nothing of; the audit log has it, too. */
export interface NotedAction {
  readonly action: string;
  readonly outcome: 'done' | 'refused' | 'started' | 'failed';
  readonly database?: DatabaseIdentity;
  readonly caller?: NotedCaller;
}

export interface NotedCaller {
  readonly identity: CallerIdentity;
  readonly payload?: string;
  readonly capability?: object;
}

/**
 * Who did what in each database, for its owner. What was done is collected while it is answered,
 * and written a moment later, beside all requests: nothing waits for it, and nothing fails with it.
 * A crash loses what was not written yet; the next service notes that.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #databases = new Map<DatabaseIdentity, DatabaseLedger>();
  /** Databases of which something waits. */
  readonly #dirty = new Set<DatabaseIdentity>();
  #timer: NodeJS.Timeout | undefined;
  #isHurried = false;
  readonly #sweeper: NodeJS.Timeout;
  /** Settles when everything before it is written. */
  #writing: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #isClosed = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#sweep();
    this.#sweeper = setInterval(() => this.#sweep(), limits.ledgerSweepMillis).unref();
  }

  /** Notes what becomes of the requests of a database. */
  followerOf(database: DatabaseIdentity): (asked: Asked, reply: Answer) => void {
    let sink: DatabaseLedger | undefined;
    return (asked, reply) => {
      sink ??= this.#of(database);
      noteAnswer(sink, asked, reply);
    };
  }

  /** Runs of schedules, which nobody has asked for. */
  ran(database: DatabaseIdentity, runs: readonly EndedRuns[]): void {
    const ledger = this.#of(database);
    for (const one of runs) ledger.ran(databaseAsCaller(database), one);
  }

  /** An action on a database that the audit log has noted. */
  noted({ action, caller, database, outcome }: NotedAction, micros: bigint): void {
    if (database === undefined) return;
    this.#of(database).add({
      micros,
      caller: caller && callerOf(caller),
      action: 'manage',
      subject: action,
      result: outcome === 'refused' ? 'caller.notAuthorized' : outcome,
      ...{ rows: undefined, count: 1, offset: undefined },
    });
  }

  /** A request for a database was refused before it got there; `result`: the code of why. */
  turnedAway(database: DatabaseIdentity, caller: NotedCaller | undefined, result: string): void {
    const micros = this.#options.clock.nowMicros();
    this.#of(database).turnedAway(caller && callerOf(caller), result, micros);
  }

  /** With everything that was noted before this call. */
  async page(database: DatabaseIdentity, ask: LedgerAsk): Promise<LedgerPage> {
    await this.#flush(true);
    const { store, clock, keepMillis } = this.#options;
    const { sinceMicros = 0n } = ask;
    const begin = clock.nowMicros() - BigInt(Math.floor(keepMillis)) * 1_000n;
    return readPage(store, database, {
      ...ask,
      sinceMicros: begin > sinceMicros ? begin : sinceMicros,
    });
  }

  /** The database is gone. */
  async forget(database: DatabaseIdentity): Promise<void> {
    this.#databases.delete(database);
    this.#dirty.delete(database);
    await this.#writing;
    await this.#options.store.forget(database).catch((error: unknown) => {
      const message = `the ledger of ${identityToHex(database)} stays: ${String(error)}`;
      this.#options.report({ level: 'warn', message });
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#flush(true);
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#options.store.close();
  }

  #of(database: DatabaseIdentity): DatabaseLedger {
    const known = this.#databases.get(database);
    if (known !== undefined) return known;
    const ledger: DatabaseLedger = new DatabaseLedger(() => this.#wake(database, ledger));
    this.#databases.set(database, ledger);
    return ledger;
  }

  #wake(database: DatabaseIdentity, ledger: DatabaseLedger): void {
    if (this.#timer === undefined) this.#arm(limits.ledgerWriteMillis);
    this.#dirty.add(database);
    if (ledger.size < limits.ledgerHurriedEntries || this.#isHurried) return;
    this.#isHurried = true;
    clearTimeout(this.#timer);
    this.#arm(0);
  }

  #arm(millis: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#flush(false), millis).unref();
  }

  /** Writes what waits. `isWhole`: counts of reads, too, which else wait longer. */
  #flush(isWhole: boolean): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isHurried = false;
    this.#writing = this.#writing.then(() => this.#write(isWhole));
    return this.#writing;
  }

  async #write(isWhole: boolean): Promise<void> {
    const now = this.#options.clock.nowMicros();
    const databases = [...this.#dirty];
    this.#dirty.clear();
    for (const database of databases) {
      const ledger = this.#databases.get(database);
      if (ledger === undefined) continue;
      await this.#append(database, ledger, ledger.take(now, isWhole));
      if (!ledger.isEmpty) this.#dirty.add(database);
    }
    if (this.#dirty.size > 0 && this.#timer === undefined) this.#arm(limits.ledgerWriteMillis);
  }

  async #append(
    database: DatabaseIdentity,
    ledger: DatabaseLedger,
    drafts: readonly BlockDraft[],
  ): Promise<void> {
    if (drafts.length === 0) return;
    const { store, clock, report } = this.#options;
    const now = clock.nowMicros();
    try {
      const blocks: Uint8Array[] = [];
      for (const draft of drafts) {
        blocks.push(draft.encode(now));
        await nextTurn();
      }
      await store.append(database, Buffer.concat(blocks), Number(now / 1_000n));
      this.#hasFailed = false;
    } catch (error) {
      ledger.lost(drafts.reduce((sum, { count }) => sum + count, 0));
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const message = `The ledger of ${identityToHex(database)} cannot be written`;
      const rest = 'what it should hold is counted as lost';
      report({ level: 'error', message: `${message}: ${String(error)}; ${rest}` });
    }
  }

  #sweep(): void {
    const { store, clock, report } = this.#options;
    store.sweep(Number(clock.nowMicros() / 1_000n)).catch((error: unknown) => {
      report({ level: 'warn', message: `Old files of ledgers stay: ${String(error)}` });
    });
  }
}

function callerOf({ identity, payload = '', capability }: NotedCaller): LedgerCaller {
  return capability === undefined ? { identity } : limitedCaller(identity, payload);
}

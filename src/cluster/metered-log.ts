import { TimeCounts, type TimeFigures } from '../database/time-counts.ts';
import type { Report } from '../node/report-line.ts';
import { databaseDigits, type LogName } from '../shared-log/log-name.ts';
import type {
  AppendItem,
  AppendResult,
  ConfirmItem,
  ConfirmResult,
  SharedLog,
} from '../shared-log/shared-log.ts';
import type { LeadProofs } from './lead-proofs.ts';

/** The engine as the leaders of this host see it. */
export interface AppendFigures {
  readonly times: TimeFigures;
  readonly bytes: number;
  readonly results: Readonly<Record<AppendResult, number>>;
  /** Entries that were stored, and stored once more because the engine had lost them. */
  readonly restored: number;
}

export interface MeteredLogOptions {
  readonly sharedLog: SharedLog;
  readonly now: () => number;
  readonly report: Report;
  readonly proofs: LeadProofs;
  /** Called when the engine has acknowledged a commit, with the time at which that was begun. */
  readonly onAcknowledged?: (begunAt: number) => void;
  /** Called after a log was removed, with what else there may be of it. */
  readonly removed?: (log: LogName) => Promise<void> | undefined;
}

interface Doubt {
  readonly since: number;
  count: number;
}

/**
 * A shared log that counts its appends, and says in one line when one had no known result, and in
 * another one what came of it.
 */
export class MeteredLog implements SharedLog {
  readonly #options: MeteredLogOptions;
  readonly #times = new TimeCounts();
  readonly #results = { stored: 0, passed: 0, unknown: 0 };
  readonly #doubts = new Map<LogName, Doubt>();
  readonly #logs = new Map<string, LogName>();
  /** The last entry of each log that was stored from here. */
  readonly #lastStored = new Map<LogName, number>();
  #bytes = 0;
  #restored = 0;

  constructor(options: MeteredLogOptions) {
    this.#options = options;
  }

  get figures(): AppendFigures {
    const [times, bytes, restored] = [this.#times.figures(), this.#bytes, this.#restored];
    return { times, bytes, restored, results: { ...this.#results } };
  }

  async append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    const { sharedLog, now } = this.#options;
    const begun = now();
    const proved = this.#options.proofs.appending(items);
    const results = await sharedLog.append(items);
    const took = now() - begun;
    proved(results);
    if (results.includes('stored')) this.#options.onAcknowledged?.(begun);
    items.forEach(({ log, seq, bytes }, at) => {
      const result = results[at] ?? 'unknown';
      this.#count(log, bytes.length, result, took);
      if (result === 'stored') this.#stored(log, seq);
    });
    return results;
  }

  /** An engine stores an entry once, unless it has lost it since. */
  #stored(log: LogName, seq: number): void {
    const last = this.#lastStored.get(log) ?? -1;
    if (seq <= last) this.#restored += 1;
    else this.#lastStored.set(log, seq);
  }

  #count(log: LogName, bytes: number, result: AppendResult, took: number): void {
    this.#times.add(took);
    this.#results[result] += 1;
    if (result === 'stored') this.#bytes += bytes;
    const doubt = this.#doubts.get(log);
    if (result === 'unknown') this.#doubted(log, doubt);
    else if (doubt !== undefined) this.#resolved(log, doubt, result);
  }

  #doubted(log: LogName, doubt: Doubt | undefined): void {
    if (doubt !== undefined) {
      doubt.count += 1;
      return;
    }
    this.#doubts.set(log, { since: this.#options.now(), count: 1 });
    const message =
      'the engine did not say what came of an append; it is looked for, and sent again';
    this.#options.report({ level: 'warn', message, about: { database: databaseDigits(log) } });
  }

  #resolved(log: LogName, { since, count }: Doubt, result: 'stored' | 'passed'): void {
    this.#doubts.delete(log);
    const millis = Math.round(this.#options.now() - since);
    const appends = count === 1 ? '1 append' : `${count} appends`;
    const came = result === 'stored' ? 'is stored' : 'was passed by an entry that is there';
    const message = `what was written ${came}, ${millis} ms after ${appends} without an answer`;
    this.#options.report({ level: 'info', message, about: { database: databaseDigits(log) } });
  }

  /** The log of a database, by its identity as text, once it was read. */
  logOf(database: string): LogName | undefined {
    return this.#logs.get(database);
  }

  read(...given: Parameters<SharedLog['read']>): ReturnType<SharedLog['read']> {
    const [log] = given;
    this.#logs.set(databaseDigits(log), log);
    return this.#options.sharedLog.read(...given);
  }

  wait(...given: Parameters<SharedLog['wait']>): ReturnType<SharedLog['wait']> {
    return this.#options.sharedLog.wait(...given);
  }

  async confirm(items: readonly ConfirmItem[]): Promise<readonly ConfirmResult[]> {
    const begun = this.#options.now();
    const results = await this.#options.sharedLog.confirm(items);
    if (results.some((result) => result !== 'unknown')) this.#options.onAcknowledged?.(begun);
    return results;
  }

  truncate(...given: Parameters<SharedLog['truncate']>): ReturnType<SharedLog['truncate']> {
    return this.#options.sharedLog.truncate(...given);
  }

  create(...given: Parameters<SharedLog['create']>): ReturnType<SharedLog['create']> {
    return this.#options.sharedLog.create(...given);
  }

  remove(log: LogName): Promise<void> {
    this.#doubts.delete(log);
    this.#lastStored.delete(log);
    if (this.#logs.get(databaseDigits(log)) === log) this.#logs.delete(databaseDigits(log));
    this.#options.proofs.removed(log);
    return this.#options.sharedLog.remove(log).then(() => this.#options.removed?.(log));
  }

  capabilities(): ReturnType<SharedLog['capabilities']> {
    return this.#options.sharedLog.capabilities();
  }
}

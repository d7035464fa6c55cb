import { TimeCounts, type TimeFigures } from '../database/time-counts.ts';
import type { Report } from '../node/report-line.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type { AppendItem, AppendResult, SharedLog } from '../shared-log/shared-log.ts';

/** The engine as the leaders of this host see it. */
export interface AppendFigures {
  readonly times: TimeFigures;
  readonly bytes: number;
  readonly results: Readonly<Record<AppendResult, number>>;
}

export interface MeteredLogOptions {
  readonly sharedLog: SharedLog;
  readonly now: () => number;
  readonly report: Report;
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
  #bytes = 0;

  constructor(options: MeteredLogOptions) {
    this.#options = options;
  }

  get figures(): AppendFigures {
    return { times: this.#times.figures(), bytes: this.#bytes, results: { ...this.#results } };
  }

  async append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    const { sharedLog, now } = this.#options;
    const begun = now();
    const results = await sharedLog.append(items);
    const took = now() - begun;
    items.forEach(({ log, bytes }, at) => {
      this.#count(log, bytes.length, results[at] ?? 'unknown', took);
    });
    return results;
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
    this.#options.report({ level: 'warn', message, about: { database: databaseIn(log) } });
  }

  #resolved(log: LogName, { since, count }: Doubt, result: 'stored' | 'passed'): void {
    this.#doubts.delete(log);
    const millis = Math.round(this.#options.now() - since);
    const appends = count === 1 ? '1 append' : `${count} appends`;
    const came = result === 'stored' ? 'is stored' : 'was passed by an entry that is there';
    const message = `what was written ${came}, ${millis} ms after ${appends} without an answer`;
    this.#options.report({ level: 'info', message, about: { database: databaseIn(log) } });
  }

  read(...given: Parameters<SharedLog['read']>): ReturnType<SharedLog['read']> {
    return this.#options.sharedLog.read(...given);
  }

  wait(...given: Parameters<SharedLog['wait']>): ReturnType<SharedLog['wait']> {
    return this.#options.sharedLog.wait(...given);
  }

  confirm(...given: Parameters<SharedLog['confirm']>): ReturnType<SharedLog['confirm']> {
    return this.#options.sharedLog.confirm(...given);
  }

  truncate(...given: Parameters<SharedLog['truncate']>): ReturnType<SharedLog['truncate']> {
    return this.#options.sharedLog.truncate(...given);
  }

  create(...given: Parameters<SharedLog['create']>): ReturnType<SharedLog['create']> {
    return this.#options.sharedLog.create(...given);
  }

  remove(log: LogName): Promise<void> {
    this.#doubts.delete(log);
    return this.#options.sharedLog.remove(log);
  }

  capabilities(): ReturnType<SharedLog['capabilities']> {
    return this.#options.sharedLog.capabilities();
  }
}

/** The identity of the database whose log it is; see `logName`. */
function databaseIn(log: LogName): string {
  return log.slice(32, 96);
}

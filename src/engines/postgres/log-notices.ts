import { limits } from '../../limits.ts';
import type { LogName } from '../../shared-log/log-name.ts';
import type { Session } from './session.ts';

const channel = 'reducerdb';

/**
 * Tells hosts that a log has grown, and hears it from them. Notices get lost with a session, so
 * those who wait look by themselves from time to time, too.
 */
export class LogNotices {
  readonly #open: () => Promise<Session>;
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Logs of which others heard a moment ago, and whether those have grown again since. */
  readonly #told = new Map<LogName, 'once' | 'again'>();
  #session: Promise<Session> | undefined;

  constructor(open: () => Promise<Session>) {
    this.#open = open;
  }

  /** Resolves at the next notice for `log`, or when `stop` is called. */
  next(log: LogName): { readonly heard: Promise<void>; readonly stop: () => void } {
    const waiting = this.#waiting.get(log) ?? new Set();
    this.#waiting.set(log, waiting);
    let wake: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => {
      wake = resolve;
    });
    waiting.add(wake);
    const stop = (): void => {
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(log) === waiting) this.#waiting.delete(log);
      wake();
    };
    return { heard, stop };
  }

  /** Begins to listen, if it does not. */
  async listen(): Promise<Session> {
    const known = await this.#session?.catch(() => undefined);
    if (known?.isOpen === true) return known;
    this.#session = this.#open().then(async (session) => {
      await session.listen(channel, (log) => this.#hear(log));
      return session;
    });
    return this.#session;
  }

  /**
   * A log has grown: its hosts hear of it at once, or 10 ms after they heard of it last. A notice
   * that is lost makes others look later.
   */
  tell(log: LogName): void {
    if (this.#told.has(log)) {
      this.#told.set(log, 'again');
      return;
    }
    this.#told.set(log, 'once');
    this.#send(log).catch(() => undefined);
    setTimeout(() => {
      const isDue = this.#told.get(log) === 'again';
      this.#told.delete(log);
      if (isDue) this.tell(log);
    }, limits.logNoticeMillis).unref();
  }

  async #send(log: LogName): Promise<void> {
    const session = await this.listen();
    const text = 'select pg_notify($1, $2)';
    await session.run({ name: 'notify', text, values: [channel, log] });
  }

  close(): void {
    this.#session?.then(
      (session) => session.end(),
      () => undefined,
    );
    for (const waiting of this.#waiting.values()) for (const wake of waiting) wake();
  }

  #hear(log: string): void {
    for (const wake of this.#waiting.get(log) ?? []) wake();
  }
}

import { limits } from '../../limits.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import { openPrimary } from './choose-server.ts';
import type { PostgresPlace } from './postgres-place.ts';
import type { Session } from './session.ts';

/**
 * The sessions of one engine: few, each used by one statement at a time. Those that wait take
 * turns.
 * What the engine calls its past is remembered; one that would go back is refused.
 */
export class Sessions {
  readonly #place: PostgresPlace;
  readonly #free: Session[] = [];
  readonly #waiting: ((session: Session | undefined) => void)[] = [];
  #openCount = 0;
  #history: string | undefined;
  #fault: string | undefined;
  #isClosed = false;

  /** `history`: the newest that this host has seen, if any. */
  constructor(place: PostgresPlace, history?: string) {
    this.#place = place;
    this.#history = history;
  }

  /** Why the last write was not done, if it was not; holds no secrets. */
  get fault(): string | undefined {
    return this.#fault;
  }

  noteFault(error: unknown): void {
    this.#fault = error instanceof EngineError ? error.message : undefined;
  }

  get history(): string | undefined {
    return this.#history;
  }

  /** Runs `work` with a session of its own. Rejects with `EngineError` if there is none. */
  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#take();
    try {
      return await work(session);
    } finally {
      this.#give(session);
    }
  }

  /** A session that stays: for notifications, and for what need not be durable. */
  async open(commit: 'on' | 'off'): Promise<Session> {
    if (this.#isClosed) throw closedError();
    const session = await openPrimary(this.#place, commit, this.#history);
    this.#history = session.facts.history;
    return session;
  }

  close(): void {
    this.#isClosed = true;
    for (const session of this.#free.splice(0)) session.end();
    for (const wake of this.#waiting.splice(0)) wake(undefined);
  }

  async #take(): Promise<Session> {
    for (;;) {
      if (this.#isClosed) throw closedError();
      const free = this.#free.pop();
      if (free?.isOpen === true) return free;
      if (free !== undefined) {
        this.#openCount--;
        continue;
      }
      if (this.#openCount < limits.engineSessionsMax) return this.#opened();
      const given = await this.#turn();
      if (given?.isOpen === true) return given;
      if (given !== undefined) this.#openCount--;
    }
  }

  async #opened(): Promise<Session> {
    this.#openCount++;
    try {
      return await this.open('on');
    } catch (error) {
      this.#openCount--;
      this.#waiting.shift()?.(undefined);
      throw error;
    }
  }

  #turn(): Promise<Session | undefined> {
    if (this.#waiting.length >= limits.engineWaitersMax) {
      throw new EngineError('Too much waits for PostgreSQL.');
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #give(session: Session): void {
    const next = this.#waiting.shift();
    if (this.#isClosed) session.end();
    else if (next !== undefined) next(session);
    else if (session.isOpen) this.#free.push(session);
    else this.#openCount--;
  }
}

function closedError(): EngineError {
  return new EngineError('The engine was closed.');
}

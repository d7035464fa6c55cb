import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { LogName } from './log-name.ts';
import {
  beginsWith,
  type MemoryServer,
  type ServerAnswer,
  type ServerResult,
} from './memory-server.ts';
import type {
  AppendItem,
  AppendResult,
  ConfirmItem,
  ConfirmResult,
  EngineCapabilities,
  ReadAnswer,
  SharedLog,
  StopSignal,
} from './shared-log.ts';

/** Time of a simulation, or of a test. */
export interface EngineClock {
  /** Milliseconds since some moment. */
  now(): number;
  after(millis: number, work: () => void): void;
}

/** What a client needs of the simulated engine. */
export interface EngineDoor {
  readonly clock: EngineClock;
  readonly history: string;
  readonly entryBytesMax: number;
  /** Runs `work` at the server of a client; rejects if no answer comes back. */
  request<T>(client: string, work: (server: MemoryServer) => ServerAnswer<T>): Promise<T>;
}

const none = new Uint8Array(0);
/** How often `wait` looks. */
const lookMillis = 5;

/** The simulated engine as one client sees it. */
export class MemoryClient implements SharedLog {
  readonly #engine: EngineDoor;
  readonly #client: string;

  constructor(engine: EngineDoor, client: string) {
    this.#engine = engine;
    this.#client = client;
  }

  append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    assert(items.length <= limits.appendItemsMax, 'too many entries in one append');
    return Promise.all(items.map((item) => this.#append(item)));
  }

  async #append(item: AppendItem): Promise<AppendResult> {
    const { log, seq } = item;
    if (item.bytes.length > this.#engine.entryBytesMax) return 'unknown';
    const result = await this.#result((server) => server.append(item));
    if (result !== 'refused') return result === 'stored' ? 'stored' : 'unknown';
    // Not stored: a read decides whether that is because of its place.
    try {
      const { entries } = await this.#read(log, seq - 1, 2);
      const before = entries.find((entry) => entry.seq === seq - 1);
      const isThere = entries.some((entry) => entry.seq === seq);
      const isOther = before === undefined || !beginsWith(before.bytes, item.after ?? none);
      return isThere || isOther ? 'passed' : 'unknown';
    } catch {
      return 'unknown';
    }
  }

  read(
    log: LogName,
    from: number,
    bytesMax: number,
    countMax: number = limits.sharedReadEntriesMax,
  ): Promise<ReadAnswer> {
    assert(bytesMax >= this.#engine.entryBytesMax, 'a read has room for one entry');
    return this.#read(log, from, countMax, bytesMax);
  }

  #read(
    log: LogName,
    from: number,
    countMax: number,
    bytesMax = Number.MAX_SAFE_INTEGER,
  ): Promise<ReadAnswer> {
    return this.#engine.request(this.#client, (server) => {
      return { whenDone: (take) => take(server.read(log, from, bytesMax, countMax)) };
    });
  }

  wait(log: LogName, from: number, signal: StopSignal): Promise<void> {
    let isOver = false;
    return new Promise<void>((resolve, reject) => {
      const end = () => {
        isOver = true;
        signal.removeEventListener('abort', end);
        resolve();
      };
      const look = () => {
        if (isOver || signal.aborted) return end();
        this.#read(log, from, 1).then(
          ({ entries, first }) => {
            if (entries.length > 0 || first > from) end();
            else this.#engine.clock.after(lookMillis, look);
          },
          (error) => {
            reject(error);
            end();
          },
        );
      };
      signal.addEventListener('abort', end);
      look();
    });
  }

  confirm(items: readonly ConfirmItem[]): Promise<readonly ConfirmResult[]> {
    assert(items.length <= limits.appendItemsMax, 'too many logs in one confirm');
    let shown: readonly number[] = [];
    const touched = this.#result((server) => {
      shown = items.map(({ log }) => server.lastShown(log));
      return server.touch();
    });
    return touched.then((result) =>
      items.map(({ seq }, at) => {
        const last = shown[at] ?? -1;
        if (result !== 'stored' || last < seq) return 'unknown';
        return last === seq ? 'last' : 'passed';
      }),
    );
  }

  truncate(log: LogName, before: number): Promise<void> {
    return this.#engine.request(this.#client, (server) => {
      return { whenDone: (take) => take(server.truncate(log, before)) };
    });
  }

  async create(log: LogName, bytes: Uint8Array): Promise<'created' | 'exists' | 'unknown'> {
    const result = await this.#result((server) => server.create(log, bytes));
    if (result === 'refused') return 'exists';
    return result === 'stored' ? 'created' : 'unknown';
  }

  remove(log: LogName): Promise<void> {
    return this.#engine.request(this.#client, (server) => {
      return { whenDone: (take) => take(server.remove(log)) };
    });
  }

  capabilities(): Promise<EngineCapabilities> {
    const { history, entryBytesMax } = this.#engine;
    return this.#engine.request(this.#client, () => {
      return { whenDone: (take) => take({ copies: 2, entryBytesMax, history }) };
    });
  }

  /** `broken` where there was no answer. */
  async #result(work: (server: MemoryServer) => ServerAnswer<ServerResult>): Promise<ServerResult> {
    try {
      return await this.#engine.request(this.#client, work);
    } catch {
      return 'broken';
    }
  }
}

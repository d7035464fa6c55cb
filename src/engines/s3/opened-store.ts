import { randomBytes } from 'node:crypto';
import { limits } from '../../limits.ts';
import { historyText, judgeHistory } from '../../shared-log/engine-history.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import { probeStore } from './probe-store.ts';
import type { S3Access } from './s3-place.ts';
import { StoreRequests } from './store-requests.ts';

/** The name of the store's past: drawn by the host that is first. */
const historyKey = 'engine';

/**
 * A store that was tried before anything relies on it. Its past has one timeline: such stores keep
 * copies of their own, and show no fail-over.
 */
export class OpenedStore {
  /** For logs, and for what cannot wait behind them. */
  readonly entries: StoreRequests;
  readonly rows: StoreRequests;
  readonly #known: string | undefined;
  #history: string | undefined;
  #opening: Promise<void> | undefined;

  /** `known`: what the host remembers of the store's past. */
  constructor(access: S3Access, known?: string) {
    this.entries = new StoreRequests(access, limits.s3RequestsMax);
    this.rows = new StoreRequests(access, limits.s3BeatRequestsMax, this.entries.clock);
    this.#known = known;
  }

  /** The name of its past; `undefined` before it was opened. */
  get history(): string | undefined {
    return this.#history;
  }

  /** Resolves once the store was found to be good. Rejects with `EngineError`. */
  async ready(): Promise<void> {
    if (this.#history !== undefined) return;
    this.#opening ??= this.#open();
    try {
      await this.#opening;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Milliseconds since 1970 by the store's clock, which is asked. */
  async time(): Promise<number> {
    await this.rows.has(historyKey, 'write');
    return this.rows.time();
  }

  /** Why it takes no commits, as far as is known; `undefined`: nothing is known against it. */
  async trouble(): Promise<string | undefined> {
    try {
      await this.rows.has(historyKey, 'write');
    } catch (error) {
      return error instanceof EngineError ? error.message : undefined;
    }
    return this.entries.fault ?? this.rows.fault;
  }

  async #open(): Promise<void> {
    await probeStore(this.entries);
    const drawn = randomBytes(16).toString('hex');
    const put = await this.entries.put(historyKey, Buffer.from(drawn), 'absent');
    if (put.kind === 'failed') throw new EngineError(put.reason);
    const found = await this.entries.get(historyKey, { urgency: 'write', bytesMax: 1_024 });
    const identifier = Buffer.from(found?.bytes ?? []).toString('latin1');
    if (!/^[0-9a-f]{32}$/.test(identifier)) {
      throw new EngineError(`${this.entries.place}: the object ${historyKey} is not a cluster's`);
    }
    const history = historyText({ kind: 'objects', identifier, timeline: 1 });
    const judgement = this.#known === undefined ? undefined : judgeHistory(this.#known, history);
    if (judgement?.kind === 'refused') throw new EngineError(judgement.reason);
    this.#history = history;
  }
}

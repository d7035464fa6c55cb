import type { EngineCaller } from './engine-request.ts';
import type { RequestId } from './json-rpc.ts';
import { RpcError, rpcCode } from './rpc-error.ts';

/** A request while it is worked on. */
export interface Running {
  readonly id: RequestId;
  readonly signal: AbortSignal;
  /** Resolves when nobody waits for the answer any more. */
  readonly cancelled: Promise<'cancelled'>;
  cancel(): void;
  /** The work is over, whatever became of it. */
  end(): void;
}

/** What is under way, by caller: so many for each of them. */
export class RunningRequests {
  readonly #byCaller = new Map<string, Set<Running>>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Throws HTTP 429 when the caller has too many under way. */
  begin({ key }: EngineCaller, id: RequestId): Running {
    const running = this.#byCaller.get(key) ?? new Set();
    if (running.size >= this.#countMax) throw tooMany(this.#countMax);
    const request = makeRunning(id, () => {
      running.delete(request);
      if (running.size === 0) this.#byCaller.delete(key);
    });
    running.add(request);
    this.#byCaller.set(key, running);
    return request;
  }

  /**
   * Cancels the caller's request of this id. Without sessions two clients of one caller may both
   * have such a request: then, or where callers cannot be told apart, nothing happens.
   */
  cancel({ key, isAnonymous }: EngineCaller, id: RequestId): void {
    if (isAnonymous) return;
    const named = [...(this.#byCaller.get(key) ?? [])].filter((request) => request.id === id);
    if (named.length === 1) named[0]?.cancel();
  }
}

function makeRunning(id: RequestId, end: () => void): Running {
  const controller = new AbortController();
  const { signal } = controller;
  const cancelled = new Promise<'cancelled'>((resolve) => {
    signal.addEventListener('abort', () => resolve('cancelled'));
  });
  return { id, signal, cancelled, cancel: () => controller.abort(), end };
}

function tooMany(countMax: number): RpcError {
  const words = `${countMax} requests of this caller are under way; wait until one has ended`;
  return new RpcError(rpcCode.internal, words, undefined, 429);
}

import type { EngineCaller } from './engine-request.ts';
import type { RequestId } from './json-rpc.ts';
import { RpcError, rpcCode } from './rpc-error.ts';

/** What a client says to name one of its requests. */
export interface RequestName {
  readonly caller: EngineCaller;
  /** `undefined`: it cannot be named, and its client gives it up by leaving. */
  readonly id?: RequestId;
  /** What tells clients of one caller apart, where they got it. */
  readonly session?: string | undefined;
}

/** A request while it is worked on. */
export interface Running {
  readonly name: RequestName;
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
  begin(name: RequestName): Running {
    const { key } = name.caller;
    const running = this.#byCaller.get(key) ?? new Set();
    if (running.size >= this.#countMax) throw tooMany(this.#countMax);
    const request = makeRunning(name, () => {
      const isLast = running.delete(request) && running.size === 0;
      if (isLast) this.#byCaller.delete(key);
    });
    running.add(request);
    this.#byCaller.set(key, running);
    return request;
  }

  /**
   * Cancels the request of this name. Without a session two clients of one caller may both have
   * such a request: then, or where callers cannot be told apart, nothing happens.
   */
  cancel({ caller, id, session }: RequestName): void {
    if (caller.isAnonymous && session === undefined) return;
    const running = [...(this.#byCaller.get(caller.key) ?? [])];
    const named = running.filter(({ name }) => name.id === id && name.session === session);
    if (named.length === 1) named[0]?.cancel();
  }
}

function makeRunning(name: RequestName, end: () => void): Running {
  const controller = new AbortController();
  const { signal } = controller;
  const cancelled = new Promise<'cancelled'>((resolve) => {
    signal.addEventListener('abort', () => resolve('cancelled'));
  });
  return { name, signal, cancelled, cancel: () => controller.abort(), end };
}

function tooMany(countMax: number): RpcError {
  const words = `${countMax} requests of this caller are under way; wait until one has ended`;
  return new RpcError(rpcCode.internal, words, undefined, 429);
}

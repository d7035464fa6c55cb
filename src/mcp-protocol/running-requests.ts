import type { EngineCaller } from './engine-request.ts';
import type { RequestId } from './json-rpc.ts';
import { RpcError, rpcCode } from './rpc-error.ts';

/** The name by which a client identifies one of its requests. */
export interface RequestName {
  readonly caller: EngineCaller;
  /** `undefined`: the request has no name, and its client cancels it by disconnecting. */
  readonly id?: RequestId;
  /** Distinguishes clients of one caller, if they have a session. */
  readonly session?: string | undefined;
}

/** A request in progress. */
export interface Running {
  readonly name: RequestName;
  readonly signal: AbortSignal;
  /** Resolves when the result is no longer needed. */
  readonly cancelled: Promise<'cancelled'>;
  cancel(): void;
  /** Ends the request, regardless of its outcome. */
  end(): void;
}

/** Requests in progress, with a limit for each caller. */
export class RunningRequests {
  readonly #byCaller = new Map<string, Set<Running>>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Throws HTTP 429 if the caller has too many requests in progress. */
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
   * Cancels the request of this name. Without a session, two clients of one caller may use the same
   * name; then, or if callers are indistinguishable, nothing is cancelled.
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

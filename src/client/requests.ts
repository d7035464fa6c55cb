/**
 * Calls and one-off queries from when they are made until they are answered or given up.
 *
 * ```text
 * waiting ─ sent ─▶ in flight ─ answered ─▶ settled
 * in flight ─ connection lost ─▶ waiting (what may be repeated) or settled (outcome unknown)
 * any ─ aborted, timed out ─▶ settled; an answer that still comes is ignored
 * ```
 */
import type { ClientMessage } from '../protocol/v2/client-message.ts';
import type { ClientSchema } from './client-schema.ts';
import { ConnectionLostError, TimeoutError } from './errors.ts';
import type { ReducerInfo } from './events.ts';
import { Observable, type Readable } from './observable.ts';
import type { Platform, StopSignal } from './platform.ts';

/**
 * How long to wait for a call, and whether it may be sent twice.
 *
 * @example
 * ```ts
 * const options: CallOptions = { timeoutMillis: 5_000, retry: true };
 * ```
 */
export interface CallOptions<Draft = any, Args = any> {
  /** Aborting stops the waiting; the call may still run. */
  readonly signal?: StopSignal | undefined;
  readonly timeoutMillis?: number | undefined;
  /** Running it twice does no harm: it is sent again when the connection was lost. */
  readonly retry?: boolean | undefined;
  /**
   * Writes to `draft` what the call is expected to change; shown at once, until the answer is
   * there. It runs again whenever other rows change, so all that it may look at is the draft
   * and `args`.
   */
  readonly optimistic?: ((draft: Draft, args: Args) => void) | undefined;
}

/**
 * A call that has no answer yet.
 *
 * @example
 * ```ts
 * const names = client.pendingCalls.get().map((call: PendingCall) => call.name);
 * ```
 */
export interface PendingCall {
  readonly kind: Request['kind'];
  readonly name: string;
}

export interface Request {
  readonly kind: 'reducer' | 'procedure' | 'query';
  /** As the program calls it. */
  readonly name: string;
  readonly mayRepeat: boolean;
  /** Throws what the call shall be rejected with. */
  message(requestId: number, schema: ClientSchema): ClientMessage;
  /** What the call is, for the event of its changes; calls without it have no event. */
  info?(): ReducerInfo | undefined;
  /** What it is expected to change. */
  readonly predict?: ((draft: unknown) => void) | undefined;
  /** What the promise gives for the bytes of the answer. */
  result?(returned: Uint8Array): unknown;
  /** The error for what the module threw, unless it is a text. */
  refusal?(thrown: Uint8Array): Error | undefined;
}

/** The id of what was not sent yet, or not to this server. */
const unsent = Number.POSITIVE_INFINITY;

/** A call or a query, and what became of it. */
export interface Tracked extends PendingCall {
  readonly request: Request;
  readonly resolve: (value: any) => void;
  readonly reject: (error: unknown) => void;
  /** Those of later calls are larger, or `unsent` too. */
  requestId: number;
  isSent: boolean;
  /** No answer will come any more. */
  isAnswered: boolean;
  isSettled: boolean;
  /** End timers and listeners of the request. */
  readonly releases: (() => void)[];
}

export function trackedOf(
  request: Request,
  resolve: Tracked['resolve'],
  reject: Tracked['reject'],
): Tracked {
  return {
    kind: request.kind,
    name: request.name,
    request,
    resolve,
    reject,
    requestId: unsent,
    isSent: false,
    isAnswered: false,
    isSettled: false,
    releases: [],
  };
}

export class Requests {
  readonly pending: Readable<readonly PendingCall[]>;
  readonly #platform: Platform;
  readonly #queueMillis: number;
  readonly #settling: (call: Tracked) => void;
  readonly #pending: Observable<object>;
  /**
   * In the order of the calls, which is that of their ids; now and then those that are over are
   * taken out. Not a map by id: that of V8 makes itself a new table ever again, and the one before
   * names it; so what was called lives until a full collection. It cost more than all the rest.
   */
  #calls: Tracked[] = [];
  #overCount = 0;
  #count = 0;
  #list: readonly Tracked[] | undefined;

  /** `settling` is told of a call just before its promise settles. */
  constructor(platform: Platform, queueMillis: number, settling: (call: Tracked) => void) {
    this.#settling = settling;
    this.#platform = platform;
    this.#queueMillis = queueMillis;
    this.#pending = new Observable<object>({}, platform.report);
    this.pending = { get: () => this.#pendingList(), subscribe: this.#pending.subscribe };
  }

  /** Those without an answer. */
  get count(): number {
    return this.#count;
  }

  /** Starts to wait. `isConnected` false: for a while only, as it cannot be sent yet. */
  add(tracked: Tracked, { signal, timeoutMillis }: CallOptions, isConnected: boolean): void {
    this.#calls.push(tracked);
    this.#count += 1;
    this.#changed();
    const { releases } = tracked;
    const giveUp = (error: unknown) => this.reject(tracked, error);
    if (signal !== undefined) {
      const abort = () => {
        const { reason } = signal;
        const isLost = !isConnected && !tracked.isSent;
        giveUp(isLost ? new ConnectionLostError('not-sent', { cause: reason }) : reason);
      };
      signal.addEventListener('abort', abort);
      releases.push(() => signal.removeEventListener('abort', abort));
    }
    if (timeoutMillis !== undefined) {
      const stop = () => giveUp(new TimeoutError(timeoutMillis));
      releases.push(this.#platform.after(timeoutMillis, stop));
    }
    if (!isConnected)
      releases.push(
        this.#platform.after(this.#queueMillis, () => {
          if (!tracked.isSent) giveUp(new ConnectionLostError('not-sent'));
        }),
      );
    if (signal?.aborted === true) giveUp(signal.reason);
  }

  /** To be called in the order of `add`, with ids that ascend. */
  sent(requestId: number, tracked: Tracked): void {
    tracked.isSent = true;
    tracked.requestId = requestId;
  }

  /** The request that `requestId` answers, if somebody waits for it, or did. */
  answered(requestId: number): Tracked | undefined {
    let low = 0;
    let high = this.#calls.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#calls[middle] as Tracked).requestId < requestId) low = middle + 1;
      else high = middle;
    }
    const tracked = this.#calls[low];
    if (tracked?.requestId !== requestId || tracked.isAnswered) return undefined;
    tracked.isAnswered = true;
    if (tracked.isSettled) this.#tidy();
    return tracked;
  }

  resolve(tracked: Tracked, value: unknown): void {
    if (this.#settle(tracked)) tracked.resolve(value);
  }

  reject(tracked: Tracked, error: unknown): void {
    if (this.#settle(tracked)) tracked.reject(error);
  }

  /** What was in flight and may be sent again; the rest is rejected. */
  lost(): Tracked[] {
    const sent = this.#pendingList().filter(({ requestId }) => requestId !== unsent);
    for (const tracked of sent) {
      if (!tracked.request.mayRepeat) this.reject(tracked, new ConnectionLostError('unknown'));
      tracked.requestId = unsent;
    }
    this.#calls = [...this.#pendingList()];
    this.#overCount = 0;
    return sent.filter(isOpen);
  }

  /** Nothing will be sent any more. */
  closed(): void {
    for (const tracked of this.#pendingList())
      this.reject(tracked, new ConnectionLostError(tracked.isSent ? 'unknown' : 'not-sent'));
  }

  #settle(tracked: Tracked): boolean {
    if (tracked.isSettled) return false;
    tracked.isSettled = true;
    for (const run of tracked.releases) run();
    this.#count -= 1;
    if (tracked.isAnswered) this.#tidy();
    this.#changed();
    this.#settling(tracked);
    return true;
  }

  /** One more is over. */
  #tidy(): void {
    this.#overCount += 1;
    if (this.#overCount < 4 + this.#calls.length / 8) return;
    this.#calls = this.#calls.filter((call) => isOpen(call) || !call.isAnswered);
    this.#overCount = 0;
  }

  /** The list is made when somebody looks at it: most programs never do. */
  #pendingList(): readonly Tracked[] {
    this.#list ??= this.#calls.filter(isOpen);
    return this.#list;
  }

  #changed(): void {
    this.#list = undefined;
    if (this.#pending.listenerCount > 0) this.#pending.set({});
  }
}

function isOpen({ isSettled }: Tracked): boolean {
  return !isSettled;
}

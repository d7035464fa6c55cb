/**
 * Calls and one-off queries, from when they are made until they are answered or abandoned.
 *
 * ```text
 * waiting ─ sent ─▶ in flight ─ answered ─▶ settled
 * in flight ─ connection lost ─▶ waiting (what may be repeated) or settled (outcome unknown)
 * any ─ aborted, timed out ─▶ settled; an answer that still comes is ignored
 * ```
 */
import type { ClientMessage } from '../protocol/v2/client-message.ts';
import type { ReducerOutcome } from '../protocol/v2/server-message.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import type { ClientSchema } from './client-schema.ts';
import { ConnectionLostError, InternalError, SenderError, TimeoutError } from './errors.ts';
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
  /** True if running it twice does no harm: it is sent again after the connection was lost. */
  readonly retry?: boolean | undefined;
  /**
   * Writes the predicted changes of the call to `draft`; they are shown at once, until the answer
   * arrives. It runs again whenever other rows change, so it must read only the draft and `args`.
   */
  readonly optimistic?: ((draft: Draft, args: Args) => void) | undefined;
}

/**
 * A call without an answer so far.
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
  /** The message to send; throws the error that the call is rejected with. */
  message(requestId: number, schema: ClientSchema): ClientMessage;
  /** The call's details, for the event of its changes; calls without them have no event. */
  info?(): ReducerInfo | undefined;
  /** Writes the predicted changes to a draft. */
  readonly predict?: ((draft: unknown) => void) | undefined;
  /** Decodes the answer into the value of the promise. */
  result?(returned: Uint8Array): unknown;
  /** The error for the value that the module threw, unless it is a string. */
  refusal?(thrown: Uint8Array): Error | undefined;
}

/** The id of a request that was not sent yet, or not on this connection. */
const unsent = Number.POSITIVE_INFINITY;

/** A call or a query, and its state. */
export interface Tracked extends PendingCall {
  readonly request: Request;
  readonly resolve: (value: any) => void;
  readonly reject: (error: unknown) => void;
  /** Ids of later calls are larger, or also `unsent`. */
  requestId: number;
  isSent: boolean;
  /** True when no answer is to come any more. */
  isAnswered: boolean;
  isSettled: boolean;
  /** Functions that release timers and listeners of the request. */
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
   * In the order of the calls, which is that of their ids; finished ones are removed from time to
   * time. Not a map by id: V8's map reallocates its table again and again, and the old table refers
   * to the new one, so calls stay alive until a full collection. That cost more than all the rest.
   */
  #calls: Tracked[] = [];
  #overCount = 0;
  #count = 0;
  #list: readonly Tracked[] | undefined;

  /** `settling` is called with a call just before its promise settles. */
  constructor(platform: Platform, queueMillis: number, settling: (call: Tracked) => void) {
    this.#settling = settling;
    this.#platform = platform;
    this.#queueMillis = queueMillis;
    this.#pending = new Observable<object>({}, platform.report);
    this.pending = { get: () => this.#pendingList(), subscribe: this.#pending.subscribe };
  }

  /** Number of requests without an answer. */
  get count(): number {
    return this.#count;
  }

  /**
   * Starts to wait for an answer; for a limited time if `isConnected` is false, as it cannot be
   * sent yet.
   */
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

  /** Must be called in the order of `add`, with ascending ids. */
  sent(requestId: number, tracked: Tracked): void {
    tracked.isSent = true;
    tracked.requestId = requestId;
  }

  /** Returns the request with this id, if it is, or was, waiting for an answer. */
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

  /** Returns requests in flight that can be sent again; rejects the others. */
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

  /** Ends all requests: nothing will be sent any more. */
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

  /** Counts a finished call; removes them when there are enough. */
  #tidy(): void {
    this.#overCount += 1;
    if (this.#overCount < 4 + this.#calls.length / 8) return;
    this.#calls = this.#calls.filter((call) => isOpen(call) || !call.isAnswered);
    this.#overCount = 0;
  }

  /** The list is built on demand: most programs never read it. */
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

/** A thrown value is an encoded string, unless the reducer declares another type. */
export function errorOf(
  outcome: Extract<ReducerOutcome, { kind: 'err' | 'internalError' }>,
  request: Request,
): Error {
  if (outcome.kind === 'internalError') return new InternalError(outcome.message);
  try {
    const { error } = outcome;
    return request.refusal?.(error) ?? new SenderError(new BinaryReader(error).string());
  } catch (cause) {
    return unreadable('the call was refused, and the reason', cause);
  }
}

/** What has come back cannot be decoded. */
export function unreadable(what: string, cause: unknown): InternalError {
  return new InternalError(`${what} cannot be read`, { cause });
}

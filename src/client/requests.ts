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
  readonly signal?: StopSignal;
  readonly timeoutMillis?: number;
  /** Running it twice does no harm: it is sent again when the connection was lost. */
  readonly retry?: boolean;
  /**
   * Writes to `draft` what the call is expected to change; shown at once, until the answer is there.
   * It runs again whenever other rows change, so all that it may look at is the draft and `args`.
   */
  readonly optimistic?: (draft: Draft, args: Args) => void;
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
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Tracked extends PendingCall {
  readonly request: Request;
  isSettled: boolean;
  isSent: boolean;
  /** Ends timers and listeners of the request. */
  release(): void;
}

export class Requests {
  readonly pending: Readable<readonly PendingCall[]>;
  readonly #platform: Platform;
  readonly #queueMillis: number;
  readonly #settling: (call: Tracked) => void;
  readonly #pending: Observable<object>;
  readonly #inFlight = new Map<number, Tracked>();
  readonly #open = new Set<Tracked>();
  #list: readonly PendingCall[] | undefined = [];

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
    return this.#open.size;
  }

  /** Starts to wait. `isConnected` false: for a while only, as it cannot be sent yet. */
  add(request: Request, options: CallOptions, isConnected: boolean): Tracked {
    const { signal, timeoutMillis } = options;
    const { kind, name } = request;
    const releases: (() => void)[] = [];
    const release = () => {
      for (const run of releases) run();
    };
    const tracked: Tracked = { kind, name, request, isSettled: false, isSent: false, release };
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
    this.#open.add(tracked);
    this.#changed();
    if (signal?.aborted === true) giveUp(signal.reason);
    return tracked;
  }

  sent(requestId: number, tracked: Tracked): void {
    tracked.isSent = true;
    this.#inFlight.set(requestId, tracked);
  }

  /** The request that `requestId` answers, if somebody still waits for it. */
  answered(requestId: number): Tracked | undefined {
    const tracked = this.#inFlight.get(requestId);
    this.#inFlight.delete(requestId);
    return tracked;
  }

  resolve(tracked: Tracked, value: unknown): void {
    if (this.#settle(tracked)) tracked.request.resolve(value);
  }

  reject(tracked: Tracked, error: unknown): void {
    if (this.#settle(tracked)) tracked.request.reject(error);
  }

  /** What was in flight and may be sent again; the rest is rejected. */
  lost(): Tracked[] {
    const sent = [...this.#inFlight.values()].filter((tracked) => !tracked.isSettled);
    this.#inFlight.clear();
    const repeats = sent.filter(({ request }) => request.mayRepeat);
    for (const tracked of sent) {
      if (!tracked.request.mayRepeat) this.reject(tracked, new ConnectionLostError('unknown'));
    }
    return repeats;
  }

  /** Nothing will be sent any more. */
  closed(): void {
    for (const tracked of [...this.#open])
      this.reject(tracked, new ConnectionLostError('not-sent'));
  }

  #settle(tracked: Tracked): boolean {
    if (tracked.isSettled) return false;
    tracked.isSettled = true;
    tracked.release();
    this.#open.delete(tracked);
    this.#changed();
    this.#settling(tracked);
    return true;
  }

  /** The list is made when somebody looks at it: most programs never do. */
  #pendingList(): readonly PendingCall[] {
    this.#list ??= [...this.#open];
    return this.#list;
  }

  #changed(): void {
    this.#list = undefined;
    if (this.#pending.listenerCount > 0) this.#pending.set({});
  }
}

export type { Tracked };

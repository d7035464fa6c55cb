/**
 * Why something was aborted. `name` is `AbortError`, or `TimeoutError` when time was over.
 *
 * @example
 * ```ts
 * export const ring = db.procedure(t.u16(), async (ctx) => {
 *   try {
 *     return (await ctx.fetch('https://words.example/')).status;
 *   } catch (error) {
 *     if (error instanceof AbortError) console.warn('nobody waits for it any more');
 *     throw error;
 *   }
 * });
 * ```
 */
export class AbortError extends Error {
  constructor(message = 'this operation was aborted', name = 'AbortError') {
    super(message);
    Object.defineProperty(this, 'name', { value: name, configurable: true, writable: true });
  }
}

/** What the listeners of a signal get. */
export interface AbortEvent {
  readonly type: 'abort';
  readonly target: AbortSignal;
}

export type AbortListener = (event: AbortEvent) => void;

/** Creates a signal that `abortSignal` aborts. */
export let newSignal: () => AbortSignal;
export let abortSignal: (signal: AbortSignal, reason: unknown) => void;
/** Calls `run` once when the signal is aborted, before its listeners; returns what prevents it. */
export let followSignal: (signal: AbortSignal, run: () => void) => () => void;

/** Calls `done` after so many microseconds. */
export type StartTimer = (micros: bigint, done: () => void) => void;

let startTimer: StartTimer | undefined;

/** Gives signals their timer: the host's, which the program gets when it starts. */
export function useTimer(timer: StartTimer): void {
  startTimer = timer;
}

const isOurs = {};

/**
 * Says that something is to end early. As that of the web, for `ctx.fetch` and `ctx.sleep`.
 *
 * @example
 * ```ts
 * export const ring = db.procedure(t.u16(), async (ctx) => {
 *   const signal = AbortSignal.timeout(2_000);
 *   return (await ctx.fetch('https://words.example/', { signal })).status;
 * });
 * ```
 */
export class AbortSignal {
  /** Called when the signal is aborted. */
  onabort: AbortListener | null = null;
  #isAborted = false;
  #reason: unknown;
  readonly #followers = new Set<() => void>();
  readonly #listeners = new Map<AbortListener, boolean>();

  /** @deprecated Signals are made by an `AbortController` and by the functions of this class. */
  constructor(key?: unknown) {
    if (key !== isOurs) throw new TypeError('use `new AbortController().signal`');
  }

  /** A signal that is aborted. */
  static abort(reason: unknown = new AbortError()): AbortSignal {
    const signal = newSignal();
    abortSignal(signal, reason);
    return signal;
  }

  /** A signal that is aborted after so many milliseconds, while a procedure waits. */
  static timeout(millis: number): AbortSignal {
    if (startTimer === undefined || !(millis >= 0) || millis === Number.POSITIVE_INFINITY) {
      throw new TypeError('`AbortSignal.timeout` takes milliseconds, within a procedure');
    }
    const signal = newSignal();
    startTimer(BigInt(Math.round(millis * 1_000)), () =>
      abortSignal(signal, new AbortError('the time of the signal is over', 'TimeoutError')),
    );
    return signal;
  }

  /** A signal that is aborted with the first of these. */
  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const signal = newSignal();
    for (const source of signals) {
      if (source.aborted) {
        abortSignal(signal, source.reason);
        break;
      }
      followSignal(source, () => abortSignal(signal, source.reason));
    }
    return signal;
  }

  get aborted(): boolean {
    return this.#isAborted;
  }

  /** What it was aborted with: by default an `AbortError`. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Throws the reason, if it is aborted. */
  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  addEventListener(
    type: 'abort',
    listener: AbortListener,
    { once = false }: { readonly once?: boolean } = {},
  ): void {
    if (type === 'abort' && !this.#listeners.has(listener)) this.#listeners.set(listener, once);
  }

  removeEventListener(type: 'abort', listener: AbortListener): void {
    if (type === 'abort') this.#listeners.delete(listener);
  }

  static {
    newSignal = () => new AbortSignal(isOurs);
    followSignal = (signal, run) => {
      signal.#followers.add(run);
      return () => signal.#followers.delete(run);
    };
    abortSignal = (signal, reason) => {
      if (signal.#isAborted) return;
      signal.#isAborted = true;
      signal.#reason = reason;
      const followers = [...signal.#followers];
      signal.#followers.clear();
      for (const run of followers) run();
      const event: AbortEvent = Object.freeze({ type: 'abort', target: signal });
      const listeners = [...signal.#listeners.keys()];
      for (const [listener, once] of signal.#listeners) {
        if (once) signal.#listeners.delete(listener);
      }
      if (signal.onabort !== null) listeners.unshift(signal.onabort);
      for (const listener of listeners) tell(listener, event);
    };
  }
}

/** What a listener throws is in the log, as a rejection that nobody handled. */
function tell(listener: AbortListener, event: AbortEvent): void {
  try {
    listener(event);
  } catch (error) {
    void Promise.reject(error);
  }
}

/**
 * Makes a signal, and aborts it.
 *
 * @example
 * ```ts
 * export const wait = db.procedure(t.unit(), async (ctx) => {
 *   const controller = new AbortController();
 *   ctx.signal.addEventListener('abort', () => controller.abort());
 *   await ctx.sleep(500, { signal: controller.signal });
 *   return {};
 * });
 * ```
 */
export class AbortController {
  readonly signal: AbortSignal = newSignal();

  abort(reason: unknown = new AbortError()): void {
    abortSignal(this.signal, reason);
  }
}

import { guarded } from './guarded.ts';

/**
 * A value that changes, in the form that user interfaces expect: `get` returns the same object
 * until the value changes.
 *
 * @example
 * ```ts
 * const store: Readable<number> = counter;
 * const stop = store.subscribe(() => console.log(store.get()));
 * stop();
 * ```
 */
export interface Readable<Value> {
  get(): Value;
  /** Calls `changed` after each change, until the returned function is called. */
  subscribe(changed: () => void): () => void;
}

export class Observable<Value> implements Readable<Value> {
  readonly #listeners = new Set<() => void>();
  readonly #report: (error: unknown) => void;
  #value: Value;

  constructor(value: Value, report: (error: unknown) => void) {
    this.#value = value;
    this.#report = report;
  }

  readonly get = (): Value => this.#value;

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) guarded(listener, this.#report);
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    // A separate function, so that one callback can subscribe twice.
    const listener = () => changed();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

import { useSyncExternalStore } from 'react';

/** A value that changes, and those who want to know. */
export class Store<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** What has a value and reports changes: a `Store`, or a `Readable` of `reducerdb/client`. */
export interface Changing<T> {
  get(): T;
  subscribe(listener: () => void): () => void;
}

export function useStore<T>(store: Changing<T>): T {
  return useSyncExternalStore(
    (listener) => store.subscribe(listener),
    () => store.get(),
  );
}

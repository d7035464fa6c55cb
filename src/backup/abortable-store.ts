import { cancelledError } from './backup-error.ts';
import type {
  GetOptions,
  ListedObject,
  ObjectBody,
  ObjectHead,
  ObjectStore,
  StoreOptions,
} from './object-store.ts';

/**
 * A store whose operations all end when a signal says so, also those that it would never answer:
 * they get the signal, and nobody waits for them any more.
 */
export function abortableStore(store: ObjectStore, signal: AbortSignal): ObjectStore {
  return new AbortableStore(store, signal);
}

class AbortableStore implements ObjectStore {
  readonly place: string;
  readonly #store: ObjectStore;
  readonly #signal: AbortSignal;

  constructor(store: ObjectStore, signal: AbortSignal) {
    this.place = store.place;
    this.#store = store;
    this.#signal = signal;
  }

  async create(): Promise<void> {
    await this.#within(this.#store.create?.() ?? Promise.resolve());
  }

  put(name: string, body: ObjectBody, options: StoreOptions = {}): Promise<'put' | 'there'> {
    return this.#within(this.#store.put(name, body, { ...options, ...this.#ending(options) }));
  }

  get(name: string, options: GetOptions = {}): AsyncIterable<Uint8Array> {
    return this.#each(this.#store.get(name, { ...options, ...this.#ending(options) }));
  }

  head(name: string, options: StoreOptions = {}): Promise<ObjectHead | undefined> {
    return this.#within(this.#store.head(name, this.#ending(options)));
  }

  list(prefix: string, options: StoreOptions = {}): AsyncIterable<ListedObject> {
    return this.#each(this.#store.list(prefix, this.#ending(options)));
  }

  delete(name: string, options: StoreOptions = {}): Promise<void> {
    return this.#within(this.#store.delete(name, this.#ending(options)));
  }

  replace(name: string, bytes: Uint8Array, options: StoreOptions = {}): Promise<void> {
    return this.#within(this.#store.replace(name, bytes, this.#ending(options)));
  }

  sweep(beforeMicros: number, isDry: boolean, options: StoreOptions = {}): Promise<number> {
    return this.#within(this.#store.sweep(beforeMicros, isDry, this.#ending(options)));
  }

  #ending({ signal }: StoreOptions): Pick<StoreOptions, 'signal'> {
    return { signal: signal === undefined ? this.#signal : either(signal, this.#signal) };
  }

  async *#each<T>(items: AsyncIterable<T>): AsyncIterable<T> {
    const iterator = items[Symbol.asyncIterator]();
    let isEnded = false;
    try {
      while (true) {
        const next = await this.#within(iterator.next());
        isEnded = next.done === true;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      // One that waits for its next piece cannot be ended: it ends by the signal, or never.
      if (!isEnded && !this.#signal.aborted) await iterator.return?.();
    }
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    const signal = this.#signal;
    let onAbort: () => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(cancelledError(signal));
    });
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await Promise.race([work, aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      work.catch(() => undefined);
    }
  }
}

function either(one: AbortSignal, other: AbortSignal): AbortSignal {
  return one === other ? one : AbortSignal.any([one, other]);
}

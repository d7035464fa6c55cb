/** Runs work on the same key one after another, in the order in which it was requested. */
export class KeyedLock<Key> {
  /** The end of the last work on each key that has any. */
  readonly #last = new Map<Key, Promise<unknown>>();

  with<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const end = result.then(noop, noop).then(() => {
      if (this.#last.get(key) === end) this.#last.delete(key);
    });
    this.#last.set(key, end);
    return result;
  }

  /** Resolves when no work is left, including work requested while waiting. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

function noop(): void {}

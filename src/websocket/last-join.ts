/**
 * Caches the last join of a list of parts. Sockets are written to one after another, and those that
 * watch the same data get the same parts in the same order, so the first join serves them all.
 */
export class LastJoin<Part extends object, Joined> {
  readonly #join: (parts: readonly Part[]) => Joined;
  #parts: readonly Part[] = [];
  #joined: Joined | undefined;

  constructor(join: (parts: readonly Part[]) => Joined) {
    this.#join = join;
  }

  of(parts: readonly Part[]): Joined {
    const known = this.#joined;
    if (known !== undefined && this.#isSame(parts)) return known;
    const joined = this.#join(parts);
    this.#parts = parts;
    this.#joined = joined;
    return joined;
  }

  /** Releases the parts, once no more sockets can share them. */
  forget(): void {
    this.#parts = [];
    this.#joined = undefined;
  }

  #isSame(parts: readonly Part[]): boolean {
    const known = this.#parts;
    return known.length === parts.length && parts.every((part, at) => part === known[at]);
  }
}

/**
 * Remembers what was last made of a list of parts. Sockets are written to one after another, and
 * those that watch the same get the same parts in the same order: what is joined for the first of
 * them serves the others.
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

  /** Lets go of the parts, when there will be no more of the same. */
  forget(): void {
    this.#parts = [];
    this.#joined = undefined;
  }

  #isSame(parts: readonly Part[]): boolean {
    const known = this.#parts;
    return known.length === parts.length && parts.every((part, at) => part === known[at]);
  }
}

/**
 * Goes through all combinations of choices. A run makes its choices in a fixed order; the next run
 * differs in the last choice that has more to offer.
 */
export class Choices {
  readonly #taken: { at: number; readonly count: number }[] = [];
  #asked = 0;

  choose(count: number): number {
    const asked = this.#asked++;
    const taken = this.#taken[asked];
    if (taken !== undefined) return taken.at;
    this.#taken.push({ at: 0, count });
    return 0;
  }

  /** False once every combination has been tried. */
  next(): boolean {
    this.#asked = 0;
    for (let last = this.#taken.pop(); last !== undefined; last = this.#taken.pop()) {
      if (last.at + 1 >= last.count) continue;
      this.#taken.push({ at: last.at + 1, count: last.count });
      return true;
    }
    return false;
  }
}

/** A list that has one entry more, or no longer, after each change; who watches it is told. */
export class ChangingList<Entry> {
  readonly #entries: readonly Entry[];
  readonly #further: Entry;
  readonly #watchers = new Set<() => void>();
  #isLonger = false;

  constructor(entries: readonly Entry[], further: Entry) {
    this.#entries = entries;
    this.#further = further;
  }

  entries(): readonly Entry[] {
    return this.#isLonger ? [...this.#entries, this.#further] : this.#entries;
  }

  change(): void {
    this.#isLonger = !this.#isLonger;
    for (const tell of this.#watchers) tell();
  }

  /** `changed` is called until what this returns is. */
  watch(changed: () => void): () => void {
    // Two who watch with the same function are two.
    const tell = () => changed();
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }
}

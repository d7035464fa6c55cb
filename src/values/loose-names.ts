/**
 * Finds names of elements or variants in the spelling of the module and in the canonical one: a
 * name is found if it is written exactly, or if only case, `_`, `-` and blanks differ and that is
 * true of no other name.
 */
export class LooseNames {
  readonly #exact = new Map<string, number>();
  /** -1: more than one has this key. */
  readonly #loose = new Map<string, number>();

  #lengthMax = 0;

  constructor(items: readonly { readonly name: string | undefined }[]) {
    for (const [index, { name }] of items.entries()) {
      if (name === undefined) continue;
      this.#exact.set(name, index);
      this.#lengthMax = Math.max(this.#lengthMax, 2 * name.length);
      const key = looseKey(name);
      this.#loose.set(key, this.#loose.has(key) ? -1 : index);
    }
  }

  /** The position of the name; -1 if it is unknown or not clear. */
  find(given: string): number {
    const exact = this.#exact.get(given);
    // A name is at most twice as long in another spelling: what is longer is not worth a look.
    if (exact !== undefined || given.length > this.#lengthMax) return exact ?? -1;
    return this.#loose.get(looseKey(given)) ?? -1;
  }
}

/** What is left of a name without the differences between spellings. */
function looseKey(name: string): string {
  return name.replace(/[_\- ]/g, '').toLowerCase();
}

import type { DerivedBody } from './derived-body.ts';
import type { DerivedIndex } from './derived-index.ts';
import type { RowRef } from './row-ref.ts';

/** The derived indexes of one table, which change together. */
export class DerivedIndexes {
  readonly #indexes: readonly DerivedIndex[];

  constructor(indexes: readonly DerivedIndex[]) {
    this.#indexes = indexes;
  }

  add(ref: RowRef): void {
    for (const index of this.#indexes) index.add(ref);
  }

  remove(ref: RowRef): void {
    for (const index of this.#indexes) index.remove(ref);
  }

  replace(old: RowRef, ref: RowRef): void {
    for (const index of this.#indexes) index.replace(old, ref);
  }

  /** Adds all visible rows to indexes that are empty. */
  fill(): void {
    for (const index of this.#indexes) index.fill();
  }

  /** Removes all rows at once; `restore` takes what this returns. */
  empty(): ClearedDerived {
    return this.#indexes.map((index) => index.empty());
  }

  restore(bodies: ClearedDerived): void {
    this.#indexes.forEach((index, at) => {
      index.restore(bodies[at] as DerivedBody);
    });
  }
}

/** The structures of derived indexes, in their order. */
export type ClearedDerived = readonly DerivedBody[];

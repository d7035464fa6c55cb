import type { RowMaker } from '../sql/expressions/row-compiler.ts';
import type { LiveFrame } from './fragment.ts';
import { changesOf, type RowChanges } from './live-update.ts';
import { RowBag } from './row-bag.ts';

/** Collects rows computed from gained and lost source rows; what cancels out is not sent. */
export class ComputedRows {
  readonly #rowOf: RowMaker;
  readonly #bag = new RowBag();

  constructor(rowOf: RowMaker) {
    this.#rowOf = rowOf;
  }

  /** Computes a row from the rows in the frame. Throws `SqlFailure`. */
  add(frame: LiveFrame, count: number): void {
    const row = this.#rowOf(frame);
    this.#bag.add(count, row, 0, row.length);
  }

  changes(): RowChanges | undefined {
    const { gained, lost } = this.#bag.surplus();
    return changesOf(gained, lost);
  }
}

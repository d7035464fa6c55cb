import type { RowRef } from '../../store/row-ref.ts';
import type { VectorRuler } from '../../store/vector-distance.ts';
import { measureVectors, vectorBatchMax } from '../../store/vector-kernel.ts';
import { charge } from '../expressions/charge.ts';
import { type RowDistance, vectorStart } from '../expressions/compile-distance.ts';
import type { QueryValue } from '../functions/function.ts';
import type { ExecutionState } from './execution-state.ts';
import { ended, paused, rowReady, type Step, type Tuples } from './operator.ts';

/**
 * Returns the rows of a source of one slot as they come, having measured the distances of many at
 * once: in the table they follow one another.
 */
export class MeasuredRows implements Tuples {
  readonly #state: ExecutionState;
  readonly #input: Tuples;
  readonly #distance: RowDistance;
  readonly #pages: Uint8Array[] = [];
  readonly #rows: number[] = [];
  readonly #refs: RowRef[] = [];
  readonly #starts: number[] = [];
  readonly #distances = new Float64Array(vectorBatchMax);
  #ruler: VectorRuler | undefined;
  #farthest = Number.POSITIVE_INFINITY;
  #count = 0;
  #next = 0;
  #isEnded = false;
  #isOpen = false;

  constructor(state: ExecutionState, input: Tuples, distance: RowDistance) {
    this.#state = state;
    this.#input = input;
    this.#distance = distance;
  }

  /** That of the row returned last. */
  get distance(): QueryValue {
    if (this.#ruler === undefined) return null;
    return this.#distances[this.#next - 1] as number;
  }

  /** From now on rows that are farther than that are not returned; null: all are. */
  leaveOutBehind(farthest: QueryValue): void {
    this.#farthest = typeof farthest === 'number' ? farthest : Number.POSITIVE_INFINITY;
  }

  open(): void {
    this.#input.open();
    this.#farthest = Number.POSITIVE_INFINITY;
    this.#isOpen = false;
    this.#isEnded = false;
    this.#count = 0;
    this.#next = 0;
  }

  next(): Step {
    while (!this.#isAtNear()) {
      if (this.#isEnded) return ended;
      if (this.#fill() === paused) return paused;
    }
    const { slot } = this.#distance.place;
    const { pages, rows, refs } = this.#state;
    const at = this.#next++;
    pages[slot] = this.#pages[at];
    rows[slot] = this.#rows[at] as number;
    refs[slot] = this.#refs[at] as RowRef;
    return rowReady;
  }

  /** Passes over what is too far. A distance that is not a number is not passed over. */
  #isAtNear(): boolean {
    const distances = this.#distances;
    const farthest = this.#ruler === undefined ? Number.POSITIVE_INFINITY : this.#farthest;
    const count = this.#count;
    let at = this.#next;
    while (at < count && (distances[at] as number) > farthest) at++;
    this.#next = at;
    return at < count;
  }

  /** Takes the next rows, and measures what there is before each pause. */
  #fill(): Step {
    const { place, rulerFor } = this.#distance;
    const { slot } = place;
    const state = this.#state;
    if (!this.#isOpen) this.#ruler = rulerFor(state);
    this.#isOpen = true;
    this.#count = 0;
    this.#next = 0;
    let step: Step = rowReady;
    while (this.#count < vectorBatchMax) {
      step = this.#input.next();
      if (step !== rowReady) break;
      const at = this.#count++;
      const bytes = state.pages[slot] as Uint8Array;
      const row = state.rows[slot] as number;
      this.#pages[at] = bytes;
      this.#rows[at] = row;
      this.#refs[at] = state.refs[slot] as RowRef;
      if (this.#ruler === undefined) continue;
      this.#starts[at] = vectorStart(bytes, place.locate(bytes, row), this.#ruler);
      charge(state, this.#ruler.wanted.length);
    }
    if (this.#ruler !== undefined && this.#count > 0) {
      const places = { pages: this.#pages, starts: this.#starts, count: this.#count };
      measureVectors(this.#ruler, places, this.#distances);
    }
    this.#isEnded = step === ended;
    return step;
  }
}

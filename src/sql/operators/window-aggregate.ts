import { assert } from '../../assert.ts';
import {
  type Accumulator,
  type AggregateFunction,
  type QueryValue,
  retractable,
} from '../functions/function.ts';
import { argumentAt, type FrameRun } from './frame-run.ts';
import { paused } from './operator.ts';
import type { Frames, Run } from './window-frames.ts';

/** An aggregate over one frame after another, which never move backwards in a partition. */
export class FrameAggregate {
  readonly #run: FrameRun;
  readonly #function: AggregateFunction;
  #accumulator: Accumulator;
  #start = 0;
  #end = 0;
  #held = 0;
  /** The result of the frame from `#start` to `#end`. */
  #result: QueryValue | undefined;

  constructor(run: FrameRun, made: AggregateFunction) {
    this.#run = run;
    this.#function = made;
    this.#accumulator = made.makeAccumulator();
  }

  begin(): void {
    this.#restart(this.#run.partitions.start);
  }

  /** Of the frame to which it was moved last. */
  get result(): QueryValue {
    this.#result ??= this.#accumulator.finish();
    return this.#result;
  }

  /** Takes a frame in; false: it must pause, and be called again. */
  moveTo({ start, end }: Frames): boolean {
    if (start > this.#end) this.#restart(start);
    else if (!this.#dropUntil(start)) return false;
    assert(start === this.#start && end >= this.#end, 'frames move forwards');
    for (; this.#end < end; this.#end++) {
      if (this.#mustPause()) return false;
      this.#add(this.#end);
    }
    return this.#accumulator.settle?.(this.#run.state) ?? true;
  }

  /**
   * Of the frame to which it was moved last, without what EXCLUDE leaves out: that is removed, and
   * added again behind. What cannot remove values begins again for each row.
   */
  *resultWithout(frames: Frames): Generator<typeof paused, QueryValue> {
    const excluded = frames.excluded();
    if (excluded.length === 0) return this.result;
    const remover = retractable(this.#accumulator);
    if (remover === undefined) return yield* this.#resultOf(frames.included());
    yield* this.#each(excluded, (value) => remover.remove(value));
    const result = remover.finish();
    yield* this.#each(excluded, (value) => remover.add(value));
    return result;
  }

  *#resultOf(runs: readonly Run[]): Generator<typeof paused, QueryValue> {
    const accumulator = this.#function.makeAccumulator();
    yield* this.#each(runs, (value) => {
      accumulator.add(value);
      this.#hold(accumulator);
    });
    while (accumulator.settle?.(this.#run.state) === false) yield paused;
    return accumulator.finish();
  }

  *#each(runs: readonly Run[], visit: (value: QueryValue) => void): Generator<typeof paused, void> {
    for (const { from, to } of runs) {
      for (let at = from; at < to; at++) {
        if (this.#mustPause()) yield paused;
        const value = this.#valueAt(at);
        if (value !== undefined) visit(value);
      }
    }
  }

  #restart(at: number): void {
    this.#accumulator = this.#function.makeAccumulator();
    this.#start = at;
    this.#end = at;
    this.#held = 0;
    this.#result = undefined;
  }

  /** What cannot remove values begins again at `start`. */
  #dropUntil(start: number): boolean {
    if (start === this.#start) return true;
    const remover = retractable(this.#accumulator);
    if (remover === undefined) this.#restart(start);
    this.#result = undefined;
    for (; this.#start < start; this.#start++) {
      if (this.#mustPause()) return false;
      const value = this.#valueAt(this.#start);
      if (value !== undefined) remover?.remove(value);
    }
    return true;
  }

  #mustPause(): boolean {
    const { state } = this.#run;
    return --state.ticks <= 0 && state.mustPause();
  }

  #add(at: number): void {
    this.#result = undefined;
    const value = this.#valueAt(at);
    if (value === undefined) return;
    this.#accumulator.add(value);
    this.#hold(this.#accumulator);
  }

  #hold({ heldLength = 0 }: Accumulator): void {
    if (heldLength <= this.#held) return;
    this.#run.take(2 * (heldLength - this.#held));
    this.#held = heldLength;
  }

  /** `undefined`: left out, as nulls are except by `COUNT(*)`. */
  #valueAt(at: number): QueryValue | undefined {
    if (this.#run.argumentCount === 0) return null;
    return argumentAt(this.#run, 0, at) ?? undefined;
  }
}

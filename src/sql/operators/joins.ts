import { RefList } from '../../store/ref-list.ts';
import type { Test } from '../expressions/frame.ts';
import type { HashKey } from '../expressions/hash-key.ts';
import type { ExecutionState } from './execution-state.ts';
import { bytesOfValue, mapEntryBytes, refBytes } from './held-bytes.ts';
import type { KeptTuples } from './kept-tuples.ts';
import { ended, paused, rowReady, type Step, type Tuples } from './operator.ts';

/** Opens the inner side again for each outer tuple, which determines the inner rows. */
export class LoopJoin implements Tuples {
  readonly #state: ExecutionState;
  readonly #outer: Tuples;
  readonly #inner: Tuples;
  readonly #slot: number;
  readonly #isLeft: boolean;
  #isInside = false;
  #isMatched = false;

  constructor(
    state: ExecutionState,
    outer: Tuples,
    inner: Tuples,
    { slot, isLeft }: { readonly slot: number; readonly isLeft: boolean },
  ) {
    this.#state = state;
    this.#outer = outer;
    this.#inner = inner;
    this.#slot = slot;
    this.#isLeft = isLeft;
  }

  open(): void {
    this.#outer.open();
    this.#isInside = false;
  }

  next(): Step {
    for (;;) {
      if (!this.#isInside) {
        const step = this.#outer.next();
        if (step !== rowReady) return step;
        this.#inner.open();
        this.#isInside = true;
        this.#isMatched = false;
      }
      const step = this.#inner.next();
      if (step === paused) return paused;
      if (step === rowReady) {
        this.#isMatched = true;
        return rowReady;
      }
      this.#isInside = false;
      if (this.#isLeft && !this.#isMatched) {
        this.#state.pages[this.#slot] = undefined;
        return rowReady;
      }
    }
  }
}

export interface KeptJoinOptions {
  readonly slot: number;
  readonly isLeft: boolean;
  readonly condition: Test | undefined;
  /** The inner rows are the same however often the join is opened. */
  readonly isInnerFixed: boolean;
}

/** Scans, for each outer tuple, the inner rows, which were kept when it was opened. */
export class KeptJoin implements Tuples {
  readonly #state: ExecutionState;
  readonly #outer: Tuples;
  readonly #inner: KeptTuples;
  readonly #options: KeptJoinOptions;
  #isFilled = false;
  #isInside = false;
  #isMatched = false;
  #at = 0;

  constructor(state: ExecutionState, outer: Tuples, inner: KeptTuples, options: KeptJoinOptions) {
    this.#state = state;
    this.#outer = outer;
    this.#inner = inner;
    this.#options = options;
  }

  open(): void {
    this.#outer.open();
    this.#isInside = false;
    if (this.#isFilled && this.#options.isInnerFixed) return;
    this.#isFilled = false;
    this.#inner.open();
  }

  next(): Step {
    if (!this.#isFilled) {
      const step = this.#inner.fill();
      if (step === paused) return paused;
      this.#isFilled = true;
    }
    const { slot, isLeft } = this.#options;
    for (;;) {
      if (!this.#isInside) {
        const step = this.#outer.next();
        if (step !== rowReady) return step;
        this.#isInside = true;
        this.#isMatched = false;
        this.#at = 0;
      }
      const step = this.#nextInner();
      if (step !== ended) return step;
      this.#isInside = false;
      if (isLeft && !this.#isMatched) {
        this.#state.pages[slot] = undefined;
        return rowReady;
      }
    }
  }

  #nextInner(): Step {
    const state = this.#state;
    const { condition } = this.#options;
    const { count } = this.#inner;
    while (this.#at < count) {
      if (--state.ticks <= 0 && state.mustPause()) return paused;
      this.#inner.show(this.#at++);
      if (condition !== undefined && !condition(state)) continue;
      this.#isMatched = true;
      return rowReady;
    }
    return ended;
  }
}

export interface HashJoinOptions extends KeptJoinOptions {
  readonly outerKey: HashKey;
  readonly innerKey: HashKey;
}

/** Looks the inner rows up by equal keys, in a table built when it is opened. */
export class HashJoin implements Tuples {
  readonly #state: ExecutionState;
  readonly #outer: Tuples;
  readonly #inner: KeptTuples;
  readonly #options: HashJoinOptions;
  /** The number of the last row with each key; `#before` has the previous one, or -1. */
  readonly #last = new Map<unknown, number>();
  readonly #before = new RefList<number>();
  #isFilled = false;
  #isInside = false;
  #isMatched = false;
  #at = -1;
  #taken = 0;

  constructor(state: ExecutionState, outer: Tuples, inner: KeptTuples, options: HashJoinOptions) {
    this.#state = state;
    this.#outer = outer;
    this.#inner = inner;
    this.#options = options;
  }

  open(): void {
    this.#outer.open();
    this.#isInside = false;
    if (this.#isFilled && this.#options.isInnerFixed) return;
    this.#isFilled = false;
    this.#last.clear();
    this.#before.clear();
    this.#state.budget.giveBack(this.#taken);
    this.#taken = 0;
    this.#inner.open();
  }

  next(): Step {
    if (!this.#isFilled) {
      const step = this.#inner.fill(this.#enter);
      if (step === paused) return paused;
      this.#isFilled = true;
    }
    const { slot, isLeft, outerKey } = this.#options;
    for (;;) {
      if (!this.#isInside) {
        // Nothing can match: only a left join has to return the outer tuples.
        if (this.#last.size === 0 && !isLeft) return ended;
        const step = this.#outer.next();
        if (step !== rowReady) return step;
        const key = outerKey(this.#state);
        this.#at = key === undefined ? -1 : (this.#last.get(key) ?? -1);
        this.#isInside = true;
        this.#isMatched = false;
      }
      const step = this.#nextInner();
      if (step !== ended) return step;
      this.#isInside = false;
      if (isLeft && !this.#isMatched) {
        this.#state.pages[slot] = undefined;
        return rowReady;
      }
    }
  }

  readonly #enter = (): boolean => {
    const key = this.#options.innerKey(this.#state);
    if (key === undefined) return false;
    const number = this.#before.length;
    const before = this.#last.get(key);
    const bytes = before === undefined ? mapEntryBytes + bytesOfValue(key) : 0;
    this.#taken += refBytes + bytes;
    this.#state.budget.take(refBytes + bytes);
    this.#before.push(before ?? -1);
    this.#last.set(key, number);
    return true;
  };

  #nextInner(): Step {
    const state = this.#state;
    const { condition } = this.#options;
    while (this.#at >= 0) {
      if (--state.ticks <= 0 && state.mustPause()) return paused;
      this.#inner.show(this.#at);
      this.#at = this.#before.at(this.#at);
      if (condition !== undefined && !condition(state)) continue;
      this.#isMatched = true;
      return rowReady;
    }
    return ended;
  }
}

import type { Pacer } from './function.ts';

const runLength = 2_048;

/** Sorts the numbers from 0 to `count` in steps. */
export class Merge {
  #from: Int32Array;
  #into: Int32Array;
  readonly #count: number;
  readonly #compare: (a: number, b: number) => number;
  /** Length of the sorted pieces of `#from`; 0 while pieces are sorted. */
  #length = 0;
  #sorted = 0;
  /** State of the merge of two pieces: the start of the first, and the next row of each. */
  #base = 0;
  #left = 0;
  #right = 0;
  #out = 0;

  constructor(count: number, compare: (a: number, b: number) => number) {
    this.#count = count;
    this.#compare = compare;
    this.#from = new Int32Array(count);
    for (let at = 0; at < count; at++) this.#from[at] = at;
    this.#into = count > runLength ? new Int32Array(count) : this.#from;
  }

  get result(): Int32Array {
    return this.#from;
  }

  /** Goes on; false: it must pause, and be called again. */
  run(pacer: Pacer): boolean {
    while (this.#sorted < this.#count) {
      const end = Math.min(this.#sorted + runLength, this.#count);
      this.#from.subarray(this.#sorted, end).sort(this.#compare);
      this.#sorted = end;
      pacer.ticks -= runLength;
      if (pacer.ticks <= 0 && pacer.mustPause()) return false;
    }
    if (this.#length === 0) {
      this.#length = runLength;
      this.#startPair(0);
    }
    while (this.#length < this.#count) {
      if (!this.#mergePass(pacer)) return false;
      [this.#from, this.#into] = [this.#into, this.#from];
      this.#length *= 2;
      this.#startPair(0);
    }
    return true;
  }

  #startPair(base: number): void {
    this.#base = base;
    this.#left = base;
    this.#right = Math.min(base + this.#length, this.#count);
    this.#out = base;
  }

  #mergePass(pacer: Pacer): boolean {
    const from = this.#from;
    const into = this.#into;
    while (this.#base < this.#count) {
      const middle = Math.min(this.#base + this.#length, this.#count);
      const end = Math.min(middle + this.#length, this.#count);
      while (this.#out < end) {
        if (--pacer.ticks <= 0 && pacer.mustPause()) return false;
        const isLeft = this.#right >= end || (this.#left < middle && this.#isLeftFirst());
        into[this.#out++] = from[isLeft ? this.#left++ : this.#right++] as number;
      }
      this.#startPair(end);
    }
    return true;
  }

  #isLeftFirst(): boolean {
    const left = this.#from[this.#left] as number;
    return this.#compare(left, this.#from[this.#right] as number) <= 0;
  }
}

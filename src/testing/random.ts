import { assert } from '../assert.ts';

/**
 * Seeded random numbers: the same seed, the same run, on every machine (the generator is sfc32).
 * Not for secrets.
 */
export class Random {
  readonly seed: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.seed = seed;
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) | 0;
    this.#c = 0x9e3779b9 | 0;
    for (let round = 0; round < 15; round++) this.u32();
  }

  /** A whole number from 0 to 2^32 - 1. */
  u32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number of at least 0, below 1. */
  fraction(): number {
    return this.u32() / 0x1_0000_0000;
  }

  /** A whole number of at least 0, below `end`. */
  below(end: number): number {
    assert(end >= 1 && end <= 0x1_0000_0000, `no whole number below ${end}`);
    return Math.floor(this.fraction() * end);
  }

  /** A whole number from `first` to `last`, both included. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    assert(list.length > 0, 'nothing to pick from');
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.fill(bytes);
    return bytes;
  }

  /** Overwrites all of `bytes`; with this a `Random` is an `Entropy`. */
  fill(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index++) bytes[index] = this.u32();
  }

  /** An unsigned number of `bits` bits. */
  bigint(bits: number): bigint {
    let value = 0n;
    for (let done = 0; done < bits; done += 32) value = (value << 32n) | BigInt(this.u32());
    return BigInt.asUintN(bits, value);
  }

  /** A generator of its own, so that one part of a run can draw more without moving the others. */
  fork(): Random {
    return new Random(this.u32() * 0x10_0000 + this.below(0x10_0000));
  }
}

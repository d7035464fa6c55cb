import type { RowRef } from './row-ref.ts';

/** Pairs of a 32-bit hash and a row, gathered to be sorted at once. */
export class HashPairs {
  length = 0;
  #hashes: Uint32Array;
  #refs: Int32Array;

  /** Room for some pairs; more make it grow. */
  constructor(capacity: number) {
    this.#hashes = new Uint32Array(capacity);
    this.#refs = new Int32Array(capacity);
  }

  push(hash: number, ref: RowRef): void {
    if (this.length === this.#hashes.length) this.#grow();
    this.#hashes[this.length] = hash;
    this.#refs[this.length++] = ref;
  }

  hashAt(at: number): number {
    return this.#hashes[at] as number;
  }

  refAt(at: number): RowRef {
    return this.#refs[at] as RowRef;
  }

  holdsSame(other: HashPairs): boolean {
    if (this.length !== other.length) return false;
    for (let at = 0; at < this.length; at++) {
      if (this.hashAt(at) !== other.hashAt(at) || this.refAt(at) !== other.refAt(at)) return false;
    }
    return true;
  }

  /** Sorts by hash. Pairs of one hash keep their order. */
  sort(): void {
    const other = new HashPairs(this.length);
    other.length = this.length;
    scatter(this, other, 0);
    scatter(other, this, digitBits);
  }

  /** Empties the list and keeps its room. */
  clear(): void {
    this.length = 0;
  }

  /** For sorting. */
  set(at: number, hash: number, ref: RowRef): void {
    this.#hashes[at] = hash;
    this.#refs[at] = ref;
  }

  #grow(): void {
    const hashes = new Uint32Array(this.#hashes.length * 2);
    const refs = new Int32Array(hashes.length);
    hashes.set(this.#hashes);
    refs.set(this.#refs);
    this.#hashes = hashes;
    this.#refs = refs;
  }
}

const digitBits = 16;
const digits = 1 << digitBits;

/** One pass of a radix sort: by the bits of the hash from `shift` on. */
function scatter(from: HashPairs, to: HashPairs, shift: number): void {
  const { length } = from;
  const places = new Uint32Array(digits + 1);
  for (let at = 0; at < length; at++) {
    (places[((from.hashAt(at) >>> shift) & (digits - 1)) + 1] as number)++;
  }
  for (let digit = 1; digit <= digits; digit++) {
    places[digit] = (places[digit] as number) + (places[digit - 1] as number);
  }
  for (let at = 0; at < length; at++) {
    const hash = from.hashAt(at);
    const digit = (hash >>> shift) & (digits - 1);
    const place = places[digit] as number;
    places[digit] = place + 1;
    to.set(place, hash, from.refAt(at));
  }
}

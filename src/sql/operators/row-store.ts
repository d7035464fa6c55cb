import { RefList } from '../../store/ref-list.ts';
import { hashBytes } from '../../values/hash.ts';
import type { QueryBudget } from '../budget.ts';
import type { RowSink } from '../expressions/row-sink.ts';
import { bufferBytes, refBytes } from './held-bytes.ts';

const chunkBytes = 65_536;

/** Encoded rows that an execution keeps, numbered from 0 in order of arrival. */
export class RowStore {
  readonly #budget: QueryBudget;
  #chunks: Uint8Array[] = [];
  /** Where rows are: chunk, start, end. */
  readonly #places = new RefList<number>();
  #used = 0;
  #taken = 0;

  constructor(budget: QueryBudget) {
    this.#budget = budget;
  }

  get count(): number {
    return this.#places.length / 3;
  }

  /** Copies `bytes[start, end)` and returns its number. */
  add(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    let chunk = this.#chunks[this.#chunks.length - 1];
    if (chunk === undefined || this.#used + length > chunk.length) chunk = this.#grow(length);
    const at = this.#used;
    if (length < 64) {
      for (let index = 0; index < length; index++)
        chunk[at + index] = bytes[start + index] as number;
    } else chunk.set(bytes.subarray(start, end), at);
    this.#used = at + length;
    const number = this.count;
    this.#take(placeBytes);
    this.#places.push(this.#chunks.length - 1);
    this.#places.pushPair(at, at + length);
    return number;
  }

  bytesOf(row: number): Uint8Array {
    return this.#chunks[this.#places.at(row * 3)] as Uint8Array;
  }

  startOf(row: number): number {
    return this.#places.at(row * 3 + 1);
  }

  endOf(row: number): number {
    return this.#places.at(row * 3 + 2);
  }

  write(row: number, into: RowSink): void {
    into.append(this.bytesOf(row), this.startOf(row), this.endOf(row));
  }

  clear(): void {
    this.#chunks = [];
    this.#places.clear();
    this.#used = 0;
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  /** The first chunk is small: most statements keep few rows. */
  #grow(length: number): Uint8Array {
    const wanted = this.#chunks.length === 0 ? 1_024 : chunkBytes;
    const chunk = new Uint8Array(Math.max(wanted, length));
    this.#take(bufferBytes + chunk.length);
    this.#chunks.push(chunk);
    this.#used = 0;
    return chunk;
  }

  #take(bytes: number): void {
    this.#taken += bytes;
    this.#budget.take(bytes);
  }
}

const placeBytes = 3 * refBytes;

/** Distinct encoded rows, numbered from 0. */
export class DistinctRows {
  readonly rows: RowStore;
  readonly #budget: QueryBudget;
  /** Row numbers plus 1, by hash; 0 means none. */
  #slots = new Int32Array(64);
  readonly #hashes = new RefList<number>();
  #taken = 0;

  constructor(budget: QueryBudget) {
    this.#budget = budget;
    this.rows = new RowStore(budget);
  }

  /** The number of the row that has these bytes, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    return this.#look(bytes, start, end, hashBytes(bytes, start, end) | 0);
  }

  /** The number of the row, which is `rows.count - 1` afterwards if it was new. */
  add(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashBytes(bytes, start, end) | 0;
    const known = this.#look(bytes, start, end, hash);
    if (known >= 0) return known;
    const number = this.rows.add(bytes, start, end);
    this.#taken += refBytes;
    this.#budget.take(refBytes);
    this.#hashes.push(hash);
    if ((number + 1) * 2 > this.#slots.length) this.#grow();
    else this.#enter(number);
    return number;
  }

  clear(): void {
    this.rows.clear();
    this.#hashes.clear();
    this.#slots = new Int32Array(64);
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  #look(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const number = (this.#slots[at] as number) - 1;
      if (number < 0) return -1;
      if (this.#hashes.at(number) === hash && this.#isEqual(number, bytes, start, end)) {
        return number;
      }
    }
  }

  #isEqual(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.rows.startOf(number);
    if (this.rows.endOf(number) - from !== end - start) return false;
    const stored = this.rows.bytesOf(number);
    for (let at = start, other = from; at < end; at++, other++) {
      if (bytes[at] !== stored[other]) return false;
    }
    return true;
  }

  #enter(number: number): void {
    const mask = this.#slots.length - 1;
    let at = this.#hashes.at(number) & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = number + 1;
  }

  #grow(): void {
    const length = this.#slots.length * 4;
    const bytes = 4 * (length - this.#slots.length);
    this.#taken += bytes;
    this.#budget.take(bytes);
    this.#slots = new Int32Array(length);
    for (let number = 0; number < this.rows.count; number++) this.#enter(number);
  }
}

import { assert, present } from '../assert.ts';
import { readU32 } from '../values/read-bytes.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import type { RangeBody, RangePart, UniqueBody } from './index-body.ts';
import type { Bound, KeyRange } from './key-range.ts';
import type { RefList } from './ref-list.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';

/**
 * A unique index over one small unsigned column: an array from key to ref, in blocks of
 * `blockKeys`. A block exists while it holds a key.
 *
 * Memory grows with the spread of the keys, not their number: `isUnfit` is set when the two are out
 * of proportion, or a key exceeds what an array can hold.
 */
export class DirectIndex implements UniqueBody, RangeBody {
  isUnfit = false;
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #column: number;
  readonly #width: number;
  readonly #blocks: (Int32Array | undefined)[] = [];
  readonly #blockCounts: number[] = [];
  #blockCount = 0;
  #size = 0;
  #probedKey = 0;

  constructor(heap: RowHeap, shape: RowShape, column: number) {
    this.#heap = heap;
    this.#shape = shape;
    this.#column = column;
    this.#width = present(shape.fixedSize(column), 'size of a direct key');
  }

  get bytes(): number {
    return this.#blockCount * blockKeys * 4 + this.#blocks.length * 16;
  }

  probe(row: Uint8Array, at: number): RowRef {
    return this.find(row, this.#shape.startOf(row, at, this.#column));
  }

  find(key: Uint8Array, at: number): RowRef {
    this.#probedKey = this.#keyAt(key, at);
    return this.#get(this.#probedKey);
  }

  addProbed(ref: RowRef): void {
    const key = this.#probedKey;
    if (key >= directKeyMax) {
      this.isUnfit = true;
      return;
    }
    const block = key >>> blockShift;
    // The array grows one element at a time, so that it stays a plain array.
    while (this.#blocks.length <= block) {
      this.#blocks.push(undefined);
      this.#blockCounts.push(0);
    }
    let refs = this.#blocks[block];
    if (refs === undefined) {
      refs = new Int32Array(blockKeys);
      this.#blocks[block] = refs;
      this.#blockCount++;
    }
    refs[key & blockMask] = ref;
    this.#blockCounts[block] = (this.#blockCounts[block] as number) + 1;
    this.#size++;
    if (this.#blockCount > freeBlocks && this.#blockCount * blockKeys > this.#size * sparseFactor) {
      this.isUnfit = true;
    }
  }

  replaceProbed(ref: RowRef): void {
    const refs = present(this.#blocks[this.#probedKey >>> blockShift], 'block of a found key');
    refs[this.#probedKey & blockMask] = ref;
  }

  add(ref: RowRef): void {
    const found = this.probe(this.#heap.pageOf(ref), offsetOf(ref));
    assert(found === noRow, 'a unique index holds one row for each key');
    this.addProbed(ref);
  }

  remove(ref: RowRef): void {
    const found = this.probe(this.#heap.pageOf(ref), offsetOf(ref));
    assert(found === ref, 'a visible row is in each index of its table');
    this.replaceProbed(noRow);
    const block = this.#probedKey >>> blockShift;
    const left = (this.#blockCounts[block] as number) - 1;
    this.#blockCounts[block] = left;
    this.#size--;
    if (left > 0) return;
    this.#blocks[block] = undefined;
    this.#blockCount--;
  }

  collectPoint(key: Uint8Array, at: number, _length: number, into: RefList): void {
    const ref = this.find(key, at);
    if (ref !== noRow) into.push(ref);
  }

  collectRange(range: KeyRange, into: RefList, part?: RangePart): void {
    if (part?.isDescending === true) {
      this.#collectBack(range, into, part.countMax);
      return;
    }
    const enough = into.length + (part?.countMax ?? Number.POSITIVE_INFINITY);
    const first = this.#edge(range, range.start, 0, 1);
    const last = this.#edge(range, range.end, directKeyMax, -1);
    const lastBlock = Math.min(Math.floor(last / blockKeys), this.#blocks.length - 1);
    for (let block = Math.floor(first / blockKeys); block <= lastBlock; block++) {
      const refs = this.#blocks[block];
      if (refs === undefined) continue;
      const base = block * blockKeys;
      const end = Math.min(blockMask, last - base);
      for (let at = Math.max(0, first - base); at <= end; at++) {
        const ref = refs[at] as RowRef;
        if (ref !== noRow) into.push(ref);
      }
      if (into.length >= enough) return;
    }
  }

  #collectBack(range: KeyRange, into: RefList, countMax: number): void {
    const first = this.#edge(range, range.start, 0, 1);
    const last = this.#edge(range, range.end, directKeyMax, -1);
    const lastBlock = Math.min(Math.floor(last / blockKeys), this.#blocks.length - 1);
    const enough = into.length + countMax;
    for (let block = lastBlock; block >= Math.floor(first / blockKeys); block--) {
      const refs = this.#blocks[block];
      if (refs === undefined) continue;
      const base = block * blockKeys;
      const start = Math.max(0, first - base);
      for (let at = Math.min(blockMask, last - base); at >= start; at--) {
        const ref = refs[at] as RowRef;
        if (ref !== noRow) into.push(ref);
      }
      if (into.length >= enough) return;
    }
  }

  /** The outermost key that a bound admits; `step` points inward. */
  #edge(range: KeyRange, bound: Bound, unbounded: number, step: number): number {
    if (bound.kind === 'unbounded') return unbounded;
    const key = this.#keyAt(range.bytes, bound.at);
    return bound.kind === 'excluded' ? key + step : key;
  }

  #get(key: number): RowRef {
    if (key >= directKeyMax) return noRow;
    const refs = this.#blocks[key >>> blockShift];
    return refs === undefined ? noRow : (refs[key & blockMask] as RowRef);
  }

  /** The key as a number; keys beyond `directKeyMax` may be rounded, but stay beyond it. */
  #keyAt(bytes: Uint8Array, at: number): number {
    switch (this.#width) {
      case 1:
        return bytes[at] as number;
      case 2:
        return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
      case 4:
        return readU32(bytes, at);
      default:
        return readU32(bytes, at + 4) * 0x1_0000_0000 + readU32(bytes, at);
    }
  }
}

/** True for the column types a direct index can serve: unsigned up to 64 bits, and plain enums. */
export function isDirectType(type: AlgebraicType, types: Typespace): boolean {
  const resolved = resolveType(type, types);
  switch (resolved.kind) {
    case 'u8':
    case 'u16':
    case 'u32':
    case 'u64':
      return true;
    case 'sum':
      return resolved.variants.every((variant) => {
        const payload = resolveType(variant.type, types);
        return payload.kind === 'product' && payload.elements.length === 0;
      });
    default:
      return false;
  }
}

const blockShift = 9;
const blockKeys = 1 << blockShift;
const blockMask = blockKeys - 1;
/** Keys from here on are never kept in blocks. */
const directKeyMax = 2 ** 26;
/** Number of blocks that need not be full. */
const freeBlocks = 64;
/** Slots per key above which keys count as sparse. */
const sparseFactor = 16;

import { assert } from '../assert.ts';
import { emptyRowList, type RowList } from './change-set.ts';
import type { RowHeap } from './row-heap.ts';
import type { RowRef } from './row-ref.ts';

const slabBytes = 65_536;

/** Longer lists get a buffer of their own, so that they keep nothing else alive. */
const sharedBytesMax = 8_192;

/**
 * Storage for the rows of change sets, filled two lists at a time: `begin`, then each row, then
 * `inserts` and `deletes`. Small lists share a slab: a buffer for each would cost a small
 * transaction more than all the rest of its commit.
 */
export class RowArena {
  #slab = new Uint8Array(0);
  #slabUsed = 0;
  #slabView = new DataView(this.#slab.buffer);
  /** The lists being filled: inserts, then deletes. */
  #bytes = this.#slab;
  #view = this.#slabView;
  #start = 0;
  #middle = 0;
  #end = 0;
  #insertsEnd = 0;
  #insertCount = 0;
  #deletesEnd = 0;
  #deleteCount = 0;

  /** Starts two lists, which will hold exactly these numbers of bytes. */
  begin(insertBytes: number, deleteBytes: number): void {
    this.#start = this.#reserve(insertBytes + deleteBytes);
    this.#middle = this.#start + insertBytes;
    this.#end = this.#middle + deleteBytes;
    this.#insertsEnd = this.#start;
    this.#deletesEnd = this.#middle;
    this.#insertCount = 0;
    this.#deleteCount = 0;
  }

  insert(heap: RowHeap, ref: RowRef): void {
    this.#insertsEnd += heap.copyInto(ref, this.#bytes, this.#view, this.#insertsEnd);
    this.#insertCount++;
  }

  delete(heap: RowHeap, ref: RowRef): void {
    this.#deletesEnd += heap.copyInto(ref, this.#bytes, this.#view, this.#deletesEnd);
    this.#deleteCount++;
  }

  inserts(): RowList {
    assert(this.#insertsEnd === this.#middle, 'the net inserts were counted exactly');
    return this.#list(this.#start, this.#middle, this.#insertCount);
  }

  deletes(): RowList {
    assert(this.#deletesEnd === this.#end, 'the net deletes were counted exactly');
    return this.#list(this.#middle, this.#end, this.#deleteCount);
  }

  #list(start: number, end: number, count: number): RowList {
    if (count === 0) return emptyRowList;
    return { bytes: new Uint8Array(this.#bytes.buffer, start, end - start), count };
  }

  /** Makes `#bytes` a buffer with room for `total` bytes and returns the offset of that room. */
  #reserve(total: number): number {
    if (total > sharedBytesMax) {
      this.#bytes = new Uint8Array(total);
      this.#view = new DataView(this.#bytes.buffer);
      return 0;
    }
    if (this.#slabUsed + total > this.#slab.length) {
      this.#slab = new Uint8Array(slabBytes);
      this.#slabView = new DataView(this.#slab.buffer);
      this.#slabUsed = 0;
    }
    this.#bytes = this.#slab;
    this.#view = this.#slabView;
    const start = this.#slabUsed;
    this.#slabUsed = start + total;
    return start;
  }
}

import { assert } from '../assert.ts';
import type { RowRef } from './row-ref.ts';

const chunkShift = 14;
const chunkRefs = 1 << chunkShift;

/**
 * Refs in the order in which they were added. Each has a fixed *position*, counted from the first
 * ref ever added. Grows and shrinks by chunks, so nothing is copied.
 */
export class RefQueue {
  #chunks: Int32Array[] = [];
  /** Position of the first slot of the first chunk. */
  #chunksStart = 0;
  #start = 0;
  #end = 0;

  /** Position of the first ref, or of the next one added. */
  get start(): number {
    return this.#start;
  }

  /** Position that the next ref gets. */
  get end(): number {
    return this.#end;
  }

  get bytes(): number {
    return this.#chunks.length * chunkRefs * Int32Array.BYTES_PER_ELEMENT;
  }

  push(ref: RowRef): void {
    const place = this.#end - this.#chunksStart;
    if (place >>> chunkShift === this.#chunks.length) this.#chunks.push(new Int32Array(chunkRefs));
    (this.#chunks[place >>> chunkShift] as Int32Array)[place & (chunkRefs - 1)] = ref;
    this.#end++;
  }

  at(position: number): RowRef {
    const place = position - this.#chunksStart;
    return (this.#chunks[place >>> chunkShift] as Int32Array)[place & (chunkRefs - 1)] as RowRef;
  }

  /** Removes the first ref; the queue must not be empty. */
  take(): RowRef {
    assert(this.#start < this.#end, 'a ref is taken from a queue that has one');
    const ref = this.at(this.#start++);
    if (this.#start === this.#end) {
      this.#chunks = [];
      this.#chunksStart = this.#start;
    } else if (this.#start - this.#chunksStart === chunkRefs) {
      this.#chunks.shift();
      this.#chunksStart = this.#start;
    }
    return ref;
  }
}

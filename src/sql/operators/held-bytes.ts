import type { QueryValue } from '../functions/function.ts';

/**
 * Memory of rows, values and groups while an operator holds them, in bytes of the engine's heap:
 * the maximum measured, where a list or a map has just grown. `held-bytes.test.ts` compares the
 * charged amounts with the heap.
 */

/** One slot in a list of objects. */
export const slotBytes = 16;
/** A number in a `RefList`. */
export const refBytes = 8;
/** A key and its value in a `Map`, without the objects that they refer to. */
export const mapEntryBytes = 64;
/** An entry of a `Set`, without the object that it refers to. */
export const setEntryBytes = 48;
/** An empty `Map` or `Set`. */
export const emptyMapBytes = 192;
/** A separate list, besides its slots. */
export const listBytes = 48;
/** A separate buffer, besides its bytes. */
export const bufferBytes = 256;
/** A small object of a few fields. */
export const objectBytes = 64;

/** Memory of a value that is kept on its own: a column, or a key of several (`hash-key.ts`). */
export function bytesOfValue(value: QueryValue): number {
  switch (typeof value) {
    case 'number':
      return 16;
    case 'bigint':
      return value <= maxShort && value >= minShort ? 32 : 56;
    case 'string':
      flatten(value);
      return textBytes + 2 * value.length;
    case 'boolean':
      return 0;
    default:
      return value === null ? 0 : bufferBytes + value.length;
  }
}

/**
 * A text that was read or joined is a tree of its pieces, which can take 50 bytes for each
 * character. The engine flattens it as soon as one of its characters is read.
 */
function flatten(text: string): void {
  lastUnit = text.charCodeAt(0);
}

/** Kept so that the engine cannot optimise the read away. */
export let lastUnit = 0;

/** A flat text, and the former root of its tree. */
const textBytes = 64;
const maxShort = 2n ** 63n - 1n;
const minShort = -(2n ** 63n);

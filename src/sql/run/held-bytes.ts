import type { QueryValue } from '../functions/function.ts';

/**
 * What rows, values and groups take while an operator holds them, in bytes of the engine's heap:
 * the most that was measured, where a list or a map has just grown. `held-bytes.test.ts` compares
 * what is charged with what the heap says.
 */

/** A place in a list of objects. */
export const slotBytes = 16;
/** A number in a `RefList`. */
export const refBytes = 8;
/** A key and its value in a `Map`, without what they refer to. */
export const mapEntryBytes = 64;
/** The same of a `Set`. */
export const setEntryBytes = 48;
/** An empty `Map` or `Set`. */
export const emptyMapBytes = 192;
/** A list of its own, beside its slots. */
export const listBytes = 48;
/** A buffer of its own, beside its bytes. */
export const bufferBytes = 256;
/** A small object of a few fields. */
export const objectBytes = 64;

/** What a value takes that is kept by itself: a column, or a key of several (`hash-key.ts`). */
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
 * A text that was read, or joined, is a tree of its pieces, which may take 50 bytes for each
 * character. The engine makes one piece of it as soon as it is asked for one of its characters.
 */
function flatten(text: string): void {
  lastUnit = text.charCodeAt(0);
}

/** Kept so that the engine cannot leave out the question. */
export let lastUnit = 0;

/** A text in one piece, and the former root of its tree. */
const textBytes = 64;
const maxShort = 2n ** 63n - 1n;
const minShort = -(2n ** 63n);

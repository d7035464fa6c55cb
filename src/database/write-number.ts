import { AssertionError } from '../assert.ts';
import type { Brand } from '../brand.ts';

/** Number of a write of one actor to its log, counted from 1; 0 means "nothing written yet". */
export type WriteNumber = Brand<number, 'WriteNumber'>;

/** Mints the number of a write; asserts that it is a whole number that a double holds exactly. */
export function writeNumber(raw: number): WriteNumber {
  // Not `assert`: its message would be built at every turn.
  if (!Number.isSafeInteger(raw) || raw < 0) throw new AssertionError(`not a write: ${raw}`);
  return raw as WriteNumber;
}

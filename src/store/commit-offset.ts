import { assert } from '../assert.ts';
import type { Brand } from '../brand.ts';

/** Position of a commit in the log, dense, counted from 1; 0 means "nothing committed yet". */
export type CommitOffset = Brand<number, 'CommitOffset'>;

/** Mints an offset; asserts that it is a whole number that a double holds exactly. */
export function commitOffset(raw: number): CommitOffset {
  assert(Number.isSafeInteger(raw) && raw >= 0, `not a commit offset: ${raw}`);
  return raw as CommitOffset;
}

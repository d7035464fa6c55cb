import { AssertionError } from '../assert.ts';
import type { Brand } from '../brand.ts';

/** Position of a commit in the log, dense, counted from 1; 0 means "nothing committed yet". */
export type CommitOffset = Brand<number, 'CommitOffset'>;

/** Mints an offset; asserts that it is a whole number that a double holds exactly. */
export function commitOffset(raw: number): CommitOffset {
  // Not `assert`: its message would be built at every commit.
  if (!Number.isSafeInteger(raw) || raw < 0) {
    throw new AssertionError(`not a commit offset: ${raw}`);
  }
  return raw as CommitOffset;
}

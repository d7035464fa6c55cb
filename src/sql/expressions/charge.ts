import { limits } from '../../limits.ts';
import { overBudget } from '../failure.ts';
import type { QueryValue } from '../functions/function.ts';
import type { Frame } from './frame.ts';

/**
 * Counts work on a long value as rows, so that the clock is read in time: 512 characters cost about
 * as much as one row. Throws `SqlFailure` when a single row takes far too much.
 */
export function charge(frame: Frame, length: number): void {
  if (length < lengthOfOneRow || frame.ticks === undefined) return;
  frame.ticks -= Math.floor(length / lengthOfOneRow);
  if (frame.ticks >= -limits.sqlRowWorkMax) return;
  throw overBudget(
    'One row needs too much work on long texts at once; ' +
      'use shorter texts or fewer functions on them',
  );
}

/** Counts elements of arrays that are read one by one: eight cost about as much as one row. */
export function chargeElements(frame: Frame, count: number): void {
  if (count < elementsOfOneRow || frame.ticks === undefined) return;
  frame.ticks -= Math.floor(count / elementsOfOneRow);
  if (frame.ticks >= -limits.sqlRowWorkMax) return;
  throw overBudget(
    'One row needs too much work on long arrays at once; ' +
      'use shorter arrays or fewer functions on them',
  );
}

/** The length of a value, if its type can be long. */
export function lengthOf(value: QueryValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

const lengthOfOneRow = 512;
const elementsOfOneRow = 8;

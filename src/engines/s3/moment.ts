import { limits } from '../../limits.ts';

/** A moment by two clocks: one that never goes back, and one that a pause does not stop. */
export interface Moment {
  readonly steady: number;
  readonly wall: number;
}

export interface Clocks {
  now(): Moment;
}

export const machineClocks: Clocks = {
  now: () => ({ steady: performance.now(), wall: Date.now() }),
};

/**
 * Whether what was known then is too old to be relied on: a position may have been deleted since.
 * Only time that certainly went by would be too little, so each of the clocks can say so.
 */
export function isTooOld(then: Moment, now: Moment): boolean {
  const steady = now.steady - then.steady;
  const wall = Math.abs(now.wall - then.wall);
  return Math.max(steady, wall) > limits.s3KnownMillisMax;
}

/**
 * The time of commit n, T(n): the latest time at which a commit up to n was accepted, so that it
 * never goes back, whatever the clock does. T(0) is 0; a time before 1970, or one that a double
 * does not hold exactly, does not count.
 */
export function laterMicros(latest: number, accepted: number): number {
  return accepted > latest && Number.isSafeInteger(accepted) ? accepted : latest;
}

/** As `laterMicros`, where times are integers of 64 bits. */
export function laterBigMicros(latest: bigint, accepted: bigint): bigint {
  return accepted > latest && accepted <= microsMax ? accepted : latest;
}

const microsMax = BigInt(Number.MAX_SAFE_INTEGER);

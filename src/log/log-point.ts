/** Where records end in a commit log, and the hash of all before. */
export interface LogPoint {
  readonly position: number;
  readonly chain: bigint;
  /** Of the last commit before it. */
  readonly offset: number;
}

/** A chain hash as one number, from the halves that the commit log keeps. */
export function chainOf(low: number, high: number): bigint {
  return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}

/** The halves of a chain hash. */
export function chainHalves(chain: bigint): { readonly low: number; readonly high: number } {
  return { low: Number(BigInt.asIntN(32, chain)), high: Number(BigInt.asIntN(32, chain >> 32n)) };
}

import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { commitBytesMin } from './record.ts';

/**
 * A place in the history of a database, between two records. Two equal points have the same records
 * before them: the chain hash binds all of these.
 */
export interface HistoryPoint {
  /** Log position; NaN if the segment around it does not say. */
  readonly position: number;
  /** Offset of the last commit before it. */
  readonly offset: number;
  readonly chainLow: number;
  readonly chainHigh: number;
}

export function isSamePoint(one: HistoryPoint, other: HistoryPoint): boolean {
  return one.position === other.position && one.offset === other.offset && isSameChain(one, other);
}

type Chain = Pick<HistoryPoint, 'chainLow' | 'chainHigh'>;

export function isSameChain(one: Chain, other: Chain): boolean {
  return one.chainLow === other.chainLow && one.chainHigh === other.chainHigh;
}

/**
 * Whether data that begins at `start`, and does not follow `end` as its next record, cannot come
 * later in the history that has `end`: a single writer never goes back, and each commit takes
 * bytes.
 */
export function isOfOther(start: HistoryPoint, end: HistoryPoint): boolean {
  const bytes = start.position - end.position;
  const commits = start.offset - end.offset;
  if (commits < 0 || bytes < commits * commitBytesMin) return true;
  return bytes === 0 && !isSameChain(start, end);
}

/** A chain hash as 16 hexadecimal digits, the high half first. */
export function chainToHex({ chainLow, chainHigh }: Chain): string {
  const high = BigInt(chainHigh >>> 0) << 32n;
  return bigintToHex(high | BigInt(chainLow >>> 0), 16);
}

export function chainFromHex(text: string): Chain | undefined {
  const chain = bigintFromHex(text, 16);
  if (chain === undefined) return undefined;
  return {
    chainLow: Number(BigInt.asIntN(32, chain)),
    chainHigh: Number(BigInt.asIntN(32, chain >> 32n)),
  };
}

import type { LogPoint } from '../log/log-point.ts';
import type { Replica } from './replica.ts';
import type { TailStep } from './tail.ts';

/**
 * True if an entry has other commits than those that a copy has there and knows to be acknowledged:
 * an old primary of the engine shows it, or the engine has lost what it took. `from`: where the
 * entry begins; `settled`: the last commit that is known to be acknowledged.
 */
export function isUnlikeSettled(
  step: TailStep,
  { from, settled }: { readonly from: LogPoint; readonly settled: number },
  copy: Pick<Replica, 'end' | 'startPosition' | 'chainAt'>,
): boolean {
  if (step.kind !== 'records' || settled <= from.offset) return false;
  const { end } = step;
  const hasMore = copy.end.position > from.position;
  const isCovered = hasMore && end.position >= copy.startPosition;
  return isCovered && copy.chainAt(end.position) !== end.chain;
}

/** Why such an entry is refused. */
export const unlikeText = 'it has other commits than those that are known here to be acknowledged';

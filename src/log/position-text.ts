import type { SnapshotPlace } from './snapshot.ts';

/**
 * A place in the history of a database as text, for what is stored outside: its epoch, the offset
 * of the last commit, and the low half of the chain hash after it, such as
 * `9f3c00d1a2b4c5d6.1234.b942ae01`. Two equal texts name the same rows.
 */
export function positionText({
  epoch,
  offset,
  chainLow,
}: Pick<SnapshotPlace, 'epoch' | 'offset' | 'chainLow'>): string {
  const chain = (chainLow >>> 0).toString(16).padStart(8, '0');
  return `${epoch.toString(16).padStart(16, '0')}.${offset}.${chain}`;
}

import type { Epoch } from './epoch.ts';

/** What names one commit of one history; see `positionText`. */
export interface PositionParts {
  readonly epoch: Epoch;
  readonly offset: number;
  /** The low half of the chain hash after the commit; people may leave it out. */
  readonly chainLow: number | undefined;
}

/**
 * A place in the history of a database as text, for what is stored outside: its epoch, the offset
 * of the last commit, and the low half of the chain hash after it, such as
 * `9f3c00d1a2b4c5d6.1234.b942ae01`. Two equal texts name the same rows.
 */
export function positionText({ epoch, offset, chainLow }: PositionParts): string {
  const head = `${epoch.toString(16).padStart(16, '0')}.${offset}`;
  if (chainLow === undefined) return head;
  return `${head}.${(chainLow >>> 0).toString(16).padStart(8, '0')}`;
}

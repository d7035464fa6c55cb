import type { AttachedClient, LeaderLine } from '../replication/leader-line.ts';

/** What a connection that reads this host's copy shows of its calls. */
export interface FarSurroundings {
  readonly line: LeaderLine;
  readonly client: AttachedClient;
  /** The last commit that the copy shows. */
  shownOffset(): number;
  /** Has this host find out soon whether commits up to that one are acknowledged. */
  readonly reach: (offset: number) => void;
  /**
   * The term of the last leader whose commits the copy shows whole: those of earlier terms that it
   * does not show will never come. `undefined`: this host does not follow.
   */
  shownTerm(): number | undefined;
  /** Whether a reducer returns a value to its callers. */
  returnsValue(reducer: string): boolean;
}

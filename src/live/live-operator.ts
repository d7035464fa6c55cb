import type { TableSpec } from '../schema/catalog.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { LiveFragment, LiveFrame } from './fragment.ts';
import type { Keep, Reread, WholeRead } from './kept-stages.ts';
import type { RowChanges } from './live-update.ts';
import type { RowSet } from './row-set.ts';
import type { FragmentHits, SourceKey } from './source-changes.ts';

/** Reads a whole table, because no index finds its rows: counted and bounded. Can throw. */
export type Scan = (table: TableSpec, read: () => void) => void;

/** What an operator can read besides the changes. */
export interface OperatorSurroundings {
  readonly frame: LiveFrame;
  /** The rows of tables and views after the commit, as the query's caller sees them. */
  readonly tables: () => SqlTables;
  readonly scan: Scan;
  readonly reread: Reread;
}

/** Computes the changes that commits make to one query. */
export interface LiveOperator {
  /** The watch index finds these by the rows that they ask for. */
  readonly fragments: readonly LiveFragment[];
  /** Any change of these sources concerns the query. */
  readonly sources: readonly SourceKey[];
  /** Approximate memory at this moment. */
  readonly bytes: number;
  /** Reads the rows as they are, before the first commit. Throws `SqlFailure`. */
  open(whole: WholeRead, keep: Keep): void;
  /** One for each changed fragment. Throws `SqlFailure`, and is unusable afterwards. */
  changes(
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    around: OperatorSurroundings,
  ): readonly RowChanges[];
  /** The current answer, in memory of its own; `undefined` if none is kept. */
  rows(): RowSet | undefined;
}

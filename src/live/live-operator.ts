import type { TableSpec } from '../schema/catalog.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { LiveFragment, LiveFrame } from './fragment.ts';
import type { Reread, WholeRead } from './kept-stages.ts';
import type { RowChanges } from './live-update.ts';
import type { RowSet } from './row-set.ts';
import type { SourceKey } from './source-changes.ts';
import type { FragmentHits } from './watch-index.ts';

/** What an operator may look at beside what changed. */
export interface OperatorSurroundings {
  readonly frame: LiveFrame;
  /** The rows of tables and views after the commit, as the query's caller sees them. */
  readonly tables: () => SqlTables;
  /** A table is about to be read as a whole, because no index finds its rows. May throw. */
  readonly onScan: (table: TableSpec) => void;
  readonly reread: Reread;
}

/** Works out what commits change for one query. */
export interface LiveOperator {
  /** By what it asks for they are found in the watch index. */
  readonly fragments: readonly LiveFragment[];
  /** Any change of these concerns it. */
  readonly sources: readonly SourceKey[];
  /** Memory, about, at this moment. */
  readonly bytes: number;
  /** Takes in the rows as they are, before the first commit. Throws `SqlFailure`. */
  open(whole: WholeRead): void;
  /** One for each fragment of the answer that changed. Throws `SqlFailure`, and is useless then. */
  changes(
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    around: OperatorSurroundings,
  ): readonly RowChanges[];
  /** The answer as it is now, in memory of its own; `undefined`: it keeps none. */
  rows(): RowSet | undefined;
}

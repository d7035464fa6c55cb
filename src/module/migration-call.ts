import type { Store } from '../store/store.ts';
import type { TraceFrame } from './log-line.ts';

/**
 * What a program with migrations is asked to do. A *stretch* is a range of its migrations, by their
 * positions in its list: `first` to `last`, both included. Up, rows of the definition before
 * `first` become rows of the definition after `last`; down, the other way round.
 */
export type MigrationCall = RowsCall | WholeCall;

interface Stretch {
  readonly direction: 'up' | 'down';
  readonly first: number;
  readonly last: number;
  readonly timestampMicros: bigint;
}

/** Rows of one table, all of whose steps in the stretch look at one row at a time. */
export interface RowsCall extends Stretch {
  readonly kind: 'rows';
  /** Full canonical name in the definition at the beginning of the stretch. */
  readonly table: string;
  /** Encoded rows, one after another. */
  readonly rows: Uint8Array;
  readonly count: number;
  /** What `mapRows` reads: every old table as `old.NAME`, and nothing else. */
  readonly store: Store;
}

/** One `run`, or one `assert` with a function. */
export interface WholeCall extends Stretch {
  readonly kind: 'run' | 'assert';
  /** Position among the steps of the migration `last`. */
  readonly step: number;
  /** The tables after the stretch by their names, and those before it as `old.NAME`. */
  readonly store: Store;
}

export type MigrationOutcome =
  /** For a `RowsCall`: by full canonical name after the stretch. */
  | {
      readonly kind: 'rows';
      readonly tables: ReadonlyMap<string, MigratedRows>;
      /** Whether a function has read tables: the result holds for this moment alone. */
      readonly hasRead: boolean;
    }
  /** For a `run`, and for an assertion that holds. */
  | { readonly kind: 'done' }
  /** An assertion does not hold. */
  | { readonly kind: 'refuted' }
  /**
   * A function threw, or gave what its column cannot hold. `row`: position of the row in the call;
   * `step`: what was being done, as in `addColumn user.age`.
   */
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly step: string;
      readonly row: number | undefined;
      readonly trace: readonly TraceFrame[];
    };

export interface MigratedRows {
  /** Encoded, unchecked; in the order of the rows that they come from. */
  readonly rows: Uint8Array;
  readonly count: number;
}

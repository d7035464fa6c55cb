import type { RowShape } from '../../store/row-shape.ts';
import type { QueryValue } from '../functions/function.ts';

/**
 * Where a running statement stands: the present row of each slot, what grouping computed, and the
 * values that came with the request. One frame serves a whole statement, its subqueries included.
 */
export interface Frame {
  /** The bytes that hold the present row of each slot; `undefined`: no row, all columns null. */
  readonly pages: (Uint8Array | undefined)[];
  /** Where in `pages[slot]` the row begins. */
  readonly rows: number[];
  /** What grouping computed for the present group. */
  readonly values: QueryValue[];
  /** Encoded values of the parameters; `undefined` is null. */
  readonly parameters: readonly (Uint8Array | undefined)[];
  /** The moment of the statement, microseconds since the Unix epoch. */
  readonly nowMicros: bigint;
  /**
   * Rows that may be looked at before the clock is; work with long values counts as some rows.
   * Absent where nothing watches the time.
   */
  ticks?: number;
}

/** How the rows of one slot are laid out. */
export interface SlotLayout {
  readonly shape: RowShape;
  /**
   * Rows of a derived query: columns that may be null are encoded as an Option of their type.
   * Rows of tables have none.
   */
  readonly nullableColumns: readonly boolean[];
}

import type { RowShape } from '../../store/row-shape.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
import type { QueryValue } from '../functions/function.ts';

/**
 * The position of a running statement: the current row of each slot, the results of grouping, and
 * the values of the request. One frame serves a whole statement, including its subqueries.
 */
export interface Frame {
  /** The bytes that hold the current row of each slot; `undefined`: no row, all columns null. */
  readonly pages: (Uint8Array | undefined)[];
  /** Where in `pages[slot]` the row begins. */
  readonly rows: number[];
  /** The results of grouping for the current group. */
  readonly values: QueryValue[];
  /** Encoded values of the parameters; `undefined` is null. */
  readonly parameters: readonly (Uint8Array | undefined)[];
  /** The moment of the statement, microseconds since the Unix epoch. */
  readonly nowMicros: bigint;
  /**
   * Rows that can be looked at before the clock is read; work on long values counts as some rows.
   * Absent if the time is not limited.
   */
  ticks?: number;
}

/** The layout of the rows of one slot. */
export interface SlotLayout {
  readonly shape: RowShape;
  /**
   * Rows of a derived query: columns that may be null are encoded as an Option of their type.
   * Rows of tables have none.
   */
  readonly nullableColumns: readonly boolean[];
}

/** The value of an expression for the rows in the frame. */
export type Evaluator = (frame: Frame) => QueryValue;

/** Whether a condition is true there: neither false nor null. */
export type Test = (frame: Frame) => boolean;

/** Appends a key to the writer; false, with part of it written, if a value is null. */
export type KeyWriter = (frame: Frame, writer: BinaryWriter) => boolean;

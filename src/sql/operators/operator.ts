import type { RowSink } from '../expressions/row-sink.ts';

/** The outcome of asking for the next row. */
export type Step = typeof ended | typeof rowReady | typeof paused;

export const ended = 0;
export const rowReady = 1;
/** The slice of time is over: the next call continues where it stopped. */
export const paused = 2;

/**
 * A step of a running plan. `open` starts it, again if need be, for the rows that the slots outside
 * of it hold at that moment. After `ended` it must be opened before the next call.
 */
export interface Operator {
  open(): void;
  next(): Step;
}

/** Fills slots of the frame: `rowReady` means that they hold the next tuple. */
export type Tuples = Operator;

/** Returns encoded rows. */
export interface Rows extends Operator {
  /** Appends the current row. */
  write(into: RowSink): void;
}

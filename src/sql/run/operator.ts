import type { RowSink } from './compile-output.ts';

/** What asking for the next row came to. */
export type Step = typeof ended | typeof rowReady | typeof paused;

export const ended = 0;
export const rowReady = 1;
/** The slice of time is over: ask again, and it goes on where it stopped. */
export const paused = 2;

/**
 * A step of a running plan. `open` starts it, again and again if need be, for the rows that the
 * slots outside of it hold at that moment. After `ended` it is not asked again until it is opened.
 */
export interface Operator {
  open(): void;
  next(): Step;
}

/** Fills slots of the frame: `rowReady` means that they hold the next tuple. */
export type Tuples = Operator;

/** Gives encoded rows. */
export interface Rows extends Operator {
  /** Appends the present row. */
  write(into: RowSink): void;
}

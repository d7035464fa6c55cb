import type { RowOrder, RowResult } from './row-work.ts';

export interface RowThreadStart {
  /** From where niceness counts; see `baseNiceness`. */
  readonly niceness: number;
}

/** To the thread of rows. */
export interface ToRowThread {
  /** Numbers the messages; the answer has the same. */
  readonly number: number;
  readonly stream: number;
  readonly order: RowOrder;
}

/** From the thread of rows, in the order of the messages. */
export type FromRowThread =
  | { readonly number: number; readonly result: RowResult }
  /** `message` is for the one who asked. */
  | { readonly number: number; readonly message: string };

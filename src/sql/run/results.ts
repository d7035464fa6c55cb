/** What a statement returns, and what collects it. */
import type { NamedType, Typespace } from '../../values/type.ts';
import type { RowSink } from '../expressions/row-sink.ts';

export interface ReadResult {
  readonly columns: readonly NamedType[];
  /** The types that refs in `columns` index; only recursive types have any. */
  readonly types: Typespace;
  /** Encoded rows, one after another, each the product of `columns`. */
  readonly rows: Uint8Array;
  readonly rowCount: number;
}

/** How many rows a write touched, and the rows that it returns. */
export interface WriteOutcome {
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
  /** The rows of RETURNING. */
  readonly returned: ReadResult | undefined;
}

/** Receives the rows of a read. */
export interface ResultCollector extends RowSink {
  readonly rowCount: number;
  /** Ends a row: the bytes appended since the last call. Throws `SqlFailure` at the limits. */
  endRow(): void;
  /** All rows, one after another, in a buffer of exactly their size. */
  finish(): Uint8Array;
}

import type { AlgebraicType, Typespace } from '../values/type.ts';

/** How rows are written down. */
export type RowFormat = (typeof rowFormats)[number];

export const rowFormats = ['ndjson', 'csv'] as const;

/** A table whose rows are read or written as text. */
export interface RowTable {
  /** Canonical name. */
  readonly name: string;
  readonly columns: readonly RowColumn[];
  /** What refs in the types of columns index. */
  readonly types: Typespace;
}

export interface RowColumn {
  /** Canonical name, which is written. */
  readonly name: string;
  /** The module's own spelling, which is read as well. */
  readonly sourceName: string;
  readonly type: AlgebraicType;
  /** Encoded value of a column that a text leaves out; absent: it must not be left out. */
  readonly filler?: Uint8Array | undefined;
  /** True of a column that takes its value from a sequence when it is zero. */
  readonly isSequence: boolean;
}

/** A row that cannot be read; `column` is `null` if the fault is not that of one column. */
export interface RowFault {
  readonly column: string | null;
  readonly message: string;
}

/** A row that cannot be read, and where it is. */
export interface PlacedFault extends RowFault {
  /** Of the file, counted from 1; `null` where rows have no lines. */
  readonly line: number | null;
  /** The row as it was written, cut to `limits.importShownBytes`. */
  readonly row: string;
}

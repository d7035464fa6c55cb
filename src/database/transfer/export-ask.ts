import type { NamedType, Typespace } from '../../values/type.ts';

/** What an export asks of a database, one step after another. */
export type ExportAsk =
  /** Keeps the rows of the tables as they are now. */
  | {
      readonly kind: 'begin';
      /** Names; absent: all that the caller can read. */
      readonly tables: readonly string[] | undefined;
    }
  /** Asks for the next rows. */
  | { readonly kind: 'read'; readonly id: number }
  /** Nobody wants the rest. */
  | { readonly kind: 'end'; readonly id: number };

export type ExportOutcome =
  | {
      readonly kind: 'begun';
      readonly id: number;
      /** The commit whose rows these are. */
      readonly position: string;
      readonly programHash: string;
      /** In the order in which their rows come. */
      readonly tables: readonly ExportedTable[];
      /** What refs in the types of columns index. */
      readonly types: Typespace;
    }
  | {
      readonly kind: 'rows';
      /** Position among the tables. */
      readonly table: number;
      /** Encoded, one after another; there may be none for the moment. */
      readonly rows: Uint8Array;
      readonly count: number;
      /** True with the last rows of the last table: the export has ended. */
      readonly isLast: boolean;
    }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: ExportError };

export interface ExportedTable {
  readonly name: string;
  readonly columns: readonly NamedType[];
}

export interface ExportError {
  readonly code:
    | 'export.noTable'
    /** The name is that of something that has no rows of its own. */
    | 'export.noRows'
    | 'export.tooMany'
    /** The rows could not be kept, or its program was updated. */
    | 'export.stopped'
    | 'export.limited';
  readonly message: string;
}

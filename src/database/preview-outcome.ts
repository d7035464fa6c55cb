import type { ModuleLogLine } from '../module/log-line.ts';
import type { RowList } from '../store/change-set.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { NamedType, Typespace } from '../values/type.ts';
import type { CallError, CallRequest, Rights, SqlError, SqlRequest, SqlRows } from './outcome.ts';

/**
 * Asks what a call, or a statement that writes, would do. It runs as it normally would, is
 * reported, and is then rolled back entirely.
 */
export interface PreviewRequest {
  /** A request applied later must be identical, including the id of its connection. */
  readonly work: PreviewedWork;
  /**
   * Taken from the preview to be applied: the work runs again with the same randomness and
   * timestamp, and commits if it has the same result.
   */
  readonly apply?: PreviewKey;
  /** Maximum rows of changes shown, over all tables; absent: as many as fit. */
  readonly rowsMax?: number;
  /**
   * The rights by which changes are shown, where the caller of the work is somebody else than who
   * looks at it; absent: those of its caller.
   */
  readonly shownTo?: Rights;
}

export type PreviewedWork =
  | { readonly kind: 'call'; readonly call: CallRequest }
  | {
      readonly kind: 'query';
      readonly query: SqlRequest;
      /** The text may have several statements that write, which are one transaction. */
      readonly isScript?: true;
    };

/** The request as it would run on its own: its caller and its connection. */
export function askingOf(work: PreviewedWork): CallRequest | SqlRequest {
  return work.kind === 'call' ? work.call : work.query;
}

/** Identifies one exact preview for a later apply. Plain values, for the caller to keep. */
export interface PreviewKey {
  /** The source of the program's randomness. 64 bytes. */
  readonly entropy: Uint8Array;
  /** Its timestamp, in microseconds since the Unix epoch. */
  readonly timestampMicros: bigint;
  /** Hash of its whole result, except its log lines. */
  readonly digest: Uint8Array;
}

export type PreviewOutcome =
  /** Nothing was changed. */
  | { readonly kind: 'previewed'; readonly preview: Preview; readonly micros: number }
  /** It was applied, exactly as previewed, with this commit. */
  | {
      readonly kind: 'applied';
      readonly preview: Preview;
      readonly offset: CommitOffset;
      readonly micros: number;
    }
  /** The result would now differ; this is the new preview. Nothing was changed. */
  | { readonly kind: 'differs'; readonly preview: Preview; readonly micros: number }
  /** Ended from outside, for time or memory; the text names the limit. Nothing was changed. */
  | { readonly kind: 'overBudget'; readonly message: string; readonly micros: number }
  /** The caller may not preview, or may not apply. Nothing ran. */
  | { readonly kind: 'refused'; readonly message: string; readonly micros: number };

export interface Preview {
  /** How it would end. */
  readonly result: PreviewResult;
  /** Its net changes to tables that the caller may read, by ascending name. */
  readonly changes: readonly PreviewedTable[];
  /** False if it would also change rows that the caller may not read. */
  readonly isComplete: boolean;
  /** The lines the program would have logged. */
  readonly lines: readonly ModuleLogLine[];
  /** Lines beyond those in `lines`. */
  readonly droppedLines: number;
  /** The commit against whose rows it ran. */
  readonly offset: CommitOffset;
  readonly key: PreviewKey;
}

export type PreviewResult =
  /** `value` is encoded by the type that the reducer declares; absent if it returns nothing. */
  | { readonly kind: 'returned'; readonly value?: Uint8Array }
  | { readonly kind: 'callFailed'; readonly error: CallError }
  /** The result of a statement; the rows are those of RETURNING. */
  | ({ readonly kind: 'wrote' } & SqlRows)
  | { readonly kind: 'queryFailed'; readonly error: SqlError };

export interface PreviewedTable {
  /** Canonical name. */
  readonly table: string;
  /** Its rows are products of these. */
  readonly columns: readonly NamedType[];
  /** The typespace that refs in column types index. */
  readonly types: Typespace;
  /** Position of the column that pairs an inserted row with the deleted row it replaces, if any. */
  readonly primaryKey: number | undefined;
  /** Rows are sent to subscribers and not stored. */
  readonly isEvent: boolean;
  /** Always exact. */
  readonly insertCount: number;
  readonly deleteCount: number;
  /** How many of both are pairs with the same primary key. Always exact. */
  readonly updateCount: number;
  /** The first rows, up to the limit. */
  readonly inserts: RowList;
  readonly deletes: RowList;
}

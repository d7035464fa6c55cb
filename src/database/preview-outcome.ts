import type { ModuleLogLine } from '../module/log-line.ts';
import type { RowList } from '../store/change-set.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { NamedType, Typespace } from '../values/type.ts';
import type { CallError, CallRequest, SqlError, SqlRequest, SqlRows } from './outcome.ts';

/**
 * Asks what a call, or a statement that writes, would do. It runs as it would run otherwise, is
 * told about, and then all of it is taken back.
 */
export interface PreviewRequest {
  /** A request that is applied later is to be the same one, its connection's id included. */
  readonly work: PreviewedWork;
  /**
   * From the preview that is to happen now: it is run again from the same randomness and moment,
   * and committed if it comes to the same.
   */
  readonly apply?: PreviewKey;
  /** Most rows of changes that are shown, of all tables together; absent: as many as fit. */
  readonly rowsMax?: number;
}

export type PreviewedWork =
  | { readonly kind: 'call'; readonly call: CallRequest }
  | { readonly kind: 'query'; readonly query: SqlRequest };

/** The request as it would run by itself: who asks, and by which connection. */
export function askingOf(work: PreviewedWork): CallRequest | SqlRequest {
  return work.kind === 'call' ? work.call : work.query;
}

/** What makes it possible to say later: exactly this. Plain values, for the asker to keep. */
export interface PreviewKey {
  /** What the program drew its randomness from. 64 bytes. */
  readonly entropy: Uint8Array;
  /** Its moment, in microseconds since the Unix epoch. */
  readonly timestampMicros: bigint;
  /** Hash of all that it came to, but for its log lines. */
  readonly digest: Uint8Array;
}

export type PreviewOutcome =
  /** Nothing has happened. */
  | { readonly kind: 'previewed'; readonly preview: Preview; readonly micros: number }
  /** It was applied, exactly as previewed, with this commit. */
  | {
      readonly kind: 'applied';
      readonly preview: Preview;
      readonly offset: CommitOffset;
      readonly micros: number;
    }
  /** It would come to something else by now, namely this. Nothing has happened. */
  | { readonly kind: 'differs'; readonly preview: Preview; readonly micros: number }
  /** It was ended from outside: time or memory. The text names the limit. Nothing has happened. */
  | { readonly kind: 'overBudget'; readonly message: string; readonly micros: number }
  /** The caller may not preview, or may not apply. Nothing ran. */
  | { readonly kind: 'refused'; readonly message: string; readonly micros: number };

export interface Preview {
  /** How it would end. */
  readonly result: PreviewResult;
  /** What it would change in tables that the caller may read, by ascending name; net. */
  readonly changes: readonly PreviewedTable[];
  /** False: it would change rows that the caller may not read, too. */
  readonly isComplete: boolean;
  /** What the program would have logged. */
  readonly lines: readonly ModuleLogLine[];
  /** Lines beyond those. */
  readonly droppedLines: number;
  /** The commit upon whose rows it ran. */
  readonly offset: CommitOffset;
  readonly key: PreviewKey;
}

export type PreviewResult =
  /** `value`: encoded by the type that the reducer declares; absent: it returns nothing. */
  | { readonly kind: 'returned'; readonly value?: Uint8Array }
  | { readonly kind: 'callFailed'; readonly error: CallError }
  /** Of a statement; the rows are those of RETURNING. */
  | ({ readonly kind: 'wrote' } & SqlRows)
  | { readonly kind: 'queryFailed'; readonly error: SqlError };

export interface PreviewedTable {
  /** Canonical. */
  readonly table: string;
  /** Its rows are products of these. */
  readonly columns: readonly NamedType[];
  /** What refs in the types of columns index. */
  readonly types: Typespace;
  /** Position of the column by which an inserted row takes the place of a deleted one, if any. */
  readonly primaryKey: number | undefined;
  /** Rows are told to subscribers and not kept. */
  readonly isEvent: boolean;
  /** Always exact. */
  readonly insertCount: number;
  readonly deleteCount: number;
  /** The first of them, as many as are shown. */
  readonly inserts: RowList;
  readonly deletes: RowList;
}

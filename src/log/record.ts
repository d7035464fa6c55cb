import type { TableId } from '../schema/ids.ts';
import type { ChangeSet, SequenceMark, TableChange } from '../store/change-set.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';

/**
 * One record, as it lies in a segment. Little-endian, a multiple of 8 bytes, at a file position
 * that is a multiple of 8.
 *
 * ```
 *  0  u32  bytes of the payload, without padding
 *  4  u32  CRC-32C of the whole record with this field zero; start value: the log's salt
 *  8  u56  offset: of this commit; for a record that is not a commit, of the last commit before it
 * 15  u8   kind (`recordKinds`)
 * 16  u64  log position up to which everything was durable when this record was made
 * 24  u64  chain hash of the record before; in the very first record, of the log's birth
 * 32  …    payload, padded with zeros
 * ```
 *
 * The *log position* counts the bytes of records since the log's birth, across segments, headers
 * and slack not included. Field 16 is the evidence that recovery uses: everything that ends before
 * it was durable once, so it can be missing only through damage, never through a crash.
 */
export const recordHeaderBytes = 32;

export const recordKinds = {
  /** Row changes of one transaction. */
  commit: 1,
  /** A new program and schema, with the row changes of the same transaction. */
  schema: 2,
  /** Sequence high-water marks alone. */
  marks: 3,
  /** No payload: a clean stop; says that everything before it is durable. */
  stop: 4,
  /** Rows of tables that a migration rewrites; they count only if its record names them. */
  staged: 5,
  /** A schema change that rewrites or drops tables with rows. */
  migration: 6,
} as const;

/** True for a record that takes an offset. */
export function isCommitKind(kind: number): boolean {
  return (
    kind === recordKinds.commit || kind === recordKinds.schema || kind === recordKinds.migration
  );
}

/** Bytes that a payload of `payloadBytes` takes in the segment. */
export function recordBytes(payloadBytes: number): number {
  return (recordHeaderBytes + payloadBytes + 7) & ~7;
}

/** A commit without a change, a name, a seed or an argument: none is smaller. */
export const commitBytesMin = recordBytes(61);

/** The request, kept for people and for running the call again; replay does not use it. */
export interface CommitInputs {
  /** Canonical name; empty if the change came from SQL (`args` is the statement) or the host. */
  readonly reducer: string;
  readonly caller: CallerIdentity;
  /** 0n if there is none. */
  readonly connectionId: ConnectionNumber;
  readonly timestampMicros: bigint;
  /** Entropy of the call, at most 255 bytes; empty if there is none. */
  readonly seed: Uint8Array;
  readonly args: Uint8Array;
}

/** A new program. `catalog` and `definition` are in the encodings of the schema room. */
export interface SchemaChange {
  readonly catalog: Uint8Array;
  readonly definition: Uint8Array;
  readonly programKind: 'js' | 'wasm';
  readonly program: Uint8Array;
  /** Values that existing rows get in columns added by this change. */
  readonly defaults: readonly ColumnDefault[];
}

export interface ColumnDefault {
  readonly tableId: TableId;
  /** Position of the column in the new table. */
  readonly column: number;
  /** Encoded value. */
  readonly value: Uint8Array;
}

/** A migration: what becomes of tables whose rows a plain schema change would keep. */
export interface MigratedTables {
  /** The log position before the first staged record; 0 if there is none. */
  readonly run: number;
  /** All rows of these tables are dropped; staged ones, or those of the changes, replace them. */
  readonly tables: readonly { readonly tableId: TableId; readonly isStaged: boolean }[];
}

/** Rows of a migration that is under way, in the tables that it leads to. */
export interface StagedRows {
  /** The log position before the first record of the run, which all of them name. */
  readonly run: number;
  /** In the first record: the catalog that it leads to, encoded. */
  readonly catalog: Uint8Array | undefined;
  readonly tables: readonly TableChange[];
}

/**
 * A record as recovery hands it over. Byte arrays are views of the reader's buffer: valid during
 * the call only. `inputs` is for `decodeInputs`.
 */
export type LogRecord =
  | { readonly kind: 'commit'; readonly changes: ChangeSet; readonly inputs: Uint8Array }
  | {
      readonly kind: 'schema';
      readonly offset: CommitOffset;
      readonly schema: SchemaChange;
      /** Absent in a plain schema change. */
      readonly migration: MigratedTables | undefined;
      /** Row changes made after the schema change in the same transaction, such as `init`'s. */
      readonly changes: ChangeSet | undefined;
      readonly inputs: Uint8Array;
    }
  | { readonly kind: 'marks'; readonly sequences: readonly SequenceMark[] }
  | { readonly kind: 'staged'; readonly staged: StagedRows };

/** A record of a commit, which has inputs. */
export type CommitRecord = Extract<LogRecord, { readonly inputs: Uint8Array }>;

/** Of a program that is published. */
export type SchemaRecord = Extract<LogRecord, { readonly kind: 'schema' }>;

/** True for a record that takes an offset, and has inputs. */
export function isCommitRecord(record: LogRecord): record is CommitRecord {
  return 'inputs' in record;
}

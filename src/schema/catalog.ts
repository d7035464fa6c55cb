import type { AlgebraicType } from '../values/type.ts';
import type { DerivedIndexDefinition, IndexAlgorithm } from './definition.ts';
import type { IndexId, TableId, ViewId } from './ids.ts';

/**
 * The physical schema of one database: the store is built from it, and the log records its changes.
 * Unlike a definition it has ids, it includes the system tables, and its column types hold no refs
 * except inside a recursive type, where they index `types`.
 */
export interface Catalog {
  readonly tables: readonly TableSpec[];
  /** Views have no stored rows; the catalog records the ids of their names. */
  readonly views: readonly ViewSpec[];
  /** Typespace that refs in column types index. */
  readonly types: readonly AlgebraicType[];
  /** The id the next new table, view, index, sequence or constraint gets. */
  readonly nextId: number;
}

export interface TableSpec {
  readonly id: TableId;
  readonly name: string;
  /** The module's spelling; equal to `name` for system tables. */
  readonly sourceName: string;
  /** `view`: a view as statements see it; never used in a catalog's tables. */
  readonly kind: 'system' | 'user' | 'view';
  readonly access: 'public' | 'private';
  readonly isEvent: boolean;
  readonly columns: readonly ColumnSpec[];
  readonly primaryKey: number | undefined;
  readonly indexes: readonly IndexSpec[];
  readonly constraints: readonly ConstraintSpec[];
  readonly sequences: readonly SequenceSpec[];
  readonly derivedIndexes: readonly DerivedIndexSpec[];
}

/** A view: the columns of its rows, and the index on its key. */
export interface ViewSpec {
  readonly id: ViewId;
  readonly name: string;
  readonly sourceName: string;
  readonly access: 'public' | 'private';
  /** False if every caller has rows of their own. */
  readonly isAnonymous: boolean;
  readonly columns: readonly ColumnSpec[];
  readonly primaryKey: number | undefined;
  /** One unique index on the primary key, or none. */
  readonly indexes: readonly IndexSpec[];
  readonly constraints: readonly ConstraintSpec[];
}

export interface ColumnSpec {
  readonly name: string;
  readonly sourceName: string;
  readonly type: AlgebraicType;
  /** Its values, or those that are there, are vectors of so many `F32`. */
  readonly vectorLength?: number;
}

export interface IndexSpec {
  readonly id: IndexId;
  readonly name: string;
  readonly sourceName: string;
  readonly algorithm: IndexAlgorithm;
  readonly columns: readonly number[];
  readonly isUnique: boolean;
}

/** A derived index; it shares the ids of indexes. */
export interface DerivedIndexSpec extends DerivedIndexDefinition {
  readonly id: IndexId;
}

export interface ConstraintSpec {
  readonly id: number;
  readonly name: string;
  readonly columns: readonly number[];
}

export interface SequenceSpec {
  readonly id: number;
  readonly name: string;
  readonly column: number;
  /** First value handed out. */
  readonly start: bigint;
  readonly minValue: bigint;
  readonly maxValue: bigint;
  readonly increment: bigint;
}

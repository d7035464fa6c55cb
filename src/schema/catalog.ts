import type { AlgebraicType } from '../values/type.ts';
import type { IndexAlgorithm } from './definition.ts';

/**
 * The physical schema of one database: what the store is built from and what the log records when
 * it changes. Unlike a definition it has ids, it includes the system tables, and its column types
 * hold no refs except inside a recursive type, where they index `types`.
 */
export interface Catalog {
  readonly tables: readonly TableSpec[];
  /** Typespace that refs in column types index. */
  readonly types: readonly AlgebraicType[];
  /** The id the next new table, index, sequence or constraint gets. */
  readonly nextId: number;
}

export interface TableSpec {
  readonly id: number;
  readonly name: string;
  /** The module's spelling; equal to `name` for system tables. */
  readonly sourceName: string;
  readonly kind: 'system' | 'user';
  readonly access: 'public' | 'private';
  readonly isEvent: boolean;
  readonly columns: readonly ColumnSpec[];
  readonly primaryKey: number | undefined;
  readonly indexes: readonly IndexSpec[];
  readonly constraints: readonly ConstraintSpec[];
  readonly sequences: readonly SequenceSpec[];
}

export interface ColumnSpec {
  readonly name: string;
  readonly sourceName: string;
  readonly type: AlgebraicType;
}

export interface IndexSpec {
  readonly id: number;
  readonly name: string;
  readonly sourceName: string;
  readonly algorithm: IndexAlgorithm;
  readonly columns: readonly number[];
  readonly isUnique: boolean;
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

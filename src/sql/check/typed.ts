import type { ColumnSpec, TableSpec } from '../../schema/catalog.ts';
import type { AlgebraicType, NamedType } from '../../values/type.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';

/**
 * Statements after the check: every name is a position, every literal an encoded value of a known
 * type. Nothing in here can fail for a reason of names, types or rights any more.
 */
export type TypedStatement = TypedSelect | TypedInsert | TypedUpdate | TypedDelete;

export interface TypedSelect {
  readonly kind: 'select';
  readonly relations: readonly TypedRelation[];
  /**
   * Conditions of the joins, `relations[at + 1]` with an earlier one; absent for a cross product.
   */
  readonly joins: readonly (TypedExpression | undefined)[];
  readonly where: TypedExpression | undefined;
  readonly output: Output;
  /** Result columns: names as the caller gets them. */
  readonly columns: readonly NamedType[];
  readonly limit: bigint | undefined;
}

export interface TypedRelation {
  /** By what the statement refers to it. */
  readonly name: string;
  readonly table: TableSpec;
}

export type Output =
  /** All columns of one relation. */
  | { readonly kind: 'row'; readonly relation: number }
  | { readonly kind: 'columns'; readonly columns: readonly ColumnPosition[] }
  | { readonly kind: 'count' };

export interface ColumnPosition {
  readonly relation: number;
  readonly column: number;
}

export interface TypedInsert {
  readonly kind: 'insert';
  readonly table: TableSpec;
  /** Encoded rows of the table. */
  readonly rows: readonly Uint8Array[];
}

export interface TypedUpdate {
  readonly kind: 'update';
  readonly table: TableSpec;
  /** At most one for each column. */
  readonly assignments: readonly { readonly column: number; readonly bytes: Uint8Array }[];
  readonly where: TypedExpression | undefined;
}

export interface TypedDelete {
  readonly kind: 'delete';
  readonly table: TableSpec;
  readonly where: TypedExpression | undefined;
}

export type TypedExpression =
  | TypedColumn
  | TypedConstant
  | TypedComparison
  | TypedChain
  | { readonly kind: 'not'; readonly operand: TypedExpression };

export interface TypedColumn extends ColumnPosition {
  readonly kind: 'column';
  readonly spec: ColumnSpec;
}

export interface TypedConstant {
  readonly kind: 'constant';
  readonly type: AlgebraicType;
  readonly bytes: Uint8Array;
}

/** Both operands have one type. */
export interface TypedComparison {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly type: AlgebraicType;
  readonly left: TypedExpression;
  readonly right: TypedExpression;
}

export interface TypedChain {
  readonly kind: 'and' | 'or';
  readonly terms: readonly TypedExpression[];
}

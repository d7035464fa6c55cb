import type { IndexSpec, TableSpec } from '../../schema/catalog.ts';
import type { ViewId } from '../../schema/ids.ts';
import type { AlgebraicType, NamedType } from '../../values/type.ts';
import type { AggregateFunction, ScalarFunction } from '../functions/function.ts';
import type { ValueType } from '../functions/value-type.ts';
import type { WindowFrame, WindowFunction } from '../functions/windows.ts';
import type { StatementCaller } from '../rights.ts';
import type { ArithmeticOperator, ComparisonOperator } from '../syntax/ast.ts';

/**
 * Statements after the check: every name is a position, every literal an encoded value of a known
 * type, every filter of row-level security is in its place. Nothing in here can still fail for a
 * reason of names, types or rights.
 *
 * *Slots* number the relations of a statement, including those of all its subqueries, each once: a
 * correlated subquery reads an outer relation by its slot. *Values* number the results of grouping
 * in the same way.
 */
export type TypedStatement = TypedRead | TypedWrite | TypedExplain;
export type TypedWrite = TypedInsert | TypedUpdate | TypedDelete;

export interface TypedRead extends StatementParts {
  readonly kind: 'read';
  readonly query: TypedQuery;
}

export interface TypedExplain extends StatementParts {
  readonly kind: 'explain';
  readonly isAnalyze: boolean;
  /** The caller, who has no role, that it is checked and planned for instead of the present one. */
  readonly as: StatementCaller | undefined;
  /** The text of the query, if it is to be shown how it would be watched. */
  readonly live: string | undefined;
  readonly statement: TypedRead | TypedWrite;
}

/** Parts that belong to a statement as a whole. */
export interface StatementParts {
  readonly slotCount: number;
  readonly valueCount: number;
  /** The parameters that a `parameter` expression indexes, including the caller's identity. */
  readonly parameters: readonly ParameterSpec[];
  /** Ids of the views whose rows it reads. */
  readonly views: readonly ViewId[];
}

export interface ParameterSpec {
  /** The name after `$` or `:`; `undefined` is the caller's identity (`:sender`). */
  readonly name: string | undefined;
  readonly type: AlgebraicType;
  /** Null is meaningless in its place: it is stored in a column, or limits the rows. */
  readonly refusesNull: boolean;
}

/** Rows as an answer has them. A nullable column is encoded as an Option of its type. */
export interface OutputColumn extends ValueType {
  readonly name: string;
}

export interface TypedQuery {
  readonly body: TypedBody;
  readonly order: readonly OrderKey[];
  readonly limit: TypedExpression | undefined;
  readonly offset: TypedExpression | undefined;
  readonly columns: readonly OutputColumn[];
  /** Slots of outer queries that it reads; empty: it is evaluated once for the whole statement. */
  readonly outerSlots: readonly number[];
}

type TypedBody =
  | TypedBlock
  | TypedSetOperation
  | TypedWindowing
  | TypedRecursion
  | TypedWorking
  | TypedElements;

export interface OrderKey {
  /** `output`: a column of the answer; the only kind after a set operation or DISTINCT. */
  readonly key:
    | { readonly kind: 'output'; readonly column: number }
    | { readonly kind: 'expression'; readonly expression: TypedExpression };
  readonly isDescending: boolean;
  readonly isNullsFirst: boolean;
}

/** Both sides have the columns of the whole, type by type; only nullability may differ. */
export interface TypedSetOperation {
  readonly kind: 'setOperation';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: TypedQuery;
  readonly right: TypedQuery;
}

/**
 * The rows of `base`, then those of `step` again and again, until it makes no more. No row fills
 * `slot`: what needs it depends on the rows of the step before.
 */
export interface TypedRecursion {
  readonly kind: 'recursive';
  readonly slot: number;
  readonly base: TypedQuery;
  readonly step: TypedQuery;
  /** False: rows that were there before are left out. */
  readonly isAll: boolean;
}

/** The rows that the step before this one has made. */
export interface TypedWorking {
  readonly kind: 'working';
  readonly slot: number;
}

/**
 * A row for each element of an array; none if it is null. The array may need relations of the block
 * that this is a relation of: it is evaluated again for their rows.
 */
export interface TypedElements {
  readonly kind: 'elements';
  readonly array: TypedExpression;
  /** A second column has the position, counted from 1. */
  readonly hasOrdinality: boolean;
}

/** Window functions over the rows of a block: its columns, then one for each call. */
export interface TypedWindowing {
  readonly kind: 'window';
  readonly input: TypedQuery;
  readonly calls: readonly TypedWindowCall[];
}

/** Numbers are positions of columns of the input. */
export interface TypedWindowCall extends ValueType {
  readonly function: WindowFunction;
  readonly arguments: readonly number[];
  readonly partition: readonly number[];
  readonly order: readonly {
    readonly column: number;
    readonly isDescending: boolean;
    readonly isNullsFirst: boolean;
  }[];
  readonly frame: WindowFrame;
}

/** FROM, WHERE, GROUP BY, HAVING, the SELECT list and DISTINCT, in this order. */
export interface TypedBlock {
  readonly kind: 'block';
  /** Empty: one row without columns (a SELECT without FROM inside a subquery). */
  readonly relations: readonly TypedRelation[];
  /** `joins[at]` joins `relations[at + 1]` with all before it. */
  readonly joins: readonly TypedJoin[];
  readonly where: TypedExpression | undefined;
  readonly grouping: TypedGrouping | undefined;
  readonly having: TypedExpression | undefined;
  readonly items: readonly TypedExpression[];
  readonly isDistinct: boolean;
}

export interface TypedRelation {
  readonly slot: number;
  /** By what the statement refers to it. */
  readonly name: string;
  readonly source: RelationSource;
  /**
   * Row-level security: hides rows before any expression of the caller can see them. No expression
   * of the caller that can raise an error may be evaluated on a row that it refuses.
   */
  readonly security: TypedExpression | undefined;
  /** The null side of a left join. */
  readonly isNullable: boolean;
}

export type RelationSource =
  /** A stored table, a computed system table, or the caller's instance of a view. */
  | { readonly kind: 'table'; readonly table: TableSpec }
  /**
   * `isBarrier`: it stands for a table with filters of row-level security, so the rule of
   * `TypedRelation.security` applies to everything outside of it. `commonTable`: relations with the
   * same number are the same common table, computed once.
   */
  | {
      readonly kind: 'query';
      readonly query: TypedQuery;
      readonly isBarrier: boolean;
      /** The table that it stands for. */
      readonly secured?: TableSpec;
      readonly commonTable: number | undefined;
    };

export interface TypedJoin {
  readonly kind: 'inner' | 'left';
  /** Absent: a cross product. */
  readonly condition: TypedExpression | undefined;
}

/** One row for each group of equal keys; without keys one row, however many rows are grouped. */
export interface TypedGrouping {
  readonly keys: readonly TypedExpression[];
  readonly aggregates: readonly TypedAggregate[];
  /** `value` of the first key; the others follow, then the aggregates. */
  readonly firstValue: number;
}

export interface TypedAggregate extends ValueType {
  readonly function: AggregateFunction;
  /** Absent: `COUNT(*)`. */
  readonly argument: TypedExpression | undefined;
  readonly isDistinct: boolean;
}

export interface TypedInsert extends StatementParts {
  readonly kind: 'insert';
  readonly table: TableSpec;
  readonly source: /** Expressions in the order of the table's columns. */
    | { readonly kind: 'values'; readonly rows: readonly (readonly TypedExpression[])[] }
    /** `columns[at]` fills column `at` of the table: an output column, or its default. */
    | {
        readonly kind: 'query';
        readonly query: TypedQuery;
        readonly columns: readonly (number | TypedConstant)[];
      };
  readonly conflict: TypedConflict | undefined;
  readonly returning: TypedReturning | undefined;
}

/** What becomes of a row whose key in one of `indexes`, which are unique, a row has already. */
export interface TypedConflict {
  readonly indexes: readonly IndexSpec[];
  /** Absent: it is left out. */
  readonly update:
    | {
        /** Slots of the row that is there, and of the one that is not inserted. */
        readonly slot: number;
        readonly excludedSlot: number;
        readonly assignments: readonly TypedAssignment[];
        readonly where: TypedExpression | undefined;
      }
    | undefined;
}

export interface TypedAssignment {
  readonly column: number;
  readonly value: TypedExpression;
}

/** Relations that a write reads beside the table that it changes. */
export interface TypedBeside {
  readonly relations: readonly TypedRelation[];
  /** `joins[at]` joins `relations[at + 1]` with those before it. */
  readonly joins: readonly TypedJoin[];
}

export interface TypedUpdate extends StatementParts {
  readonly kind: 'update';
  /** Its slot holds the old row for assignments, the new one for RETURNING. */
  readonly relation: TypedRelation;
  readonly table: TableSpec;
  /** At most one for each column. */
  readonly assignments: readonly TypedAssignment[];
  readonly beside: TypedBeside | undefined;
  readonly where: TypedExpression | undefined;
  readonly returning: TypedReturning | undefined;
}

export interface TypedDelete extends StatementParts {
  readonly kind: 'delete';
  readonly relation: TypedRelation;
  readonly table: TableSpec;
  readonly beside: TypedBeside | undefined;
  readonly where: TypedExpression | undefined;
  readonly returning: TypedReturning | undefined;
}

/** The output of a write for each row that it wrote; `slot` holds that row. */
export interface TypedReturning {
  readonly slot: number;
  readonly items: readonly TypedExpression[];
  readonly columns: readonly OutputColumn[];
}

export type TypedExpression =
  | TypedColumn
  | TypedConstant
  | TypedParameter
  /** A result of grouping: a key or an aggregate. */
  | (ValueType & { readonly kind: 'value'; readonly value: number })
  | TypedComparison
  | (ValueType & { readonly kind: 'and' | 'or'; readonly terms: readonly TypedExpression[] })
  | (ValueType & { readonly kind: 'not' | 'isNull' | 'negate'; readonly operand: TypedExpression })
  /** Never null: null is equal to null. Both operands have one type. */
  | (ValueType & {
      readonly kind: 'isDistinct';
      readonly left: TypedExpression;
      readonly right: TypedExpression;
    })
  | (ValueType & {
      readonly kind: 'inList';
      readonly operand: TypedExpression;
      readonly values: readonly TypedExpression[];
    })
  | (ValueType & {
      readonly kind: 'like';
      readonly operand: TypedExpression;
      readonly pattern: TypedExpression;
      readonly escape: TypedExpression | undefined;
      readonly ignoresCase: boolean;
    })
  /** Both operands have the type of the whole, except times: see `functions/arithmetic.ts`. */
  | (ValueType & {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: TypedExpression;
      readonly right: TypedExpression;
    })
  | (ValueType & {
      readonly kind: 'case';
      readonly branches: readonly {
        readonly when: TypedExpression;
        readonly then: TypedExpression;
      }[];
      /** Absent: null. */
      readonly otherwise: TypedExpression | undefined;
    })
  /** Converts to `type`; can raise an error unless it widens a number. */
  | (ValueType & { readonly kind: 'convert'; readonly operand: TypedExpression })
  | (ValueType & {
      readonly kind: 'call';
      readonly function: ScalarFunction;
      readonly arguments: readonly TypedExpression[];
    })
  /** One element of a product. */
  | (ValueType & {
      readonly kind: 'field';
      readonly operand: TypedExpression;
      readonly element: number;
    })
  /** The payload of variant `tag` of a sum, else null. Tag 0 of an Option unwraps it. */
  | (ValueType & {
      readonly kind: 'variant';
      readonly operand: TypedExpression;
      readonly tag: number;
    })
  /** `scalar`: the only column of at most one row. `in`: whether `operand` is among the rows. */
  | (ValueType & {
      readonly kind: 'subquery';
      readonly mode: 'scalar' | 'exists' | 'in';
      readonly operand: TypedExpression | undefined;
      readonly query: TypedQuery;
    });

export interface TypedColumn extends ValueType {
  readonly kind: 'column';
  readonly slot: number;
  /** Position in the table or in the output of the derived query. */
  readonly column: number;
  readonly name: string;
}

export interface TypedConstant extends ValueType {
  readonly kind: 'constant';
  /** Encoded; `undefined` is null. */
  readonly bytes: Uint8Array | undefined;
}

export interface TypedParameter extends ValueType {
  readonly kind: 'parameter';
  readonly parameter: number;
}

/** Both operands have one type; null when one of them is. */
export interface TypedComparison extends ValueType {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly left: TypedExpression;
  readonly right: TypedExpression;
}

export type { NamedType };

import type { DerivedIndexSpec, IndexSpec, TableSpec } from '../../schema/catalog.ts';
import type { ViewId } from '../../schema/ids.ts';
import type { Language } from '../../schema/languages.ts';
import type {
  OutputColumn,
  ParameterSpec,
  TypedExpression,
  TypedGrouping,
  TypedInsert,
  TypedReturning,
  TypedUpdate,
  TypedWindowCall,
} from '../check/typed.ts';
import type { TypedSubquery } from '../check/typed-expression.ts';

/**
 * The plan of a statement, as plain data. It has two kinds of steps: *tuples* fill slots of the
 * frame, one row of each relation at a time; *rows* are encoded rows, in the form of an answer or
 * of a derived query.
 */
export type Plan = ReadPlan | WritePlan;
export type WritePlan = InsertPlan | UpdatePlan | DeletePlan;

export interface PlanParts {
  /** Number of expressions, including those of subqueries: roughly the work for one row. */
  readonly size: number;
  readonly slots: readonly SlotPlan[];
  readonly valueCount: number;
  readonly parameters: readonly ParameterSpec[];
  /** Every stored table that is read or written. */
  readonly tables: readonly TableSpec[];
  /** How each subquery inside an expression is evaluated. */
  readonly subqueries: ReadonlyMap<TypedSubquery, SubqueryPlan>;
  /** Plans by number of the common table. */
  readonly commonTables: ReadonlyMap<number, RowsPlan>;
  /** Ids of the views whose rows it reads. */
  readonly views: readonly ViewId[];
}

export interface ReadPlan extends PlanParts {
  readonly kind: 'read';
  readonly rows: RowsPlan;
  readonly columns: readonly OutputColumn[];
}

export interface InsertPlan extends PlanParts {
  readonly kind: 'insert';
  readonly table: TableSpec;
  readonly source:
    | Extract<TypedInsert['source'], { readonly kind: 'values' }>
    | { readonly kind: 'query'; readonly rows: RowsPlan; readonly slot: number };
  /** For a query: the values of the table's columns, read from `slot`. */
  readonly items: readonly TypedExpression[];
  readonly conflict: TypedInsert['conflict'];
  readonly returning: TypedReturning | undefined;
}

export interface UpdatePlan extends PlanParts {
  readonly kind: 'update';
  readonly table: TableSpec;
  readonly slot: number;
  readonly input: TuplesPlan;
  readonly assignments: TypedUpdate['assignments'];
  /** A row can match several times: once for each combination of rows beside it. */
  readonly isJoined: boolean;
  readonly returning: TypedReturning | undefined;
}

export interface DeletePlan extends PlanParts {
  readonly kind: 'delete';
  readonly table: TableSpec;
  readonly slot: number;
  /** As in an update. */
  readonly isJoined: boolean;
  readonly input: TuplesPlan;
  readonly returning: TypedReturning | undefined;
}

/** The layout of a slot's rows. */
export type SlotPlan =
  | { readonly kind: 'table'; readonly table: TableSpec }
  | { readonly kind: 'rows'; readonly columns: readonly OutputColumn[] };

/** Estimates by which the plan was chosen. */
export interface Estimate {
  /** Rows that it returns each time it is opened. */
  readonly rows: number;
  /** Rows that are looked at for them, approximately. */
  readonly cost: number;
}

export type TuplesPlan =
  /** One tuple without slots. */
  | { readonly kind: 'one'; readonly estimate: Estimate }
  | { readonly kind: 'nothing'; readonly estimate: Estimate }
  | SourcePlan
  | LoopPlan
  | HashPlan
  | FilterPlan
  | FirstPlan
  | AggregatePlan;

/** The rows of one relation that satisfy conditions. */
export interface SourcePlan {
  readonly kind: 'source';
  readonly slot: number;
  readonly name: string;
  readonly from:
    | { readonly kind: 'table'; readonly table: TableSpec }
    /** `isKept`: computed at the first opening, returned again at every other. */
    | { readonly kind: 'rows'; readonly rows: RowsPlan; readonly isKept: boolean }
    | { readonly kind: 'common'; readonly number: number };
  readonly access: Access;
  /** All must hold, in the order of evaluation. */
  readonly conditions: readonly TypedExpression[];
  readonly secrecy: Secrecy;
  readonly estimate: Estimate;
}

/** What the numbers of a step would reveal about rows that the caller may not see. */
export type Secrecy =
  | 'none'
  /** A filter of row-level security applies to its rows: the rows it returns are not secret. */
  | 'rows'
  /** A filter spans it and other relations: the rows that it returns alone are secret. */
  | 'all';

/** An index of vectors that a search could have used, and why it does not: for EXPLAIN. */
export interface PassedIndex {
  readonly index: DerivedIndexSpec;
  readonly reason: 'metric' | 'rows';
}

export type Access =
  | { readonly kind: 'scan'; readonly passed?: PassedIndex }
  /** All columns of the index have the values of `keys`. */
  | { readonly kind: 'point'; readonly index: IndexSpec; readonly keys: readonly TypedExpression[] }
  /** `point` for several keys; each expression list is one key. */
  | {
      readonly kind: 'points';
      readonly index: IndexSpec;
      readonly keys: readonly (readonly TypedExpression[])[];
    }
  /** The values that an uncorrelated `IN (SELECT …)` returns, if they are few; else a scan. */
  | { readonly kind: 'among'; readonly index: IndexSpec; readonly subquery: TypedSubquery }
  /** Rows that a derived index finds, if they are few; else a scan. Conditions are asked again. */
  | { readonly kind: 'search'; readonly index: DerivedIndexSpec; readonly search: Search }
  /** Rows among which are those nearest to a vector: as many as `top` needs after conditions. */
  | {
      readonly kind: 'nearest';
      readonly index: DerivedIndexSpec;
      readonly wanted: TypedExpression;
      readonly top: Exclude<SortPlan['top'], undefined>;
    }
  /** In key order, or in reverse. */
  | {
      readonly kind: 'range';
      readonly index: IndexSpec;
      readonly prefix: readonly TypedExpression[];
      readonly lower: AccessBound | undefined;
      readonly upper: AccessBound | undefined;
      readonly isDescending: boolean;
      /** The conditions that the range replaces. */
      readonly conditions: readonly TypedExpression[];
      /** True: where the bounds leave out nothing, all rows may be looked at in any order. */
      readonly mayScan?: boolean;
    };

/** What a derived index is asked, by its kind. */
export type Search =
  | {
      readonly kind: 'inverted';
      /** Rows with one of the elements, or with each of them. */
      readonly match: 'any' | 'all';
      /** An element, or an array of them. */
      readonly operand: TypedExpression;
      readonly isArray: boolean;
    }
  | {
      readonly kind: 'text';
      readonly query: TypedExpression;
      readonly language: Language;
    };

export interface AccessBound {
  readonly value: TypedExpression;
  readonly isIncluded: boolean;
  /** Null is no bound; else no row is within it. */
  readonly isOpenIfNull?: true;
}

/** For each outer tuple, the matching inner rows; `isLeft`: at least an absent one. */
export interface LoopPlan {
  readonly kind: 'loop';
  readonly isLeft: boolean;
  readonly outer: TuplesPlan;
  readonly inner: SourcePlan;
  /** The inner rows do not depend on the outer tuple: they are found once and kept. */
  readonly isInnerKept: boolean;
  /** Evaluated for each pair. */
  readonly conditions: readonly TypedExpression[];
  readonly estimate: Estimate;
}

/** A join through a hash table of the inner rows. */
export interface HashPlan {
  readonly kind: 'hash';
  readonly isLeft: boolean;
  readonly outer: TuplesPlan;
  readonly inner: SourcePlan;
  readonly outerKeys: readonly TypedExpression[];
  readonly innerKeys: readonly TypedExpression[];
  /** Evaluated for each pair with equal keys. */
  readonly conditions: readonly TypedExpression[];
  readonly estimate: Estimate;
}

export interface FilterPlan {
  readonly kind: 'filter';
  readonly input: TuplesPlan;
  readonly conditions: readonly TypedExpression[];
  readonly estimate: Estimate;
}

/** The first tuple only: in index order it has the smallest or the greatest value. */
export interface FirstPlan {
  readonly kind: 'first';
  readonly input: TuplesPlan;
  readonly estimate: Estimate;
}

export interface AggregatePlan {
  readonly kind: 'aggregate';
  readonly input: TuplesPlan;
  readonly grouping: TypedGrouping;
  readonly estimate: Estimate;
}

export type RowsPlan =
  | ProjectPlan
  | SortPlan
  | DistinctPlan
  | SetPlan
  | WindowPlan
  | RecursionPlan
  | WorkingPlan
  | ElementsPlan
  | LimitPlan
  | CountPlan;

export interface ProjectPlan {
  readonly kind: 'project';
  readonly input: TuplesPlan;
  readonly items: readonly TypedExpression[];
  readonly columns: readonly OutputColumn[];
  /** The answer is the whole row of this slot. */
  readonly wholeSlot: number | undefined;
  readonly estimate: Estimate;
}

export interface SortPlan {
  readonly kind: 'sort';
  readonly input: TuplesPlan;
  readonly keys: readonly SortKey[];
  readonly items: readonly TypedExpression[];
  readonly columns: readonly OutputColumn[];
  /** Only this many rows from the start are needed. */
  readonly top:
    | { readonly limit: TypedExpression; readonly offset: TypedExpression | undefined }
    | undefined;
  readonly estimate: Estimate;
}

export interface SortKey {
  readonly expression: TypedExpression;
  readonly isDescending: boolean;
  readonly isNullsFirst: boolean;
}

export interface DistinctPlan {
  readonly kind: 'distinct';
  readonly input: RowsPlan;
  readonly columns: readonly OutputColumn[];
  readonly estimate: Estimate;
}

export interface SetPlan {
  readonly kind: 'set';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: RowsPlan;
  readonly right: RowsPlan;
  readonly columns: readonly OutputColumn[];
  readonly estimate: Estimate;
}

/** The rows of the input, each with the results of its window functions behind it. */
export interface WindowPlan {
  readonly kind: 'window';
  readonly input: RowsPlan;
  /** Reads the columns of the input. */
  readonly slot: number;
  readonly inputColumns: readonly OutputColumn[];
  readonly calls: readonly TypedWindowCall[];
  readonly estimate: Estimate;
}

/** The rows of the base, then those of steps over the rows of the step before. */
export interface RecursionPlan {
  readonly kind: 'recursive';
  readonly slot: number;
  readonly base: RowsPlan;
  readonly step: RowsPlan;
  readonly isAll: boolean;
  readonly columns: readonly OutputColumn[];
  readonly estimate: Estimate;
}

/** The rows of the step before. */
export interface WorkingPlan {
  readonly kind: 'working';
  readonly slot: number;
  readonly estimate: Estimate;
}

/** A row for each element of an array, which is evaluated whenever it is opened. */
export interface ElementsPlan {
  readonly kind: 'elements';
  readonly array: TypedExpression;
  readonly hasOrdinality: boolean;
  readonly estimate: Estimate;
}

export interface LimitPlan {
  readonly kind: 'limit';
  readonly input: RowsPlan;
  readonly limit: TypedExpression | undefined;
  readonly offset: TypedExpression | undefined;
  readonly estimate: Estimate;
}

/** `SELECT COUNT(*)` of a whole table, whose size is known. */
export interface CountPlan {
  readonly kind: 'count';
  readonly table: TableSpec;
  readonly estimate: Estimate;
}

export type SubqueryPlan =
  /** Evaluated once for the statement. */
  | { readonly kind: 'once'; readonly rows: RowsPlan; readonly column: OutputColumn | undefined }
  /** Evaluated again for each row. */
  | { readonly kind: 'each'; readonly rows: RowsPlan; readonly column: OutputColumn | undefined }
  /**
   * EXISTS, or IN without nulls, that depends on the outer row by an equality: the keys of the
   * inner rows are collected once, and `keys` is looked up among them. `rest`: what else must hold
   * for an inner row and the outer one; with it the inner rows, of one source, are kept by key.
   */
  | {
      readonly kind: 'keyed';
      readonly rows: RowsPlan;
      readonly columns: readonly OutputColumn[];
      readonly keys: readonly TypedExpression[];
      readonly rest: readonly TypedExpression[];
      /**
       * The subquery evaluated for each row: used when collecting raises an error, maybe for an
       * inner row that no outer row matches.
       */
      readonly each: RowsPlan;
      readonly column: OutputColumn | undefined;
    }
  /**
   * A scalar aggregate that depends on the outer row by equality only: all inner rows are grouped
   * once, and the group that has the keys of the outer row is looked up.
   */
  | {
      readonly kind: 'grouped';
      /** The keys of the groups. */
      readonly rows: RowsPlan;
      readonly keys: readonly TypedExpression[];
      /** The answer for a group. */
      readonly value: TypedExpression;
      /** Gives the answer if no group matches. */
      readonly absent: RowsPlan;
      /** Used if a group raises an error: maybe no outer row needs that group. */
      readonly each: RowsPlan;
      readonly column: OutputColumn | undefined;
    };

export interface PlanOptions {
  /** False: no index is used. */
  readonly useIndexes: boolean;
  /** False: relations are joined as written, in loops, and no condition is moved. */
  readonly optimise: boolean;
}

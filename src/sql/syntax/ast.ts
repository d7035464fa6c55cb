/**
 * Statements as written: syntax only, without name lookup or types. The parser reads all dialects
 * at once; the check decides later what each of them allows (`check/`). What parses as SQL but is
 * in no dialect is kept as an `Unsupported` node with the text of its refusal, because a syntax
 * error further right is reported first.
 */
export type Statement =
  | QueryStatement
  | Insert
  | Update
  | Delete
  | SetVariable
  | ShowVariable
  | ShowList
  | Explain
  | Unsupported;

/** Half-open range of tokens; `SourceText` turns it into text or a place. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Unsupported {
  readonly kind: 'unsupported';
  readonly message: string;
  /** What to write instead. */
  readonly hint?: string | undefined;
  readonly span: Span;
}

export interface QueryStatement {
  readonly kind: 'query';
  readonly query: Query;
  readonly span: Span;
}

/** `[WITH …] body [ORDER BY …] [LIMIT …] [OFFSET …] [AS OF …]` */
export interface Query {
  readonly kind: 'query';
  readonly commonTables: readonly CommonTable[];
  /** WITH RECURSIVE: common tables can name themselves. */
  readonly isRecursive: boolean;
  readonly body: QueryBody;
  readonly orderBy: readonly OrderItem[];
  /** Absent for `LIMIT ALL` and without LIMIT. */
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly asOf: AsOf | undefined;
  /** A clause that no dialect has here: FETCH, FOR UPDATE, `LIMIT 1, 2`. */
  readonly unsupported: Unsupported | undefined;
  readonly span: Span;
}

/** A `Query` is one in parentheses; `Unsupported` is anything else in its place. */
export type QueryBody = Select | Values | SetOperation | Query | Unsupported;

/** `VALUES (…), (…)` as a table. Rows can differ in length: the check refuses that. */
export interface Values {
  readonly kind: 'values';
  readonly rows: readonly (readonly Expression[])[];
  readonly span: Span;
}

export interface CommonTable {
  readonly name: string;
  /** Names of its columns, if they are given. */
  readonly columns: readonly string[] | undefined;
  readonly query: Query;
  readonly span: Span;
}

export interface SetOperation {
  readonly kind: 'setOperation';
  readonly operator: 'union' | 'intersect' | 'except';
  readonly isAll: boolean;
  readonly left: QueryBody;
  readonly right: QueryBody;
  readonly span: Span;
}

export interface OrderItem {
  readonly expression: Expression;
  readonly isDescending: boolean;
  /** As written; by default null is greater than every value. */
  readonly nulls: 'first' | 'last' | undefined;
  readonly span: Span;
}

/** A position in the past: an offset of the log, or a moment. */
export interface AsOf {
  readonly position: Expression;
  readonly span: Span;
}

export interface Select {
  readonly kind: 'select';
  readonly isDistinct: boolean;
  readonly items: readonly SelectItem[];
  readonly from: From | undefined;
  readonly where: Expression | undefined;
  readonly groupBy: readonly Expression[];
  readonly having: Expression | undefined;
  /** Of the WINDOW clause. */
  readonly windows: readonly NamedWindow[];
  /** A clause that no dialect has (INTO, TOP, DISTINCT ON, QUALIFY, …). */
  readonly unsupported: Unsupported | undefined;
  readonly span: Span;
}

export type SelectItem =
  | { readonly kind: 'everything'; readonly span: Span }
  | { readonly kind: 'relation'; readonly relation: string; readonly span: Span }
  | {
      readonly kind: 'expression';
      readonly expression: Expression;
      readonly alias: string | undefined;
      readonly isParenthesised: boolean;
      /** The span of the expression with its parentheses, without the alias. */
      readonly span: Span;
    };

export interface From {
  readonly first: Relation;
  /** In the order of the text: each join adds to everything before it. */
  readonly joins: readonly Join[];
  readonly span: Span;
}

export type Relation = NamedRelation | DerivedRelation | UnnestRelation | Unsupported;

export interface NamedRelation {
  readonly kind: 'named';
  /** Dotted parts, joined: one name of the catalog, or of a common table. */
  readonly name: string;
  readonly alias: string | undefined;
  readonly span: Span;
}

export interface DerivedRelation {
  readonly kind: 'derived';
  readonly query: Query;
  readonly alias: string | undefined;
  readonly columns: readonly string[] | undefined;
  readonly span: Span;
}

/** `unnest(array) [WITH ORDINALITY] [AS] alias [(columns)]`: a row for each element. */
export interface UnnestRelation {
  readonly kind: 'unnest';
  readonly array: Expression;
  readonly hasOrdinality: boolean;
  readonly alias: string | undefined;
  readonly columns: readonly string[] | undefined;
  readonly span: Span;
}

export interface Join {
  /** `comma`: `FROM a, b`, a cross join. `other`: right, full, natural, semi, USING, … */
  readonly kind: 'inner' | 'left' | 'cross' | 'comma' | 'other';
  readonly relation: Relation;
  readonly on: Expression | undefined;
  /** Whether the condition as a whole is in parentheses. */
  readonly isParenthesised: boolean;
  readonly span: Span;
}

export interface Insert {
  readonly kind: 'insert';
  readonly table: string;
  readonly tableSpan: Span;
  /** Empty if the statement names none. */
  readonly columns: readonly string[];
  readonly source:
    | { readonly kind: 'values'; readonly rows: readonly (readonly StoredExpression[])[] }
    | { readonly kind: 'query'; readonly query: Query };
  readonly conflict: Conflict | undefined;
  readonly returning: readonly SelectItem[] | undefined;
  readonly span: Span;
}

/** `ON CONFLICT [(columns) | ON CONSTRAINT name] DO (NOTHING | UPDATE SET … [WHERE …])` */
export interface Conflict {
  readonly constraint: string | undefined;
  /** Empty without a constraint: a conflict with any row; only for DO NOTHING. */
  readonly columns: readonly string[];
  /** Absent: DO NOTHING. */
  readonly update:
    | { readonly assignments: readonly Assignment[]; readonly where: Expression | undefined }
    | undefined;
  readonly span: Span;
}

export interface Update {
  readonly kind: 'update';
  readonly table: string;
  readonly tableSpan: Span;
  readonly alias: string | undefined;
  readonly assignments: readonly Assignment[];
  readonly from: From | undefined;
  readonly where: Expression | undefined;
  readonly returning: readonly SelectItem[] | undefined;
  readonly span: Span;
}

/** `DEFAULT` in the place of a value to store. */
export interface DefaultValue {
  readonly kind: 'default';
  readonly span: Span;
}

export type StoredExpression = Expression | DefaultValue;

export interface Assignment {
  readonly column: string;
  readonly value: StoredExpression;
  /** Starts at the name of the column. */
  readonly span: Span;
}

export interface Delete {
  readonly kind: 'delete';
  readonly table: string;
  readonly tableSpan: Span;
  readonly alias: string | undefined;
  readonly using: From | undefined;
  readonly where: Expression | undefined;
  readonly returning: readonly SelectItem[] | undefined;
  readonly span: Span;
}

export interface SetVariable {
  readonly kind: 'set';
  readonly variable: string;
  readonly value: Expression;
  readonly span: Span;
}

export interface ShowVariable {
  readonly kind: 'show';
  readonly variable: string;
  readonly span: Span;
}

/** `SHOW TABLES`, `SHOW COLUMNS FROM table` or `DESCRIBE table`, `SHOW FUNCTIONS`. */
export interface ShowList {
  readonly kind: 'showList';
  readonly what: 'tables' | 'columns' | 'functions';
  /** Of its columns; else empty. */
  readonly table: string;
  readonly tableSpan: Span;
  readonly span: Span;
}

export interface Explain {
  readonly kind: 'explain';
  readonly isAnalyze: boolean;
  /** The text after AS: the caller whose plan to show. */
  readonly as: string | undefined;
  /** After LIVE: how the statement would be watched. */
  readonly isLive: boolean;
  readonly statement: Exclude<Statement, Explain>;
  readonly span: Span;
}

export type Expression =
  | ColumnReference
  | Literal
  | { readonly kind: 'null'; readonly span: Span }
  | { readonly kind: 'sender'; readonly span: Span }
  /** `$1` has the name `1`. */
  | { readonly kind: 'parameter'; readonly name: string; readonly span: Span }
  | Comparison
  /** A chain is flat: `a AND b AND c` is one node. */
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[]; readonly span: Span }
  | { readonly kind: 'not' | 'negate'; readonly operand: Expression; readonly span: Span }
  | {
      readonly kind: 'isNull' | 'isTrue' | 'isFalse';
      readonly operand: Expression;
      readonly isNegated: boolean;
      readonly span: Span;
    }
  /** `IS [NOT] DISTINCT FROM`: compares null as a value. */
  | {
      readonly kind: 'isDistinct';
      readonly left: Expression;
      readonly right: Expression;
      readonly isNegated: boolean;
      readonly span: Span;
    }
  | {
      readonly kind: 'in';
      readonly operand: Expression;
      readonly among: readonly Expression[] | Query;
      readonly isNegated: boolean;
      readonly span: Span;
    }
  | {
      readonly kind: 'between';
      readonly operand: Expression;
      readonly low: Expression;
      readonly high: Expression;
      readonly isNegated: boolean;
      readonly span: Span;
    }
  | {
      readonly kind: 'like';
      readonly operand: Expression;
      readonly pattern: Expression;
      readonly escape: Expression | undefined;
      readonly ignoresCase: boolean;
      readonly isNegated: boolean;
      readonly span: Span;
    }
  /** `ARRAY[…]`, `array[position]`, and the operators of arrays, with both operands. */
  | {
      readonly kind: 'array';
      readonly form: 'literal' | 'element' | ArrayOperator;
      readonly operands: readonly Expression[];
      readonly span: Span;
    }
  /** A part of a JSON text. */
  | {
      readonly kind: 'json';
      readonly operator: JsonOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly span: Span;
    }
  | {
      readonly kind: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly span: Span;
    }
  | {
      readonly kind: 'case';
      /** `CASE operand WHEN value …`; absent: `CASE WHEN condition …`. */
      readonly operand: Expression | undefined;
      readonly branches: readonly { readonly when: Expression; readonly then: Expression }[];
      readonly otherwise: Expression | undefined;
      readonly span: Span;
    }
  /** `CAST(x AS type)` and `x::type`. */
  | {
      readonly kind: 'cast';
      readonly operand: Expression;
      readonly typeName: string;
      readonly span: Span;
    }
  /** `TIMESTAMP '…'`, `INTERVAL '…'`, `UUID '…'`: `typeName` in capitals. */
  | {
      readonly kind: 'typedLiteral';
      readonly typeName: string;
      readonly text: string;
      readonly span: Span;
    }
  | Call
  /** `(a, b)`, to be compared with another one. */
  | { readonly kind: 'row'; readonly values: readonly Expression[]; readonly span: Span }
  | { readonly kind: 'exists' | 'subquery'; readonly query: Query; readonly span: Span }
  /** `(operand).name`; a dotted name is a `column`, which the check splits. */
  | {
      readonly kind: 'field';
      readonly operand: Expression;
      readonly name: string;
      readonly span: Span;
    }
  | Unsupported;

export interface ColumnReference {
  readonly kind: 'column';
  /** `lib.t.c` has three; the last ones may be fields of a column. */
  readonly parts: readonly string[];
  readonly span: Span;
}

export interface Comparison {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly left: Expression;
  readonly right: Expression;
  readonly span: Span;
}

export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';
/** Contains, is contained by, overlaps. */
export type ArrayOperator = '@>' | '<@' | '&&';

export type JsonOperator = '->' | '->>' | '#>>';

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '||';

/**
 * A function call, including aggregates. `SUBSTRING(x FROM a FOR b)`, `EXTRACT(f FROM x)`,
 * `POSITION(a IN b)`, `TRIM(BOTH a FROM b)` are converted to plain arguments: `substring(x, a, b)`,
 * `extract('f', x)`, `strpos(b, a)`, `btrim(b, a)` / `ltrim` / `rtrim`.
 */
export interface Call {
  readonly kind: 'call';
  /** As written, dots included. */
  readonly name: string;
  readonly arguments: readonly Expression[];
  /** `COUNT(*)`. */
  readonly isOfRows: boolean;
  /** `COUNT(DISTINCT x)`. */
  readonly isDistinct: boolean;
  /** `current_timestamp`, `user`: written without parentheses. */
  readonly isBare: boolean;
  /** What only aggregates and window functions take; absent if nothing of it is written. */
  readonly modifiers: CallModifiers | undefined;
  readonly span: Span;
}

export interface CallModifiers {
  /** `f(x ORDER BY …)`, or `f(x) WITHIN GROUP (ORDER BY …)`. */
  readonly orderBy: readonly OrderItem[];
  readonly isWithinGroup: boolean;
  /** `FILTER (WHERE …)` */
  readonly filter: Expression | undefined;
  /** `OVER (…)`, or `OVER name`. */
  readonly over: Window | string | undefined;
}

/** `[PARTITION BY …] [ORDER BY …] [frame]` */
export interface Window {
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly OrderItem[];
  readonly frame: Frame | undefined;
  readonly span: Span;
}

/** The rows around the current one that a window function looks at. */
export interface Frame {
  readonly unit: 'rows' | 'range' | 'groups';
  readonly start: FrameBound;
  readonly end: FrameBound;
  readonly exclusion: FrameExclusion | undefined;
  readonly span: Span;
}

/** What is left out of a frame: the current row, its group, or the other rows of its group. */
export type FrameExclusion = 'current row' | 'group' | 'ties';

/** `offset` is a literal, infinite for UNBOUNDED, or 0 for the current row or group. */
export interface FrameBound {
  readonly side: 'preceding' | 'following';
  readonly offset: number | FrameOffset;
}

export type FrameOffset =
  | Extract<Expression, { readonly kind: 'typedLiteral' }>
  | Extract<Literal, { readonly text: string }>;

/** A window of the WINDOW clause. */
export interface NamedWindow {
  readonly name: string;
  readonly window: Window;
}

/** A literal is kept as text; its value depends on the type of its place. */
export type Literal =
  | { readonly kind: 'boolean'; readonly value: boolean; readonly span: Span }
  | { readonly kind: 'string' | 'number' | 'hex'; readonly text: string; readonly span: Span };

/**
 * Statements as written: syntax only, no names looked up, no types. What parses as SQL but is not
 * in the dialect is kept as an `Unsupported` node with the text of its refusal, because a syntax
 * error further right is reported first (see `dialect.ts`).
 */
export type Statement =
  | Select
  | Insert
  | Update
  | Delete
  | SetVariable
  | ShowVariable
  | Unsupported;

export interface Unsupported {
  readonly kind: 'unsupported';
  readonly message: string;
}

export interface Select {
  readonly kind: 'select';
  readonly items: readonly SelectItem[];
  readonly from: From | undefined;
  readonly where: Expression | undefined;
  readonly limit: Literal | undefined;
}

export type SelectItem =
  | { readonly kind: 'everything' }
  | { readonly kind: 'relation'; readonly relation: string }
  | {
      readonly kind: 'expression';
      readonly expression: Expression;
      readonly alias: string | undefined;
      /** The expression as an error shows it. */
      readonly text: string;
      readonly isParenthesised: boolean;
    };

export type From = FromRelations | Unsupported;

export interface FromRelations {
  readonly kind: 'relations';
  readonly first: Relation;
  readonly joins: readonly Join[];
}

export interface Relation {
  /** Dotted parts joined: one name of the catalog. */
  readonly name: string;
  readonly alias: string | undefined;
}

/** An inner join, or a cross product when `on` is absent. */
export interface Join {
  readonly relation: Relation;
  readonly on: { readonly left: ColumnReference; readonly right: ColumnReference } | undefined;
}

export interface Insert {
  readonly kind: 'insert';
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (Literal | Unsupported)[])[];
}

export interface Update {
  readonly kind: 'update';
  readonly table: string;
  readonly assignments: readonly Assignment[];
  readonly where: Expression | undefined;
}

export interface Assignment {
  readonly column: string;
  readonly value: Literal | Unsupported;
}

export interface Delete {
  readonly kind: 'delete';
  readonly table: string;
  readonly where: Expression | undefined;
}

export interface SetVariable {
  readonly kind: 'set';
  readonly variable: string;
  readonly value: Literal | Unsupported;
}

export interface ShowVariable {
  readonly kind: 'show';
  readonly variable: string;
}

export type Expression =
  | ColumnReference
  | Literal
  | { readonly kind: 'sender' }
  | Comparison
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[] }
  | { readonly kind: 'not'; readonly operand: Expression }
  | Call
  | Unsupported;

export interface ColumnReference {
  readonly kind: 'column';
  readonly relation: string | undefined;
  readonly name: string;
}

export interface Comparison {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly left: Expression;
  readonly right: Expression;
}

export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** A function call. Its arguments are not taken apart yet. */
export interface Call {
  readonly kind: 'call';
  readonly name: string;
  readonly isCountOfRows: boolean;
  readonly text: string;
}

/** A literal is its text; which value that is depends on the type of its place. */
export type Literal =
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'string' | 'number' | 'hex'; readonly text: string };

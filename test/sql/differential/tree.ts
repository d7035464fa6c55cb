import { type Dialect, type Kind, literalText, type Plain, type Range } from './kinds.ts';

/**
 * Statements as data, with two texts each: ours and PostgreSQL's. Plain data, so that a statement
 * over which the engines disagree can be cut down step by step.
 */
export interface Expression {
  readonly kind: Kind;
  readonly parts: readonly Part[];
  readonly isNullable: boolean;
  /** Of numbers and durations: what it can be. */
  readonly range: Range | undefined;
  /** Whether some row can make it raise an error. */
  readonly canRaise: boolean;
  /** Whether both engines compute the same bits; sums of fractions depend on the order of rows. */
  readonly isStable: boolean;
  /** A fraction that adds up exactly in any order. */
  readonly isDyadic: boolean;
  /** A text of ASCII only: nothing else has the same upper case everywhere. */
  readonly isAscii: boolean;
  /** Stands in brackets inside of other expressions. */
  readonly isLoose: boolean;
  /** Has a type of its own in our dialect: anything but a bare literal. */
  readonly isTyped: boolean;
  /** A column by name, and nothing around it. */
  readonly isColumn?: boolean;
  /** A column that ours keeps as an Option: the text without `.some`. */
  readonly whole?: string;
}

/** Text that both dialects share, text that differs, or what stands in between. */
export type Part =
  | string
  | { readonly ours: string; readonly postgres: string }
  | Expression
  | Query;

export interface Query {
  readonly kind: 'query';
  readonly commonTables: readonly CommonTable[];
  readonly body: Body;
  readonly orderBy: readonly Order[];
  readonly limit: number | undefined;
  readonly offset: number | undefined;
}

export interface CommonTable {
  readonly name: string;
  readonly query: Query;
}

export type Body = Select | SetOperation;

export interface SetOperation {
  readonly kind: 'setOperation';
  readonly operator: 'UNION' | 'INTERSECT' | 'EXCEPT';
  readonly isAll: boolean;
  readonly left: Body;
  readonly right: Body;
}

export interface Select {
  readonly kind: 'select';
  readonly isDistinct: boolean;
  /** With `star` the list is `*` or `alias.*`, and the items say what that comes to. */
  readonly star: string | undefined;
  readonly items: readonly Item[];
  readonly from: readonly Source[];
  readonly where: Expression | undefined;
  readonly groupBy: readonly Expression[];
  readonly having: Expression | undefined;
}

export interface Item {
  readonly expression: Expression;
  readonly alias: string;
}

export interface Source {
  readonly join: 'first' | 'JOIN' | 'INNER JOIN' | 'LEFT JOIN' | 'LEFT OUTER JOIN' | 'CROSS JOIN';
  readonly relation: string | Query | Elements;
  readonly alias: string;
  readonly on: Expression | undefined;
}

/** `unnest(ARRAY[…])` with the name of its column. */
export interface Elements {
  readonly kind: 'elements';
  readonly elements: readonly Expression[];
  readonly column: string;
}

export interface Order {
  /** A position of the output, or an expression. */
  readonly key: number | Expression;
  readonly isDescending: boolean;
  readonly nulls: 'FIRST' | 'LAST' | undefined;
}

export type Write =
  | {
      readonly kind: 'insert';
      readonly table: string;
      readonly columns: readonly string[];
      readonly source: Query | readonly (readonly Expression[])[];
      readonly returning: readonly Item[];
    }
  | {
      readonly kind: 'update';
      readonly table: string;
      readonly alias: string | undefined;
      readonly assignments: readonly { readonly column: string; readonly value: Expression }[];
      readonly where: Expression | undefined;
      readonly returning: readonly Item[];
    }
  | {
      readonly kind: 'delete';
      readonly table: string;
      readonly alias: string | undefined;
      readonly where: Expression | undefined;
      readonly returning: readonly Item[];
    };

export type Statement = Query | Write;

/** An expression of parts; what is not said follows from the expressions among them. */
export function expression(
  kind: Kind,
  parts: readonly Part[],
  given: Partial<Expression> = {},
): Expression {
  const inner = parts.filter(isExpression);
  return {
    kind,
    parts,
    isNullable: inner.some((part) => part.isNullable),
    range: undefined,
    canRaise: inner.some((part) => part.canRaise),
    isStable: inner.every((part) => part.isStable),
    isDyadic: inner.every((part) => part.isDyadic),
    isAscii: inner.every((part) => part.isAscii),
    isLoose: true,
    isTyped: true,
    ...given,
  };
}

export function literal(kind: Kind, value: Plain): Expression {
  const parts = [
    {
      ours: literalText(kind, value, 'ours'),
      postgres: literalText(kind, value, 'postgres'),
    },
  ];
  const bound = typeof value === 'number' ? BigInt(Math.ceil(Math.abs(value))) : undefined;
  const range =
    typeof value === 'bigint'
      ? { low: value, high: value }
      : bound === undefined
        ? undefined
        : { low: -bound, high: bound };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what is meant
  const isAscii = typeof value !== 'string' || /^[\x00-\x7f]*$/.test(value);
  const isTyped = kind === 'string' || kind === 'bool' || kind === 'timestamp' || kind === 'uuid';
  return expression(kind, parts, {
    isNullable: value === null,
    range,
    isAscii,
    isLoose: false,
    isTyped: isTyped && value !== null,
  });
}

export function isExpression(part: unknown): part is Expression {
  return typeof part === 'object' && part !== null && 'parts' in part;
}

export function isQuery(part: unknown): part is Query {
  return typeof part === 'object' && part !== null && 'commonTables' in part;
}

export function statementText(statement: Statement, dialect: Dialect): string {
  switch (statement.kind) {
    case 'query':
      return queryText(statement, dialect);
    case 'insert': {
      const { table, columns, source, returning } = statement;
      const rows = isQuery(source)
        ? queryText(source, dialect)
        : `VALUES ${source.map((row) => `(${row.map((cell) => text(cell, dialect)).join(', ')})`).join(', ')}`;
      const into = `INSERT INTO ${table} (${columns.join(', ')})`;
      return `${into} ${rows}${returningText(returning, dialect)}`;
    }
    case 'update': {
      const { assignments, where, returning } = statement;
      const set = assignments.map(({ column, value }) => `${column} = ${text(value, dialect)}`);
      const rest = `${whereText(where, dialect)}${returningText(returning, dialect)}`;
      return `UPDATE ${targetText(statement)} SET ${set.join(', ')}${rest}`;
    }
    case 'delete': {
      const { where, returning } = statement;
      return `DELETE FROM ${targetText(statement)}${whereText(where, dialect)}${returningText(returning, dialect)}`;
    }
  }
}

function targetText({ table, alias }: Exclude<Write, { kind: 'insert' }>): string {
  return alias === undefined ? table : `${table} AS ${alias}`;
}

function queryText(query: Query, dialect: Dialect): string {
  const { commonTables, body, orderBy, limit, offset } = query;
  const common = commonTables.map(
    ({ name, query: inner }) => `${name} AS (${queryText(inner, dialect)})`,
  );
  const order = orderBy.map(({ key, isDescending, nulls }) => {
    const direction = isDescending ? ' DESC' : '';
    const where = nulls === undefined ? '' : ` NULLS ${nulls}`;
    return `${typeof key === 'number' ? key : text(key, dialect)}${direction}${where}`;
  });
  return [
    common.length === 0 ? '' : `WITH ${common.join(', ')} `,
    bodyText(body, dialect),
    order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`,
    limit === undefined ? '' : ` LIMIT ${limit}`,
    offset === undefined ? '' : ` OFFSET ${offset}`,
  ].join('');
}

function bodyText(body: Body, dialect: Dialect): string {
  if (body.kind === 'select') return selectText(body, dialect);
  const { operator, isAll, left, right } = body;
  const side = (part: Body) =>
    part.kind === 'select' ? selectText(part, dialect) : `(${bodyText(part, dialect)})`;
  return `${side(left)} ${operator}${isAll ? ' ALL' : ''} ${side(right)}`;
}

function selectText(select: Select, dialect: Dialect): string {
  const { isDistinct, star, items, from, where, groupBy, having } = select;
  const list =
    star ??
    items.map((item) => `${text(item.expression, dialect, 'item')} AS ${item.alias}`).join(', ');
  const keys = groupBy.map((key) => text(key, dialect));
  return [
    `SELECT ${isDistinct ? 'DISTINCT ' : ''}${list} FROM `,
    from.map((source) => sourceText(source, dialect)).join(' '),
    whereText(where, dialect),
    keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`,
    having === undefined ? '' : ` HAVING ${text(having, dialect)}`,
  ].join('');
}

function sourceText({ join, relation, alias, on }: Source, dialect: Dialect): string {
  const name = relationText(relation, dialect);
  const columns = typeof relation === 'object' && !isQuery(relation) ? `(${relation.column})` : '';
  const named = name === alias ? name : `${name} AS ${alias}${columns}`;
  const condition = on === undefined ? '' : ` ON ${text(on, dialect)}`;
  return `${join === 'first' ? '' : `${join} `}${named}${condition}`;
}

function relationText(relation: Source['relation'], dialect: Dialect): string {
  if (typeof relation === 'string') return relation;
  if (isQuery(relation)) return `(${queryText(relation, dialect)})`;
  const elements = relation.elements.map((element) => text(element, dialect));
  return `unnest(ARRAY[${elements.join(', ')}])`;
}

function whereText(where: Expression | undefined, dialect: Dialect): string {
  return where === undefined ? '' : ` WHERE ${text(where, dialect)}`;
}

function returningText(items: readonly Item[], dialect: Dialect): string {
  if (items.length === 0) return '';
  const list = items.map((item) => `${text(item.expression, dialect, 'item')} AS ${item.alias}`);
  return ` RETURNING ${list.join(', ')}`;
}

/** An expression at the top of its place, so without brackets around it. */
function text({ parts, whole }: Expression, dialect: Dialect, place?: 'item'): string {
  if (place === 'item' && whole !== undefined && dialect === 'ours') return whole;
  return parts.map((part) => partText(part, dialect)).join('');
}

function partText(part: Part, dialect: Dialect): string {
  if (typeof part === 'string') return part;
  if (isQuery(part)) return queryText(part, dialect);
  if (!isExpression(part)) return part[dialect];
  const inner = text(part, dialect);
  return part.isLoose ? `(${inner})` : inner;
}

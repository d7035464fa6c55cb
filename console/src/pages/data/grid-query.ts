/** What the grid shows of a table, and the statements that read it. */
import { typedText } from '../../parts/values.ts';
import type { Json } from '../../service/json.ts';
import { isExact, isOrdered, literalOfText } from '../../service/literals.ts';
import type { TableSchema } from '../../service/schema.ts';
import { quoteName, quoteText } from '../../service/sql.ts';
import type { Field } from '../../service/types.ts';

export const operators = ['=', '<>', '<', '<=', '>', '>=', 'contains', 'null', 'some'] as const;
export type Operator = (typeof operators)[number];

/** One condition: a column, an operator, and what somebody typed. */
export interface Filter {
  readonly column: string;
  readonly operator: Operator;
  readonly text: string;
}

export interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}

export interface GridQuery {
  readonly table: TableSchema;
  readonly filters: readonly Filter[];
  readonly sort: Sort | null;
}

/** A column by which rows are put in order. */
interface OrderColumn {
  readonly field: Field;
  readonly isDescending: boolean;
}

export type Row = readonly Json[];

/** `cents:>=:500`, as it stands in the address. */
export function filterText({ column, operator, text }: Filter): string {
  return [column, operator, text].map(encodeURIComponent).join(':');
}

export function filterOf(text: string): Filter | undefined {
  const [column, operator, value = ''] = text.split(':').map(decoded);
  const known = operators.find((each) => each === operator);
  if (column === undefined || column === '' || known === undefined) return undefined;
  return { column, operator: known, text: value };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Operators that make sense for a column. */
export function operatorsOf({ type }: Field): readonly Operator[] {
  const inner = type.kind === 'option' ? type.some() : type;
  const nullness: Operator[] = type.kind === 'option' ? ['null', 'some'] : [];
  if (!isOrdered(inner)) return nullness;
  if (inner.kind === 'bool') return ['=', ...nullness];
  if (inner.kind === 'string') return ['=', '<>', 'contains', '<', '<=', '>', '>=', ...nullness];
  return ['=', '<>', '<', '<=', '>', '>=', ...nullness];
}

export type Condition =
  | { readonly kind: 'sql'; readonly sql: string }
  | { readonly kind: 'wrong'; readonly why: string };

/** The condition as SQL, as its chip shows it. */
export function conditionOf(table: TableSchema, filter: Filter): Condition {
  const field = table.columns.find(({ name }) => name === filter.column);
  if (field === undefined) return { kind: 'wrong', why: `Column ${filter.column} does not exist.` };
  const name = quoteName(field.name);
  if (filter.operator === 'null') return { kind: 'sql', sql: `${name} IS NULL` };
  if (filter.operator === 'some') return { kind: 'sql', sql: `${name} IS NOT NULL` };
  if (filter.operator === 'contains') {
    return { kind: 'sql', sql: `contains(${name}, ${quoteText(filter.text)})` };
  }
  const type = field.type.kind === 'option' ? field.type.some() : field.type;
  const literal = literalOfText(type, filter.text);
  if (literal.kind === 'wrong') return literal;
  return { kind: 'sql', sql: `${name} ${filter.operator} ${literal.sql}` };
}

/** The order of the rows: the chosen column, and the key after it, so that it stays the same. */
export function orderOf({ table, sort }: GridQuery): readonly OrderColumn[] {
  const key = table.columns.find(({ name }) => name === table.primaryKey);
  const chosen = table.columns.find(({ name }) => name === sort?.column);
  const isDescending = sort?.isDescending ?? false;
  const first = chosen !== undefined && isOrdered(chosen.type) ? [chosen] : [];
  const rest = key !== undefined && key !== first[0] && isOrdered(key.type) ? [key] : [];
  return [...first, ...rest].map((field) => ({ field, isDescending }));
}

/** Whether a block can be found by the row before it, instead of by counting rows. */
export function hasAnchors(query: GridQuery): boolean {
  const order = orderOf(query);
  const hasKey = order.at(-1)?.field.name === query.table.primaryKey;
  return hasKey && order.every(({ field }) => isExact(field.type));
}

/** Whether the rows come in the order of the primary key alone. */
export function isByKey(query: GridQuery): boolean {
  return hasAnchors(query) && orderOf(query).length === 1;
}

/** Which rows: from a number on, or those after or before a row. */
export type Stretch =
  | { readonly kind: 'at'; readonly offset: number }
  | { readonly kind: 'after' | 'before'; readonly row: Row };

/** Reads `count` rows. Those before a row come backwards. */
export function windowSql(query: GridQuery, stretch: Stretch, count: number): string {
  const isBackwards = stretch.kind === 'before';
  const order = orderOf(query).map(({ field, isDescending }) => {
    return `${quoteName(field.name)}${isDescending !== isBackwards ? ' DESC' : ''}`;
  });
  const where = [...conditionsOf(query)];
  if (stretch.kind !== 'at') where.push(placeSql(query, stretch.kind, stretch.row));
  const parts = [
    `SELECT * FROM ${quoteName(query.table.name)}`,
    ...(where.length > 0 ? [`WHERE ${where.join(' AND ')}`] : []),
    ...(order.length > 0 ? [`ORDER BY ${order.join(', ')}`] : []),
    `LIMIT ${count}`,
    ...(stretch.kind === 'at' && stretch.offset > 0 ? [`OFFSET ${stretch.offset}`] : []),
  ];
  return parts.join(' ');
}

export function countSql(query: GridQuery): string {
  const where = conditionsOf(query);
  const condition = where.length > 0 ? ` WHERE ${where.join(' AND ')}` : '';
  return `SELECT COUNT(*) AS n FROM ${quoteName(query.table.name)}${condition}`;
}

/**
 * What a subscription watches for rows between two others, both included; `null` for no bound. The
 * rows are in the order of the key.
 */
export function watchSql(query: GridQuery, first: Row | null, last: Row | null): string {
  const isDescending = orderOf(query)[0]?.isDescending === true;
  const [low, high] = isDescending ? [last, first] : [first, last];
  const where = [...conditionsOf(query)];
  const key = quoteName(query.table.primaryKey ?? '');
  if (low !== null) where.push(`${key} >= ${keyLiteral(query.table, low)}`);
  if (high !== null) where.push(`${key} <= ${keyLiteral(query.table, high)}`);
  const condition = where.length > 0 ? ` WHERE ${where.join(' AND ')}` : '';
  return `SELECT * FROM ${quoteName(query.table.name)}${condition}`;
}

/** The key of a row as a literal; empty for tables without one. */
export function keyLiteral(table: TableSchema, row: Row): string {
  const at = table.columns.findIndex(({ name }) => name === table.primaryKey);
  const field = table.columns[at];
  return field === undefined ? '' : valueLiteral(field, row[at]);
}

function valueLiteral({ type }: Field, value: Json | undefined): string {
  const literal = literalOfText(type, typedText(type, value));
  return literal.kind === 'literal' ? literal.sql : 'NULL';
}

function conditionsOf({ table, filters }: GridQuery): readonly string[] {
  return filters.flatMap((filter) => {
    const condition = conditionOf(table, filter);
    return condition.kind === 'sql' ? [condition.sql] : [];
  });
}

/** Rows after or before one, in the order of the query. */
function placeSql(query: GridQuery, kind: 'after' | 'before', row: Row): string {
  const order = orderOf(query);
  const isUp = (kind === 'after') !== (order[0]?.isDescending === true);
  const names = order.map(({ field }) => quoteName(field.name));
  const values = order.map(({ field }) => {
    return valueLiteral(field, row[query.table.columns.indexOf(field)]);
  });
  const sign = isUp ? '>' : '<';
  if (names.length === 1) return `${names[0]} ${sign} ${values[0]}`;
  return `(${names.join(', ')}) ${sign} (${values.join(', ')})`;
}

/** A text that is the same for the same row: its key, or all of it. */
export function rowKey(table: TableSchema, row: Row): string {
  const at = table.columns.findIndex(({ name }) => name === table.primaryKey);
  return JSON.stringify(at < 0 ? row : row[at]);
}

import { columnOf } from './builder.ts';
import { columnsOf } from './composite.ts';
import {
  BooleanExpr,
  type Condition,
  compare,
  conditionOf,
  conditionToSql,
  type Operand,
  type Operator,
  operandOf,
  operandToSql,
  operatorTexts,
  quoted,
} from './query-expression.ts';
import type { QueryBuilder, RowTypedQuery } from './query-types.ts';
import { DeclaredTable } from './table.ts';

/** The table that a query's rows come from, and its spelling. */
interface Source {
  readonly name: string;
  readonly row: Readonly<Record<string, object>>;
}

interface Join {
  /** The table that is only joined, not returned; written first. */
  readonly through: Source;
  readonly left: Operand;
  readonly right: Operand;
}

const queryMark: unique symbol = Symbol.for('reducerdb.query.v1');

/**
 * Starting points of queries over the tables of a schema.
 *
 * @example
 * ```ts
 * const from = makeQueryBuilder(db.schemaType);
 * toSql(from.hero.where((hero) => hero.level.gt(3))); // SELECT * FROM "hero" WHERE …
 * ```
 */
export function makeQueryBuilder<Tables extends Readonly<Record<string, unknown>>>(
  tables: Tables,
): QueryBuilder<Tables> {
  // The classes below build text; `query-types.ts` defines what compiles.
  return queriesOver(tables, '') as unknown as QueryBuilder<Tables>;
}

/** Starting points of queries; `namespace` (`''`, `lib.`, …) is prefixed to the table names. */
export function queriesOver(
  tables: Readonly<Record<string, unknown>>,
  namespace: string,
): Readonly<Record<string, TableQuery>> {
  const from: Record<string, TableQuery> = {};
  for (const [key, table] of Object.entries(tables)) {
    if (!(table instanceof DeclaredTable)) continue;
    from[key] = new TableQuery(sourceOf(namespace + key, table));
  }
  return Object.freeze(from);
}

/**
 * The SQL text of a query.
 *
 * @example
 * ```ts
 * toSql(ctx.from.hero); // SELECT * FROM "hero"
 * ```
 */
export function toSql(query: RowTypedQuery<any, any>): string {
  return query.toSql();
}

/**
 * Whether `value` is a query.
 *
 * @example
 * ```ts
 * const sql = isTypedQuery(value) ? toSql(value) : undefined;
 * ```
 */
export function isTypedQuery(value: unknown): value is RowTypedQuery<unknown> {
  return typeof value === 'object' && value !== null && queryMark in value;
}

/**
 * Whether `value` is a query whose rows have a type. Every query is one.
 *
 * @example
 * ```ts
 * const sql = isRowTypedQuery(value) ? toSql(value) : undefined;
 * ```
 */
export function isRowTypedQuery(value: unknown): value is RowTypedQuery<unknown> {
  return isTypedQuery(value);
}

/** Rows of one table, filtered, optionally only those with a match in another. */
export class FilteredQuery {
  readonly [queryMark] = true;
  readonly source: Source;
  readonly conditions: readonly Condition[];
  readonly #join: Join | undefined;

  constructor(source: Source, conditions: readonly Condition[], join?: Join) {
    this.source = source;
    this.conditions = conditions;
    this.#join = join;
  }

  where(predicate: (row: Source['row']) => unknown): FilteredQuery {
    return new FilteredQuery(this.source, this.conditionsAnd(predicate), this.#join);
  }

  conditionsAnd(predicate: (row: Source['row']) => unknown): readonly Condition[] {
    return [...this.conditions, conditionOf(predicate(this.source.row))];
  }

  build(): this {
    return this;
  }

  toSql(): string {
    const table = quoted(this.source.name);
    const { conditions } = this;
    const [only] = conditions;
    const condition: Condition | undefined =
      conditions.length > 1 ? { kind: 'and', parts: conditions } : only;
    const where = condition === undefined ? '' : ` WHERE ${conditionToSql(condition)}`;
    if (this.#join === undefined) return `SELECT * FROM ${table}${where}`;
    const { through, left, right } = this.#join;
    const on = `${operandToSql(left)} = ${operandToSql(right)}`;
    return `SELECT ${table}.* FROM ${quoted(through.name)} JOIN ${table} ON ${on}${where}`;
  }
}

export class TableQuery extends FilteredQuery {
  constructor(source: Source, conditions: readonly Condition[] = []) {
    super(source, conditions);
  }

  override where(predicate: (row: Source['row']) => unknown): TableQuery {
    return new TableQuery(this.source, this.conditionsAnd(predicate));
  }

  leftSemijoin(other: TableQuery, on: JoinCallback): FilteredQuery {
    const { left, right } = this.#condition(other, on);
    const join = { through: other.source, left: right, right: left };
    return new FilteredQuery(this.source, [...this.conditions, ...other.conditions], join);
  }

  rightSemijoin(other: TableQuery, on: JoinCallback): FilteredQuery {
    const join = { through: this.source, ...this.#condition(other, on) };
    return new FilteredQuery(other.source, [...this.conditions, ...other.conditions], join);
  }

  #condition(other: TableQuery, on: JoinCallback): { left: Operand; right: Operand } {
    if (other.source.name === this.source.name) {
      throw new Error('Cannot semijoin a table to itself');
    }
    const condition = conditionOf(on(this.source.row, other.source.row));
    if (condition.kind !== 'compare' || condition.operator !== 'eq') {
      throw new TypeError('a semijoin compares two columns with eq');
    }
    const { left, right } = condition;
    const isTurned = left.kind === 'column' && left.table === other.source.name;
    return isTurned ? { left: right, right: left } : { left, right };
  }
}

type JoinCallback = (left: Source['row'], right: Source['row']) => unknown;

function sourceOf(name: string, table: DeclaredTable): Source {
  const columns = Object.entries(columnsOf(table.rowType)).map(([key, builder]) => {
    return { key, name: columnOf(builder).traits.name ?? key };
  });
  return sourceOfColumns(name, columns);
}

function sourceOfColumns(name: string, columns: readonly QueriedColumn[]): Source {
  const row: Record<string, object> = {};
  for (const { key, name: column } of columns) {
    row[key] = columnExpression({ kind: 'column', table: name, column, key });
  }
  return { name, row: Object.freeze(row) };
}

/**
 * The query for all rows of a table of which only the name is known: it accepts any column, under
 * the name that the program uses.
 */
export function queryOfUnknownTable(name: string): TableQuery {
  const row = new Proxy<Record<string, object>>(
    {},
    {
      get: (_row, key) => {
        const column = String(key);
        return columnExpression({ kind: 'column', table: name, column, key: column });
      },
    },
  );
  return new TableQuery({ name, row });
}

/** A column's names in the program and in the database. */
export interface QueriedColumn {
  readonly key: string;
  readonly name: string;
}

/** The query for all rows of a table that is not declared in the program: its names are given. */
export function queryOfTable(name: string, columns: readonly QueriedColumn[]): TableQuery {
  return new TableQuery(sourceOfColumns(name, columns));
}

/** A column with its comparisons. */
function columnExpression(operand: Operand): object {
  const operators = Object.keys(operatorTexts) as readonly Operator[];
  const methods = operators.map((operator) => [
    operator,
    (other: unknown) => new BooleanExpr(compare(operator, operand, operandOf(other))),
  ]);
  const like = (pattern?: string) => new BooleanExpr({ kind: 'test', operand, pattern });
  return Object.freeze({
    operand,
    ...Object.fromEntries(methods),
    in: (values: readonly unknown[]) =>
      new BooleanExpr({
        kind: 'or',
        parts: values.map((value) => compare('eq', operand, operandOf(value))),
      }),
    like,
    isNull: () => like(),
  });
}

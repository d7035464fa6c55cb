import { present } from '../../assert.ts';
import type { ColumnSpec, TableSpec } from '../../schema/catalog.ts';
import type {
  Delete,
  From,
  Insert,
  SelectItem,
  Span,
  StoredExpression,
  Update,
} from '../syntax/ast.ts';
import { checkConflict } from './check-conflict.ts';
import { checkFrom, tableNamed } from './check-from.ts';
import { checkQuery } from './check-query.ts';
import { checkItems } from './check-select.ts';
import { mapItems, requireResolved } from './coerce-query.ts';
import { type Environment, refuse } from './context.ts';
import { columnsHint } from './insert-hint.ts';
import {
  columnPosition,
  emptyScope,
  requireDistinct,
  type Scope,
  type ScopeRelation,
} from './scope.ts';
import { defaultOf, typeStoredOrDefault } from './type-default.ts';
import { typeCondition } from './type-expression.ts';
import { storedValue, typeStored } from './type-stored.ts';
import type {
  StatementParts,
  TypedBeside,
  TypedConstant,
  TypedDelete,
  TypedExpression,
  TypedInsert,
  TypedReturning,
  TypedUpdate,
} from './typed.ts';
import { fieldPosition, type Target, targetRelation, typedAssignments } from './write-target.ts';

/** The parts that complete a checked write. */
export type WriteParts = StatementParts;

export function checkInsert(
  insert: Insert,
  environment: Environment,
): Omit<TypedInsert, keyof WriteParts> {
  const { source, tableSpan } = insert;
  const table = targetNamed(insert.table, tableSpan, environment);
  const into = insertedInto(insert, table, environment);
  const typedSource =
    source.kind === 'values'
      ? insertedRows(insert, source.rows, into, environment)
      : insertedQuery(insert, source, into, environment);
  const target = { name: insert.table, table };
  const conflict = insert.conflict && checkConflict(insert.conflict, target, environment);
  const returning = returningOf(insert.returning, target, environment);
  return { kind: 'insert', table, source: typedSource, conflict, returning };
}

/** Assignments read the old row; the first of two for one column wins. */
export function checkUpdate(
  update: Update,
  environment: Environment,
): Omit<TypedUpdate, keyof WriteParts> {
  const { table: name, tableSpan } = update;
  const table = targetNamed(name, tableSpan, environment);
  const { relation, inScope } = targetRelation({ name, table }, environment, update.alias);
  const beside = besideOf(update.from, inScope, environment);
  const place: Environment = { ...environment, scope: beside.scope };
  const assignments = typedAssignments(update.assignments, { name, table }, place);
  const where = update.where && typeCondition(update.where, { ...place, aggregates: 'WHERE' });
  const returning = returningIn(update.returning, inScope, inside(inScope, environment));
  const { typed } = beside;
  return { kind: 'update', relation, table, assignments, beside: typed, where, returning };
}

export function checkDelete(
  statement: Delete,
  environment: Environment,
): Omit<TypedDelete, keyof WriteParts> {
  const { table: name, tableSpan } = statement;
  const table = targetNamed(name, tableSpan, environment);
  const { relation, inScope } = targetRelation({ name, table }, environment, statement.alias);
  const beside = besideOf(statement.using, inScope, environment);
  const place: Environment = { ...environment, scope: beside.scope, aggregates: 'WHERE' };
  const where = statement.where && typeCondition(statement.where, place);
  const returning = returningIn(statement.returning, inScope, inside(inScope, environment));
  return { kind: 'delete', relation, table, beside: beside.typed, where, returning };
}

/** The relations of FROM or USING, and the scope of all; conditions of joins see only those. */
function besideOf(
  from: From | undefined,
  target: ScopeRelation,
  environment: Environment,
): { readonly typed: TypedBeside | undefined; readonly scope: Scope } {
  if (from === undefined) {
    return { typed: undefined, scope: { relations: [target], outer: undefined } };
  }
  const { relations, joins, scope } = checkFrom(from, environment);
  const all = [target, ...scope.relations];
  requireDistinct(
    all.map(({ name }) => name),
    (message) => refuse(message, from.span, environment),
  );
  return { typed: { relations, joins }, scope: { relations: all, outer: undefined } };
}

function targetNamed(name: string, span: Span, environment: Environment): TableSpec {
  // A common table cannot be written to, so only the schema is searched.
  const table = tableNamed({ name, span }, { ...environment, commonTables: undefined });
  if (environment.statement.schema.views.has(table.id)) {
    throw refuse(`\`${name}\` is a view; DML on views is not supported`, span, environment);
  }
  return table;
}

interface InsertedInto {
  readonly table: TableSpec;
  /** The table position of each name in the column list. */
  readonly positions: readonly number[];
  /** What the columns that the list leaves out get, by position. */
  readonly defaults: ReadonlyMap<number, TypedConstant>;
}

/** The list of columns is mandatory; columns with a default can be left out of it. */
function insertedInto(insert: Insert, table: TableSpec, environment: Environment): InsertedInto {
  const { table: name, columns, span } = insert;
  const named = new Set(columns.map((column) => columnPosition(table.columns, column)));
  const defaults = new Map<number, TypedConstant>();
  for (let at = 0; at < table.columns.length; at++) {
    const value = named.has(at) ? undefined : defaultOf(table, at, environment.statement);
    if (value !== undefined) defaults.set(at, value);
  }
  const leftCount = table.columns.length - columns.length;
  const isUnlisted = columns.length === 0 && leftCount > 0;
  if (isUnlisted || leftCount < 0 || leftCount > defaults.size) {
    throw refuse(
      `The number of fields (${columns.length}) in the INSERT does not match the number of ` +
        `columns (${table.columns.length}) of the table \`${name}\``,
      span,
      environment,
      columnsHint(insert, table, environment),
    );
  }
  const positions = columns.map((column) => fieldPosition(name, table, column, span, environment));
  requireDistinct(
    positions.map((at) => columnAt(table, at).name),
    (message) => refuse(message, span, environment),
  );
  return { table, positions, defaults };
}

function insertedRows(
  { table: name, span }: Insert,
  rows: readonly (readonly StoredExpression[])[],
  { table, positions, defaults }: InsertedInto,
  environment: Environment,
): TypedInsert['source'] {
  const place: Environment = { ...environment, scope: emptyScope, aggregates: 'VALUES' };
  const typed = rows.map((row) => {
    requireWidth(row.length, { name, table, positions }, row[0]?.span ?? span, environment);
    const values = new Array<TypedExpression>(table.columns.length);
    row.forEach((value, at) => {
      const position = positions[at] as number;
      const stored = { table, position, refusal: 'insertValue' } as const;
      values[position] = typeStoredOrDefault(value, stored, place);
    });
    for (const [position, value] of defaults) values[position] = value;
    return values;
  });
  return { kind: 'values', rows: typed };
}

function insertedQuery(
  { table: name, span }: Insert,
  source: Extract<Insert['source'], { readonly kind: 'query' }>,
  { table, positions, defaults }: InsertedInto,
  environment: Environment,
): TypedInsert['source'] {
  const typed = checkQuery(source.query, environment);
  requireWidth(typed.columns.length, { name, table, positions }, source.query.span, environment);
  const query = mapItems(typed, (item, at) => {
    const column = columnAt(table, positions[at] as number);
    const open = environment.statement.openItems.get(item);
    if (open !== undefined) return typeStored(open.expression, column, open.environment);
    return storedValue(item, column, span, environment);
  });
  const columns = table.columns.map((_, at) => defaults.get(at) ?? positions.indexOf(at));
  return { kind: 'query', query, columns };
}

function requireWidth(
  count: number,
  { name, table, positions }: Target & Pick<InsertedInto, 'positions'>,
  span: Span,
  environment: Environment,
): void {
  if (count === positions.length) return;
  const isWhole = positions.length === table.columns.length;
  const fields = isWhole
    ? `which has ${positions.length} fields`
    : `of which the INSERT names ${positions.length} fields`;
  throw refuse(
    `Inserting a row with ${count} values into \`${name}\` ${fields}`,
    span,
    environment,
  );
}

function columnAt(table: TableSpec, position: number): ColumnSpec {
  return present(table.columns[position], 'a column at every position');
}

function inside(relation: ScopeRelation, environment: Environment): Environment {
  return { ...environment, scope: { relations: [relation], outer: undefined } };
}

function returningOf(
  items: readonly SelectItem[] | undefined,
  target: Target,
  environment: Environment,
): TypedReturning | undefined {
  if (items === undefined) return undefined;
  const { inScope } = targetRelation(target, environment);
  return returningIn(items, inScope, inside(inScope, environment));
}

function returningIn(
  items: readonly SelectItem[] | undefined,
  { slot }: ScopeRelation,
  environment: Environment,
): TypedReturning | undefined {
  if (items === undefined) return undefined;
  const typed = checkItems(items, { ...environment, aggregates: 'RETURNING' });
  for (const { expression } of typed) {
    const open = environment.statement.openItems.get(expression);
    if (open !== undefined) requireResolved(expression, open.expression, environment);
  }
  return {
    slot,
    items: typed.map(({ expression }) => expression),
    columns: typed.map(({ name, expression: { type, isNullable } }) => ({
      name,
      type,
      isNullable,
    })),
  };
}

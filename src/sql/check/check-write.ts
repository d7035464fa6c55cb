import { present } from '../../assert.ts';
import type { ColumnSpec, TableSpec } from '../../schema/catalog.ts';
import type { Delete, Expression, Insert, SelectItem, Span, Update } from '../syntax/ast.ts';
import { tableNamed } from './check-from.ts';
import { checkQuery } from './check-query.ts';
import { checkItems } from './check-select.ts';
import { mapItems, requireResolved } from './coerce-query.ts';
import { type Environment, refuse } from './context.ts';
import {
  columnPosition,
  columnsOfTable,
  emptyScope,
  requireDistinct,
  type ScopeRelation,
} from './scope.ts';
import { typeCondition } from './type-expression.ts';
import { storedValue, typeStored } from './type-stored.ts';
import type {
  StatementParts,
  TypedDelete,
  TypedExpression,
  TypedInsert,
  TypedRelation,
  TypedReturning,
  TypedUpdate,
} from './typed.ts';
import { nameHint } from './visibility.ts';

/** The parts that complete a checked write. */
export type WriteParts = StatementParts;

export function checkInsert(
  insert: Insert,
  environment: Environment,
): Omit<TypedInsert, keyof WriteParts> {
  const { source, tableSpan } = insert;
  const table = targetNamed(insert.table, tableSpan, environment);
  const positions = insertPositions(insert, table, environment);
  const typedSource =
    source.kind === 'values'
      ? insertedRows(insert, source.rows, { table, positions }, environment)
      : insertedQuery(insert, source, { table, positions }, environment);
  const returning = returningOf(insert.returning, { name: insert.table, table }, environment);
  return { kind: 'insert', table, source: typedSource, returning };
}

/** Assignments read the old row; the first of two for one column wins. */
export function checkUpdate(
  update: Update,
  environment: Environment,
): Omit<TypedUpdate, keyof WriteParts> {
  const { table: name, tableSpan } = update;
  const table = targetNamed(name, tableSpan, environment);
  const { relation, inScope } = targetRelation({ name, table }, environment);
  const place = inside(inScope, environment);
  const typed = new Map<number, TypedExpression>();
  for (const { column, value, span: at } of update.assignments) {
    const position = fieldPosition(name, table, column, at, environment);
    const spec = present(table.columns[position], 'a column at every position');
    const assigned = typeStored(value, spec, { ...place, aggregates: 'SET' });
    if (!typed.has(position)) typed.set(position, assigned);
  }
  const where = update.where && typeCondition(update.where, { ...place, aggregates: 'WHERE' });
  const returning = returningIn(update.returning, inScope, place);
  const assignments = [...typed].map(([column, value]) => ({ column, value }));
  return { kind: 'update', relation, table, assignments, where, returning };
}

export function checkDelete(
  statement: Delete,
  environment: Environment,
): Omit<TypedDelete, keyof WriteParts> {
  const { table: name, tableSpan } = statement;
  const table = targetNamed(name, tableSpan, environment);
  const { relation, inScope } = targetRelation({ name, table }, environment);
  const place = inside(inScope, environment);
  const where =
    statement.where && typeCondition(statement.where, { ...place, aggregates: 'WHERE' });
  const returning = returningIn(statement.returning, inScope, place);
  return { kind: 'delete', relation, table, where, returning };
}

interface Target {
  /** As the statement writes it. */
  readonly name: string;
  readonly table: TableSpec;
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
}

function insertPositions(
  { table: name, columns, span }: Insert,
  table: TableSpec,
  environment: Environment,
): readonly number[] {
  const columnCount = table.columns.length;
  if (columns.length !== columnCount) {
    const names = table.columns.map((column) => column.name).join(', ');
    throw refuse(
      `The number of fields (${columns.length}) in the INSERT does not match the number of ` +
        `columns (${columnCount}) of the table \`${name}\``,
      span,
      environment,
      `Name all columns: INSERT INTO ${name} (${names}) …`,
    );
  }
  const positions = columns.map((column) => fieldPosition(name, table, column, span, environment));
  requireDistinct(
    positions.map((at) => columnAt(table, at).name),
    (message) => refuse(message, span, environment),
  );
  return positions;
}

function insertedRows(
  { table: name, span }: Insert,
  rows: readonly (readonly Expression[])[],
  { table, positions }: InsertedInto,
  environment: Environment,
): TypedInsert['source'] {
  const place: Environment = { ...environment, scope: emptyScope, aggregates: 'VALUES' };
  const typed = rows.map((row) => {
    requireWidth(row.length, name, table, row[0]?.span ?? span, environment);
    const values = new Array<TypedExpression>(row.length);
    row.forEach((value, at) => {
      const position = positions[at] as number;
      values[position] = typeStored(value, columnAt(table, position), place);
    });
    return values;
  });
  return { kind: 'values', rows: typed };
}

function insertedQuery(
  { table: name, span }: Insert,
  source: Extract<Insert['source'], { readonly kind: 'query' }>,
  { table, positions }: InsertedInto,
  environment: Environment,
): TypedInsert['source'] {
  const typed = checkQuery(source.query, environment);
  requireWidth(typed.columns.length, name, table, source.query.span, environment);
  const query = mapItems(typed, (item, at) => {
    const column = columnAt(table, positions[at] as number);
    const open = environment.statement.openItems.get(item);
    if (open !== undefined) return typeStored(open.expression, column, open.environment);
    return storedValue(item, column, span, environment);
  });
  return { kind: 'query', query, columns: table.columns.map((_, at) => positions.indexOf(at)) };
}

function requireWidth(
  count: number,
  name: string,
  table: TableSpec,
  span: Span,
  environment: Environment,
): void {
  if (count === table.columns.length) return;
  const message =
    `Inserting a row with ${count} values into \`${name}\` which has ` +
    `${table.columns.length} fields`;
  throw refuse(message, span, environment);
}

/** Position of the column that a write names. */
function fieldPosition(
  name: string,
  table: TableSpec,
  column: string,
  span: Span,
  environment: Environment,
): number {
  const position = columnPosition(table.columns, column);
  if (position !== -1) return position;
  const hint = nameHint(
    column,
    table.columns.map((candidate) => candidate.name),
  );
  throw refuse(`\`${name}\` does not have a field \`${column}\``, span, environment, hint);
}

function columnAt(table: TableSpec, position: number): ColumnSpec {
  return present(table.columns[position], 'a column at every position');
}

function targetRelation(
  { name, table }: Target,
  { statement }: Environment,
): { readonly relation: TypedRelation; readonly inScope: ScopeRelation } {
  const slot = statement.newSlot();
  statement.tableSlots.add(slot);
  const source = { kind: 'table', table } as const;
  return {
    relation: { slot, name, source, security: undefined, isNullable: false },
    inScope: { slot, name, columns: columnsOfTable(table), isNullable: false },
  };
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

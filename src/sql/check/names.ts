import { present } from '../../assert.ts';
import type { ColumnSpec, TableSpec } from '../../schema/catalog.ts';
import { invalid } from '../failure.ts';
import type { ColumnReference } from '../syntax/ast.ts';
import type { TypedColumn, TypedRelation } from './typed.ts';

/** The relations that an expression may refer to, in FROM order. */
export type Scope = readonly TypedRelation[];

/** The column that a reference in an expression means. */
export function resolveColumn(reference: ColumnReference, scope: Scope): TypedColumn {
  const { name } = reference;
  const relation = relationPosition(reference.relation, scope);
  const { columns } = present(scope[relation], 'the relation just found').table;
  const column = columnPosition(columns, name);
  const spec = columns[column];
  if (spec === undefined) throw notInScope(name);
  return { kind: 'column', relation, column, spec };
}

/** Position of the column that a write names. `tableName` is how the statement writes the table. */
export function fieldPosition(tableName: string, table: TableSpec, name: string): number {
  const position = columnPosition(table.columns, name);
  if (position === -1) throw invalid(`\`${tableName}\` does not have a field \`${name}\``);
  return position;
}

/** Refuses a name that occurs twice. */
export function requireDistinct(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw invalid(`Duplicate name \`${name}\``);
    seen.add(name);
  }
}

export function notInScope(name: string): Error {
  return invalid(`\`${name}\` is not in scope`);
}

/** Without a qualifier there is one relation only; a join requires qualifiers. */
function relationPosition(name: string | undefined, scope: Scope): number {
  if (name === undefined) return 0;
  const position = scope.findIndex((relation) => relation.name === name);
  if (position === -1) throw notInScope(name);
  return position;
}

/** The module's spelling first, then the canonical one. */
function columnPosition(columns: readonly ColumnSpec[], name: string): number {
  const bySource = columns.findIndex((column) => column.sourceName === name);
  return bySource !== -1 ? bySource : columns.findIndex((column) => column.name === name);
}

import type { TableSpec } from '../../schema/catalog.ts';
import type { Assignment, Span } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { columnPosition, columnsOfTable, type ScopeRelation } from './scope.ts';
import { typeStoredOrDefault } from './type-default.ts';
import type { TypedAssignment, TypedExpression, TypedRelation } from './typed.ts';
import { nameHint } from './visibility.ts';

/** The table that a write changes. */
export interface Target {
  /** As the statement writes it. */
  readonly name: string;
  readonly table: TableSpec;
}

/** Assignments read the rows of `place`; the first of two for one column wins. */
export function typedAssignments(
  assignments: readonly Assignment[],
  { name, table }: Target,
  place: Environment,
): readonly TypedAssignment[] {
  const typed = new Map<number, TypedExpression>();
  for (const { column, value, span: at } of assignments) {
    const position = fieldPosition(name, table, column, at, place);
    const stored = { table, position, refusal: 'assignment' } as const;
    const assigned = typeStoredOrDefault(value, stored, { ...place, aggregates: 'SET' });
    if (!typed.has(position)) typed.set(position, assigned);
  }
  return [...typed].map(([column, value]) => ({ column, value }));
}

/** Position of the column that a write names. */
export function fieldPosition(
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

/** The table as a relation, by its alias if it has one. */
export function targetRelation(
  { name: written, table }: Target,
  { statement }: Environment,
  alias?: string,
): { readonly relation: TypedRelation; readonly inScope: ScopeRelation } {
  const slot = statement.newSlot();
  statement.tableSlots.add(slot);
  const name = alias ?? written;
  const source = { kind: 'table', table } as const;
  return {
    relation: { slot, name, source, security: undefined, isNullable: false },
    inScope: { slot, name, columns: columnsOfTable(table), isNullable: false, table },
  };
}

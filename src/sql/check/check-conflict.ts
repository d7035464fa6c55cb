import type { IndexSpec, TableSpec } from '../../schema/catalog.ts';
import type { Conflict } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import type { Scope } from './scope.ts';
import { typeCondition } from './type-expression.ts';
import type { TypedConflict } from './typed.ts';
import { nameHint } from './visibility.ts';
import { fieldPosition, type Target, targetRelation, typedAssignments } from './write-target.ts';

/** By this name the row that is not inserted can be read. */
const excludedName = 'excluded';

/**
 * `ON CONFLICT`: its columns are those of a unique index, in any order, or of a constraint by name.
 * Unqualified names mean the row that is there.
 */
export function checkConflict(
  conflict: Conflict,
  target: Target,
  environment: Environment,
): TypedConflict {
  const indexes = conflictIndexes(conflict, target, environment);
  const { update } = conflict;
  if (update === undefined) return { indexes, update: undefined };
  const existing = targetRelation(target, environment);
  const excluded = targetRelation({ ...target, name: excludedName }, environment);
  const outer: Scope = { relations: [excluded.inScope], outer: undefined };
  const scope: Scope = { relations: [existing.inScope], outer };
  const place: Environment = { ...environment, scope };
  return {
    indexes,
    update: {
      slot: existing.relation.slot,
      excludedSlot: excluded.relation.slot,
      assignments: typedAssignments(update.assignments, target, place),
      where: update.where && typeCondition(update.where, { ...place, aggregates: 'WHERE' }),
    },
  };
}

function conflictIndexes(
  { constraint, columns, span }: Conflict,
  { name, table }: Target,
  environment: Environment,
): readonly IndexSpec[] {
  const uniques = table.indexes.filter(({ isUnique }) => isUnique);
  if (constraint !== undefined) {
    const found = table.constraints.find((one) => one.name === constraint);
    if (found !== undefined) return withColumns(uniques, found.columns);
    const hint = nameHint(
      constraint,
      table.constraints.map((one) => one.name),
    );
    throw refuse(`\`${name}\` has no unique constraint \`${constraint}\``, span, environment, hint);
  }
  if (columns.length === 0) return uniques;
  const found = withColumns(
    uniques,
    columns.map((column) => fieldPosition(name, table, column, span, environment)),
  );
  if (found.length > 0) return found;
  const keys = uniques.map((index) => `(${namesOf(index, table)})`);
  const hint = keys.length === 0 ? 'It has no unique key' : `Its unique keys: ${keys.join(', ')}`;
  const message = `\`${name}\` has no unique key (${columns.join(', ')})`;
  throw refuse(message, span, environment, hint);
}

function withColumns(
  indexes: readonly IndexSpec[],
  columns: readonly number[],
): readonly IndexSpec[] {
  const wanted = new Set(columns);
  return indexes.filter(({ columns: key }) => {
    return key.length === wanted.size && key.every((column) => wanted.has(column));
  });
}

function namesOf({ columns }: IndexSpec, table: TableSpec): string {
  return columns.map((column) => table.columns[column]?.name ?? '').join(', ');
}

import type { ModuleDefinition } from '../../schema/definition.ts';
import { fullTablesOf } from '../../schema/flatten.ts';
import { planMigration } from '../../schema/migration-plan.ts';
import type { MigrationStep } from '../../schema/migration-steps.ts';

/**
 * Why the change from one definition to the next cannot be taken back without a person;
 * `undefined`: it can, whatever the rows are by then.
 */
export function wayBackFault(before: ModuleDefinition, after: ModuleDefinition) {
  const back = planMigration(after, before);
  if (back.kind === 'manual') return back.reason;
  const faults = back.steps.flatMap((step) => stepFault(step) ?? []);
  return faults.length === 0 ? undefined : faults.join('\n');
}

/** Steps that can fail, or lose something, with rows that will have come by then. */
function stepFault(step: MigrationStep): string | undefined {
  switch (step.kind) {
    case 'removeTable':
      return `the new table \`${step.table}\` would have to be empty`;
    case 'addConstraint': {
      const columns = step.columns.join(', ');
      return `[${columns}] of table \`${step.table}\` would have to be unique again`;
    }
    case 'addSequence':
      return `column \`${step.column}\` of table \`${step.table}\` would count up again`;
    default:
      return undefined;
  }
}

/** Something that an earlier definition has no place for. */
export interface Loss {
  readonly table: string;
  /** `undefined`: the whole table. */
  readonly column: string | undefined;
  readonly rowCount: number;
}

/**
 * What rows would lose on the way to an earlier definition. `rowCounts`: of the tables of the
 * running one, by full canonical name.
 */
export function lossesOf(
  running: ModuleDefinition,
  earlier: ModuleDefinition,
  rowCounts: ReadonlyMap<string, number>,
): readonly Loss[] {
  const known = new Map(fullTablesOf(earlier).map(({ table }) => [table.name, table]));
  return fullTablesOf(running).flatMap(({ table }): readonly Loss[] => {
    const rowCount = rowCounts.get(table.name) ?? 0;
    if (rowCount === 0) return [];
    const match = known.get(table.name);
    if (match === undefined) return [{ table: table.name, column: undefined, rowCount }];
    const names = new Set(match.columns.map(({ name }) => name));
    const gone = table.columns.filter(({ name }) => !names.has(name));
    return gone.map(({ name }) => ({ table: table.name, column: name, rowCount }));
  });
}

/** One line for each loss. */
export function lossText({ table, column, rowCount }: Loss): string {
  const rows = rowCount === 1 ? '1 row' : `${rowCount} rows`;
  if (column === undefined) return `- table \`${table}\`: ${rows}`;
  return `- column \`${column}\` of table \`${table}\`: its values in ${rows}`;
}

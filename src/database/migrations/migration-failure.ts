import type { PlannedStage } from '../../schema/declared-plan.ts';
import type { ConflictGroups } from '../../store/duplicates.ts';
import { conflictText, uniqueKeyText } from '../../store/duplicates.ts';
import { ConflictError, MigrationError } from '../../store/migrate.ts';
import type { Table } from '../../store/table.ts';

/** A row that was being migrated. */
export interface RowPlace {
  /** The table that it is in. */
  readonly table: Table;
  /** The row, at the start. */
  readonly row: Uint8Array;
}

/** The failure of a step, with the row if it was about one. */
export function stepFailure(
  { ids }: Pick<PlannedStage, 'ids'>,
  step: string,
  message: string,
  place?: RowPlace,
): MigrationError {
  const where = place === undefined ? '' : `, ${placeText(place)}`;
  const why = message.replace(/^Uncaught (?:Error: )?/, '');
  return new MigrationError(`Migration ${idsText(ids)}, ${step}${where}: ${why}`);
}

/** The rows that a migration made share unique keys. */
export function migrationConflict(
  { ids }: Pick<PlannedStage, 'ids'>,
  conflicts: readonly ConflictGroups[],
): ConflictError {
  const text = `Migration ${idsText(ids)}: ${conflicts.map(conflictText).join('\n')}`;
  return new ConflictError(text, conflicts);
}

export function idsText(ids: readonly string[]): string {
  const [first = '', ...others] = ids;
  const last = others.at(-1);
  return last === undefined ? first : `${first} to ${last}`;
}

function placeText({ table, row }: RowPlace): string {
  const key = uniqueKeyText(table, row);
  const name = `table ${table.spec.name}`;
  return key === undefined ? name : `${name}, row with ${key}`;
}

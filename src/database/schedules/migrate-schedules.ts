import type { ModuleDefinition } from '../../schema/definition.ts';
import type { TableId } from '../../schema/ids.ts';
import type { ChangeSet } from '../../store/change-set.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ArmedTable } from './armed-table.ts';
import { deriveMissing } from './derive.ts';
import { type Control, type ControlRows, noControl, type RowKey } from './schedule-tables.ts';
import type { Armed, Schedules } from './schedules.ts';

/**
 * Takes the schedules of another program, whose tables the store has now. Schedules that stay keep
 * their due times; rows of a table that is scheduled from now on, and new crons, are due counted
 * from now; what belonged to schedules that are gone is removed. `rewritten`: tables whose rows are
 * others now. Returns the changes, which belong to the record of the update.
 */
export function migrateSchedules(
  { schedules, store }: { readonly schedules: Schedules; readonly store: Store },
  definition: ModuleDefinition,
  nowMicros: number,
  rewritten: ReadonlySet<TableId> = new Set(),
): ChangeSet | undefined {
  const before = schedules.all;
  schedules.serve(definition);
  if (before.length === 0 && !schedules.isNeeded) return undefined;
  const columns = atColumnsOf(before);
  const kept = new Set<TableId>();
  const added: ArmedTable[] = [];
  for (const armed of schedules.all) {
    if (armed.kind === 'cron') continue;
    const isSame = columns.get(armed.id) === armed.definition.atColumn;
    if (isSame && !rewritten.has(armed.id)) kept.add(armed.id);
    else added.push(armed);
  }
  const transaction = store.begin();
  if ([...columns.keys()].some((id) => !kept.has(id))) removeRows(schedules, transaction, kept);
  for (const armed of added) deriveMissing(transaction, armed, schedules.hidden, nowMicros);
  removeControls(schedules, transaction);
  schedules.beginCrons(transaction, nowMicros);
  const changes = transaction.commitJoined();
  schedules.committed(changes);
  for (const armed of added) schedules.rebuild(armed);
  return changes;
}

/** The column with the times of each scheduled table. */
function atColumnsOf(all: readonly Armed[]): ReadonlyMap<TableId, number> {
  const columns = new Map<TableId, number>();
  for (const armed of all) {
    if (armed.kind === 'table') columns.set(armed.id, armed.definition.atColumn);
  }
  return columns;
}

function removeRows(
  { hidden: { dues, attempts } }: Schedules,
  transaction: Transaction,
  kept: ReadonlySet<TableId>,
): void {
  const gone: RowKey[] = [];
  dues.forEach((schedule, _, high, low) => {
    if (!kept.has(schedule)) gone.push({ schedule, high, low });
  });
  for (const row of gone) dues.remove(transaction, row);
  const repeated: RowKey[] = [];
  attempts.forEach((row) => {
    if (!kept.has(row.schedule)) repeated.push(row);
  });
  for (const row of repeated) attempts.remove(transaction, row);
}

/** A cron that becomes another one keeps whether it is paused. */
function removeControls({ controls, all }: Schedules, transaction: Transaction): void {
  for (const control of controls.all()) {
    const named = all.filter(({ name }) => name === control.name);
    const isCron = named.some(({ kind }) => kind === 'cron');
    if (named.length === 0) controls.remove(transaction, control.name);
    else if (!isCron && control.expression !== '') removeCron(transaction, controls, control);
  }
}

function removeCron(
  transaction: Transaction,
  controls: ControlRows,
  { name, isPaused, paused }: Control,
): void {
  if (isPaused) controls.put(transaction, { ...noControl, name, isPaused, paused });
  else controls.remove(transaction, name);
}

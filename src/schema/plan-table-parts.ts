import { isSameDerivedIndex, isSameSequence, sequenceShape } from './build-catalog.ts';
import type {
  DerivedIndexDefinition,
  IndexDefinition,
  ScheduleDefinition,
  TableDefinition,
} from './definition.ts';
import type { FullTable } from './flatten.ts';
import type { MigrationStep } from './migration-steps.ts';
import {
  type ColumnPlan,
  type PlanRefusal,
  planColumns,
  planEventColumns,
  refuse,
} from './plan-columns.ts';

/** The changes of a table that both definitions have. */
export function planTable(old: FullTable, next: FullTable): ColumnPlan {
  const before = old.table;
  const after = next.table;
  const isEvent = before.isEvent && after.isEvent;
  const columns = isEvent ? planEventColumns(old, next) : planColumns(old, next);
  const steps: MigrationStep[] = [
    ...planAttributes(before, after),
    ...columns.steps,
    ...planIndexes(before, after),
    ...planDerivedIndexes(before, after),
    ...planConstraints(before, after),
    ...planSequences(before, after),
    ...planSchedule(before, after),
  ];
  const refusals = [
    ...refuseFlags(before, after),
    ...columns.refusals,
    ...refuseAccessors(before, after),
    ...refuseConstraints(before, after),
  ];
  return { steps, refusals };
}

function refuseFlags(old: TableDefinition, next: TableDefinition): PlanRefusal[] {
  const refusals: PlanRefusal[] = [];
  const call = dropCall(next);
  if (old.tableType !== next.tableType) {
    const [from, to] = old.tableType === 'user' ? ['User', 'System'] : ['System', 'User'];
    const what = `Changing the table type of table ${next.name} from ${from} to ${to}`;
    refusals.push(refuse(what, call));
  }
  if (old.isEvent !== next.isEvent) {
    refusals.push(refuse(`Changing the event flag of table ${next.name}`, call));
  }
  return refusals;
}

/** A table whose rows the program makes is built again, with all that belongs to it. */
function mapCall({ sourceName }: TableDefinition): string {
  return `m.mapRows('${sourceName}', (old) => old)`;
}

/** The table is then another one of the same name. */
function dropCall({ sourceName }: TableDefinition): string {
  return `m.dropTable('${sourceName}', { rows: 'discard' })`;
}

/** An existing index must not gain or lose its accessor; its name is up to the module. */
function refuseAccessors(old: TableDefinition, next: TableDefinition): PlanRefusal[] {
  return old.indexes.flatMap((index) => {
    const match = next.indexes.find((other) => isSameIndex(index, other));
    if (match === undefined) return [];
    const had = index.accessorName !== undefined;
    if (had === (match.accessorName !== undefined)) return [];
    const change = `from ${presence(index.accessorName)} to ${presence(match.accessorName)}`;
    const what = `Changing the accessor name on index ${index.name} ${change}`;
    return [refuse(what, mapCall(next))];
  });
}

function presence(accessor: string | undefined): string {
  return accessor === undefined ? 'None' : `Some("${accessor}")`;
}

function refuseConstraints(old: TableDefinition, next: TableDefinition): PlanRefusal[] {
  return old.constraints
    .filter(({ name, columns }) => {
      const match = next.constraints.find((other) => other.name === name);
      if (match === undefined) return false;
      return columnNames(next, match.columns).join() !== columnNames(old, columns).join();
    })
    .map(({ name }) => refuse(`Changing a unique constraint ${name}`, mapCall(next)));
}

function planAttributes(old: TableDefinition, next: TableDefinition): MigrationStep[] {
  const table = next.name;
  const steps: MigrationStep[] = [];
  if (old.sourceName !== next.sourceName) {
    steps.push({ kind: 'changeTableSourceName', table, sourceName: next.sourceName });
  }
  if (old.access !== next.access) {
    steps.push({ kind: 'changeAccess', table, from: old.access, to: next.access });
  }
  const from = old.columns[old.primaryKey ?? -1]?.name;
  const to = next.columns[next.primaryKey ?? -1]?.name;
  if (from !== to) steps.push({ kind: 'changePrimaryKey', table, from, to });
  return steps;
}

function planIndexes(old: TableDefinition, next: TableDefinition): MigrationStep[] {
  const table = next.name;
  const removed = old.indexes
    .filter((index) => !next.indexes.some((other) => isSameIndex(index, other)))
    .map((index): MigrationStep => {
      return { kind: 'removeIndex', table, index, columns: columnNames(old, index.columns) };
    });
  const added = next.indexes
    .filter((index) => !old.indexes.some((other) => isSameIndex(index, other)))
    .map((index): MigrationStep => {
      return { kind: 'addIndex', table, index, columns: columnNames(next, index.columns) };
    });
  const respelled = next.indexes
    .filter((index) => {
      const match = old.indexes.find((other) => isSameIndex(index, other));
      return match !== undefined && match.sourceName !== index.sourceName;
    })
    .map(({ name, sourceName }): MigrationStep => {
      return { kind: 'changeIndexSourceName', table, index: name, sourceName };
    });
  return [...removed, ...added, ...respelled];
}

/** Uniqueness changes with a constraint, which has steps of its own. */
function isSameIndex(a: IndexDefinition, b: IndexDefinition): boolean {
  const isSameShape = a.algorithm === b.algorithm && a.columns.join() === b.columns.join();
  return a.name === b.name && isSameShape;
}

function planDerivedIndexes(old: TableDefinition, next: TableDefinition): MigrationStep[] {
  const missing = (from: TableDefinition, to: TableDefinition) =>
    from.derivedIndexes.filter((index) => {
      return !to.derivedIndexes.some((other) => isSameDerivedIndex(index, other));
    });
  const step = (kind: 'removeDerivedIndex' | 'addDerivedIndex', table: TableDefinition) => {
    return (index: DerivedIndexDefinition): MigrationStep => {
      const [column = ''] = columnNames(table, [index.column]);
      return { kind, table: next.name, index, column };
    };
  };
  return [
    ...missing(old, next).map(step('removeDerivedIndex', old)),
    ...missing(next, old).map(step('addDerivedIndex', next)),
  ];
}

function planConstraints(old: TableDefinition, next: TableDefinition): MigrationStep[] {
  const table = next.name;
  const oldNames = new Set(old.constraints.map(({ name }) => name));
  const nextNames = new Set(next.constraints.map(({ name }) => name));
  const removed = old.constraints
    .filter(({ name }) => !nextNames.has(name))
    .map((constraint): MigrationStep => {
      const columns = columnNames(old, constraint.columns);
      return { kind: 'removeConstraint', table, constraint, columns };
    });
  const added = next.constraints
    .filter(({ name }) => !oldNames.has(name))
    .map((constraint): MigrationStep => {
      const columns = columnNames(next, constraint.columns);
      return { kind: 'addConstraint', table, constraint, columns };
    });
  return [...removed, ...added];
}

function planSequences(old: TableDefinition, next: TableDefinition): MigrationStep[] {
  const table = next.name;
  const missing = (from: TableDefinition, to: TableDefinition) => {
    const shapes = to.sequences.map(sequenceShape);
    return from.sequences.filter((sequence) => {
      return !shapes.some((shape) => isSameSequence(shape, sequenceShape(sequence)));
    });
  };
  const removed = missing(old, next).map((sequence): MigrationStep => {
    const [column = ''] = columnNames(old, [sequence.column]);
    return { kind: 'removeSequence', table, sequence, column };
  });
  const added = missing(next, old).map((sequence): MigrationStep => {
    const [column = ''] = columnNames(next, [sequence.column]);
    return { kind: 'addSequence', table, sequence, column };
  });
  return [...removed, ...added];
}

export function planSchedule(old: TableDefinition, next: TableDefinition): MigrationStep[] {
  const table = next.name;
  const before = old.schedule;
  const after = next.schedule;
  if (isSameSchedule(before, after)) return [];
  const steps: MigrationStep[] = [];
  if (before !== undefined) steps.push({ kind: 'removeSchedule', table, schedule: before });
  if (after !== undefined) steps.push({ kind: 'addSchedule', table, schedule: after });
  return steps;
}

/** What a schedule does about missed times and failures is read from the program that serves. */
function isSameSchedule(
  a: ScheduleDefinition | undefined,
  b: ScheduleDefinition | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isSamePlace = a.name === b.name && a.atColumn === b.atColumn;
  return isSamePlace && a.functionName === b.functionName && a.target === b.target;
}

function columnNames(table: TableDefinition, columns: readonly number[]): string[] {
  return columns.map((column) => table.columns[column]?.name ?? '');
}

import { compareTypes, type TypeConflict } from './compare-types.ts';
import type { ColumnDefinition } from './definition.ts';
import type { FullTable } from './flatten.ts';
import type { AddedColumn, ColumnChange, MigrationStep } from './migration-steps.ts';
import { wholeTypeWords } from './type-words.ts';

/** The changes of a table's columns, or why they are impossible. */
export interface ColumnPlan {
  readonly steps: readonly MigrationStep[];
  readonly refusals: readonly PlanRefusal[];
}

/** A change that the automatic plan does not make. */
export interface PlanRefusal {
  readonly text: string;
  /** The step of a migration that makes it, if one does. */
  readonly call: string | undefined;
}

/** Matches the columns of one table by canonical name. */
export function planColumns(old: FullTable, next: FullTable): ColumnPlan {
  const table = next.table.name;
  const oldColumns = byName(old.table.columns);
  const nextColumns = byName(next.table.columns);
  const removed = old.table.columns.filter(({ name }) => !nextColumns.has(name));
  const added = next.table.columns.filter(({ name }) => !oldColumns.has(name));
  const { sourceName: spelled } = next.table;
  const refusals = [
    ...removed.map((column) => {
      const { name, sourceName } = column;
      const drop = `m.dropColumn('${spelled}', '${sourceName}')`;
      const renamed = added.find((one) => isOfType(column, old, one, next));
      const rename = `m.renameColumn('${spelled}', '${sourceName}', '${renamed?.sourceName}')`;
      const call = renamed === undefined ? drop : `${rename} (or ${drop})`;
      return refuse(`Removing a column ${name} from table ${table}`, call);
    }),
    ...added
      .filter(({ defaultBytes }) => defaultBytes === undefined)
      .map(({ name, sourceName }): PlanRefusal => {
        const what = `Adding a column ${name} to table ${table}`;
        const text = `${what} requires a default value annotation`;
        return { text, call: `m.addColumn('${spelled}', '${sourceName}', { fill: (old) => … })` };
      }),
  ];
  if (isReordered(old, next, removed.length > 0)) {
    const order = next.table.columns.map(({ sourceName }) => `'${sourceName}'`).join(', ');
    const call = `m.moveColumns('${spelled}', [${order}])`;
    refusals.push(refuse(`Reordering table ${table}`, call));
  }
  const steps: MigrationStep[] = [];
  const changed: ColumnChange[] = [];
  for (const column of old.table.columns) {
    const match = nextColumns.get(column.name);
    if (match === undefined) continue;
    if (match.sourceName !== column.sourceName) {
      const { name, sourceName } = match;
      steps.push({ kind: 'changeColumnSourceName', table, column: name, sourceName });
    }
    const comparison = compareTypes({
      old: column.type,
      next: match.type,
      oldTypespace: old.typespace,
      nextTypespace: next.typespace,
    });
    const call = `m.changeColumn('${spelled}', '${match.sourceName}', { using: (old) => … })`;
    refusals.push(
      ...comparison.conflicts.map((conflict) => refuseType(conflict, column, table, call)),
    );
    const isLengthGone = match.vectorLength === undefined && column.vectorLength !== undefined;
    if (match.vectorLength !== column.vectorLength && !isLengthGone) {
      refusals.push(refuseLength(column, match, table, call));
    }
    if (comparison.isWidened || isLengthGone) {
      changed.push(describeChange(column, match, old, next));
    }
  }
  if (changed.length > 0) steps.push({ kind: 'changeColumns', table, columns: changed });
  const columns = added.flatMap((column) => describeAddition(column, next) ?? []);
  if (columns.length > 0) steps.push({ kind: 'addColumns', table, columns });
  return { steps, refusals };
}

/** Whether a column that came may be one that went, under another name. */
function isOfType(
  gone: ColumnDefinition,
  { typespace }: FullTable,
  came: ColumnDefinition,
  next: FullTable,
): boolean {
  return wholeTypeWords(gone.type, typespace) === wholeTypeWords(came.type, next.typespace);
}

/** A change that would rewrite or endanger rows elsewhere merely replaces an event table. */
export function planEventColumns(old: FullTable, next: FullTable): ColumnPlan {
  const { steps, refusals } = planColumns(old, next);
  const names = steps.filter(({ kind }) => kind === 'changeColumnSourceName');
  const isSame = refusals.length === 0 && names.length === steps.length;
  if (isSame) return { steps, refusals };
  return {
    steps: [...names, { kind: 'replaceEventTable', table: next.table.name }],
    refusals: [],
  };
}

/**
 * True if existing columns changed places, or a new one is not at the end. A new column beside a
 * removed one is a rename, which is refused with a message of its own.
 */
function isReordered(old: FullTable, next: FullTable, hasRemoved: boolean): boolean {
  const oldNames = old.table.columns.map(({ name }) => name);
  const nextNames = next.table.columns.map(({ name }) => name);
  const stayed = new Set(oldNames.filter((name) => nextNames.includes(name)));
  const oldOrder = oldNames.filter((name) => stayed.has(name)).join('\n');
  const nextOrder = nextNames.filter((name) => stayed.has(name)).join('\n');
  if (oldOrder !== nextOrder) return true;
  return !hasRemoved && oldNames.some((name, position) => nextNames[position] !== name);
}

function refuseType(
  conflict: TypeConflict,
  column: ColumnDefinition,
  table: string,
  call: string,
): PlanRefusal {
  const what = conflict.isNested ? 'Changing a type within column' : 'Changing the type of column';
  const { from, to, detail } = conflict;
  return refuse(`${what} ${column.name} in table ${table} from ${from} to ${to}${detail}`, call);
}

/** Rows that are there could have other lengths. */
function refuseLength(
  old: ColumnDefinition,
  next: ColumnDefinition,
  table: string,
  call: string,
): PlanRefusal {
  const { vectorLength: from } = old;
  const { vectorLength: to } = next;
  const change = from === undefined ? `to ${to}` : `from ${from} to ${to}`;
  const what = `Changing the length of vectors in column ${old.name} of table ${table} ${change}`;
  return refuse(what, call);
}

export function refuse(what: string, call: string | undefined): PlanRefusal {
  return { text: `${what} requires a manual migration`, call };
}

function describeChange(
  old: ColumnDefinition,
  next: ColumnDefinition,
  oldTable: FullTable,
  nextTable: FullTable,
): ColumnChange {
  return {
    name: next.name,
    from: shownType(old, oldTable),
    to: shownType(next, nextTable),
  };
}

function shownType({ type, vectorLength }: ColumnDefinition, { typespace }: FullTable): string {
  const text = wholeTypeWords(type, typespace);
  return vectorLength === undefined ? text : `${text} of length ${vectorLength}`;
}

function describeAddition(
  { name, type, defaultBytes }: ColumnDefinition,
  { typespace }: FullTable,
): AddedColumn | undefined {
  return defaultBytes === undefined ? undefined : { name, type, typespace, defaultBytes };
}

function byName(columns: readonly ColumnDefinition[]): Map<string, ColumnDefinition> {
  return new Map(columns.map((column) => [column.name, column]));
}

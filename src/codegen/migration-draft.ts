import type { ColumnDefinition, ModuleDefinition } from '../schema/definition.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import {
  columnChanges,
  draftTables,
  isSameType,
  type RenameAnswers,
  type TablePair,
  tablePairs,
} from './migration-changes.ts';

/**
 * A step as it is written into a file. It names tables and columns as the module spells them when
 * the step begins; another spelling of the same name is no step's business.
 */
export type DraftStep =
  | { readonly kind: 'renameTable'; readonly from: string; readonly to: string }
  | {
      readonly kind: 'renameColumn';
      readonly table: string;
      readonly from: string;
      readonly to: string;
    }
  | { readonly kind: 'dropTable'; readonly table: string }
  | { readonly kind: 'dropColumn'; readonly table: string; readonly column: string }
  | { readonly kind: 'addColumn'; readonly table: string; readonly column: DraftColumn }
  | {
      readonly kind: 'changeColumn';
      readonly table: string;
      /** The name of the table before the migration. */
      readonly oldTable: string;
      readonly from: DraftColumn;
      readonly column: DraftColumn;
    }
  | { readonly kind: 'moveColumns'; readonly table: string; readonly order: readonly string[] };

/** A column with its type in the module's spelling. */
export interface DraftColumn {
  readonly name: string;
  readonly type: AlgebraicType;
  readonly typespace: Typespace;
  readonly defaultBytes: Uint8Array | undefined;
}

export interface MigrationDraft {
  readonly steps: readonly DraftStep[];
  /** What no step can do, as sentences. */
  readonly notes: readonly string[];
}

/** The steps that the automatic plan from `old` to `next` lacks. */
export function draftMigration(
  old: ModuleDefinition,
  next: ModuleDefinition,
  answers: RenameAnswers,
): MigrationDraft {
  const pairs = tablePairs(old, next, answers);
  const steps: DraftStep[] = pairs
    .filter((pair) => pair.old.table.name !== pair.next.table.name)
    .map((pair) => ({
      kind: 'renameTable',
      from: pair.old.table.sourceName,
      to: pair.next.table.sourceName,
    }));
  steps.push(...pairs.flatMap((pair) => columnSteps(pair, answers)));
  const [oldTables, nextTables] = [draftTables(old), draftTables(next)];
  const notes: string[] = [];
  const stays = new Set(pairs.map((pair) => pair.old.table.name));
  for (const { table } of oldTables.values()) {
    const match = nextTables.get(table.name)?.table;
    if (match !== undefined && match.isEvent !== table.isEvent) {
      notes.push(
        `Table \`${table.sourceName}\` ${match.isEvent ? 'becomes' : 'is no longer'} an event ` +
          'table, which no step does: give the new one another name.',
      );
    }
    if (match !== undefined || table.isEvent || stays.has(table.name)) continue;
    steps.push({ kind: 'dropTable', table: table.sourceName });
  }
  return { steps, notes };
}

function columnSteps(pair: TablePair, answers: RenameAnswers): DraftStep[] {
  const isRenamed = pair.old.table.name !== pair.next.table.name;
  const table = (isRenamed ? pair.next : pair.old).table.sourceName;
  const { renamed, dropped, added, kept } = columnChanges(pair, answers);
  const steps: DraftStep[] = [];
  for (const [from, to] of renamed) {
    steps.push({ kind: 'renameColumn', table, from: from.sourceName, to: to.sourceName });
  }
  for (const { sourceName } of dropped) {
    steps.push({ kind: 'dropColumn', table, column: sourceName });
  }
  for (const [from, to] of kept) {
    if (isSameType(from, to, pair)) continue;
    const before = draftColumn(pair.old, from);
    const column = { ...draftColumn(pair.next, to), name: from.sourceName };
    const oldTable = pair.old.table.sourceName;
    steps.push({ kind: 'changeColumn', table, oldTable, from: before, column });
  }
  const order = pair.next.table.columns;
  const stays = kept.map(([, to]) => to);
  const isAtEnd = sameOrder([...stays, ...added], order);
  const isAutomatic = isAtEnd && added.every(({ defaultBytes }) => defaultBytes !== undefined);
  if (!isAutomatic) {
    for (const column of added) {
      steps.push({ kind: 'addColumn', table, column: draftColumn(pair.next, column) });
    }
  }
  if (!isAtEnd) {
    const names = new Map(kept.map(([from, to]) => [to, from.name === to.name ? from : to]));
    const called = (column: ColumnDefinition) => (names.get(column) ?? column).sourceName;
    steps.push({ kind: 'moveColumns', table, order: order.map(called) });
  }
  return steps;
}

function sameOrder(one: readonly ColumnDefinition[], other: readonly ColumnDefinition[]): boolean {
  return one.every((column, position) => column === other[position]);
}

function draftColumn(
  { table, sourceTypespace }: TablePair['old'],
  column: ColumnDefinition,
): DraftColumn {
  const row = sourceTypespace.types[table.rowTypeRef];
  const position = table.columns.findIndex(({ name }) => name === column.name);
  const source = row?.kind === 'product' ? row.elements[position]?.type : undefined;
  return {
    name: column.sourceName,
    type: source ?? column.type,
    typespace: sourceTypespace,
    defaultBytes: column.defaultBytes,
  };
}

import { present } from '../assert.ts';
import type { Preview, PreviewedTable } from '../database/preview-outcome.ts';
import { previewedRows, type RowCells } from '../doors/previewed-rows.ts';

/** Rows that a table would lose and gain, as JSON objects by column; updates are separate. */
export interface ShownTable {
  readonly table: string;
  readonly isEvent: boolean;
  readonly inserted: readonly string[];
  readonly deleted: readonly string[];
  readonly updated: readonly ShownUpdate[];
  /** Count of changed rows that are not shown. */
  readonly hiddenCount: number;
}

/** Primary key of a row that changes, and the columns that do, as JSON objects by column. */
interface ShownUpdate {
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

/** Returns the changes of a preview, in order. */
export function shownTables({ changes }: Pick<Preview, 'changes'>): readonly ShownTable[] {
  return changes.map(shownTable);
}

function shownTable(change: PreviewedTable): ShownTable {
  const { inserted, deleted, updated, hiddenCount } = previewedRows(change);
  const whole = (cells: RowCells) => objectText(membersOf(change, cells));
  return {
    table: change.table,
    isEvent: change.isEvent,
    inserted: inserted.map(whole),
    deleted: deleted.map(whole),
    updated: updated.map(({ before, after }) => updateOf(change, before, after)),
    hiddenCount,
  };
}

/** `"name":value`, by column. */
function membersOf({ columns }: PreviewedTable, cells: RowCells): readonly string[] {
  return columns.map(({ name }, at) => `${JSON.stringify(name)}:${cells[at]}`);
}

function updateOf(change: PreviewedTable, before: RowCells, after: RowCells): ShownUpdate {
  const { primaryKey } = change;
  const changes = (_: string, at: number) => at !== primaryKey && before[at] !== after[at];
  const members = membersOf(change, after);
  return {
    key: objectText([present(members[primaryKey ?? -1], 'the key of rows that are paired')]),
    before: objectText(membersOf(change, before).filter(changes)),
    after: objectText(members.filter(changes)),
  };
}

function objectText(members: readonly string[]): string {
  return `{${members.join(',')}}`;
}

/** Writes the changes as JSON. */
export function changesJson(tables: readonly ShownTable[]): string {
  const texts = tables.map(({ table, isEvent, inserted, deleted, updated, hiddenCount }) => {
    const pairs = updated.map(({ key, before, after }) => {
      return `{"key":${key},"before":${before},"after":${after}}`;
    });
    return (
      `{"table":${JSON.stringify(table)},"event":${isEvent},"inserted":[${inserted.join(',')}],` +
      `"deleted":[${deleted.join(',')}],"updated":[${pairs.join(',')}],"hidden":${hiddenCount}}`
    );
  });
  return `[${texts.join(',')}]`;
}

/**
 * Summarizes the changes without row contents: `task: 1 inserted; user: 2 updated`. `isComplete` is
 * false if other rows change that are not shown.
 */
export function changesText(tables: readonly ShownTable[], isComplete: boolean): string {
  const texts = [
    ...tables.map((table) => `${table.table}: ${countsText(table)}`),
    ...(isComplete ? [] : ['rows of tables that you may not read']),
  ];
  return texts.length === 0 ? 'no rows' : texts.join('; ');
}

function countsText({ isEvent, inserted, deleted, updated, hiddenCount }: ShownTable): string {
  const counts = [
    [inserted.length, isEvent ? 'sent to subscribers' : 'inserted'],
    [updated.length, 'updated'],
    [deleted.length, 'deleted'],
    [hiddenCount, 'more changed, which are not shown'],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(', ');
}

/**
 * Shows the rows that change to the user who must confirm it, one a line: as many as fit.
 *
 * ```
 * + person {"id":7,"name":"Cleo"}
 * ~ person {"id":1} {"name":"Ida"} → {"name":"Ada"}
 * - task {"id":3,"title":"x"}
 * ```
 */
export function changedRowsText(tables: readonly ShownTable[], charactersMax: number): string {
  const lines = tables.flatMap(({ table, inserted, updated, deleted }) => [
    ...inserted.map((row) => `+ ${table} ${row}`),
    ...updated.map(({ key, before, after }) => `~ ${table} ${key} ${before} → ${after}`),
    ...deleted.map((row) => `- ${table} ${row}`),
  ]);
  let characters = 0;
  const shown = lines.filter((line) => {
    characters += line.length + 1;
    return characters <= charactersMax;
  });
  const more = lines.length - shown.length;
  return [...shown, ...(more === 0 ? [] : [`and ${more} more`])].join('\n');
}

import { present } from '../assert.ts';
import type { Preview, PreviewedTable } from '../database/preview-outcome.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson } from '../values/json.ts';

/** Rows that a table would lose and gain, as JSON objects by column; updates are separate. */
export interface ShownTable {
  readonly table: string;
  readonly isEvent: boolean;
  readonly inserted: readonly string[];
  readonly deleted: readonly string[];
  readonly updated: readonly { readonly before: string; readonly after: string }[];
  /** Count of changed rows that are not shown. */
  readonly hiddenCount: number;
}

/** Returns the changes of a preview, in order. */
export function shownTables({ changes }: Pick<Preview, 'changes'>): readonly ShownTable[] {
  return changes.map(shownTable);
}

/** Pairs a deleted and an inserted row with the same primary key as an update. */
function shownTable(change: PreviewedTable): ShownTable {
  const gone = new Map(rowsOf(change, 'deletes').map((row) => [row.key, row.json]));
  const updated: { before: string; after: string }[] = [];
  const inserted: string[] = [];
  for (const { key, json } of rowsOf(change, 'inserts')) {
    const before = gone.get(key);
    if (before === undefined) inserted.push(json);
    else updated.push({ before, after: json });
    if (before !== undefined) gone.delete(key);
  }
  return {
    table: change.table,
    isEvent: change.isEvent,
    inserted,
    deleted: [...gone.values()],
    updated,
    hiddenCount:
      change.insertCount + change.deleteCount - change.inserts.count - change.deletes.count,
  };
}

interface Row {
  readonly json: string;
  /** Unique among the rows of its side. */
  readonly key: string;
}

function rowsOf(change: PreviewedTable, side: 'inserts' | 'deletes'): readonly Row[] {
  const { columns, types, primaryKey } = change;
  const { bytes, count } = change[side];
  const reader = new BinaryReader(bytes);
  return Array.from({ length: count }, (_, at) => {
    const values = columns.map(({ type }) => encodedToJson(type, reader, 'named', types));
    const members = columns.map(({ name }, column) => `${JSON.stringify(name)}:${values[column]}`);
    // Without a primary key no row replaces another.
    const key = primaryKey === undefined ? `${side} ${at}` : present(values[primaryKey], 'a key');
    return { json: `{${members.join(',')}}`, key };
  });
}

/** Writes the changes as JSON. */
export function changesJson(tables: readonly ShownTable[]): string {
  const texts = tables.map(({ table, isEvent, inserted, deleted, updated, hiddenCount }) => {
    const pairs = updated.map(({ before, after }) => `{"before":${before},"after":${after}}`);
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

import { present } from '../assert.ts';
import type { PreviewedTable } from '../database/preview-outcome.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { encodedToJson } from '../values/json.ts';

/** A row as JSON in the plain form, by column. */
export type RowCells = readonly string[];

/** Rows that a table would lose and gain; those that replace another are apart. */
export interface PreviewedRows {
  readonly inserted: readonly RowCells[];
  readonly deleted: readonly RowCells[];
  readonly updated: readonly { readonly before: RowCells; readonly after: RowCells }[];
  /** Count of changed rows that are not shown. */
  readonly hiddenCount: number;
}

/** Pairs a deleted and an inserted row with the same primary key as an update. */
export function previewedRows(change: PreviewedTable): PreviewedRows {
  const gone = new Map(rowsOf(change, 'deletes').map((row) => [row.key, row.cells]));
  const updated: { before: RowCells; after: RowCells }[] = [];
  const inserted: RowCells[] = [];
  for (const { key, cells } of rowsOf(change, 'inserts')) {
    const before = gone.get(key);
    if (before === undefined) inserted.push(cells);
    else updated.push({ before, after: cells });
    gone.delete(key);
  }
  return {
    inserted,
    deleted: [...gone.values()],
    updated,
    hiddenCount:
      change.insertCount + change.deleteCount - change.inserts.count - change.deletes.count,
  };
}

interface Row {
  readonly cells: RowCells;
  /** Unique among the rows of its side. */
  readonly key: string;
}

function rowsOf(change: PreviewedTable, side: 'inserts' | 'deletes'): readonly Row[] {
  const { columns, types, primaryKey } = change;
  const { bytes, count } = change[side];
  const reader = new BinaryReader(bytes);
  return Array.from({ length: count }, (_, at) => {
    const cells = columns.map(({ type }) => encodedToJson(type, reader, 'plain', types));
    // Without a primary key no row replaces another.
    const key = primaryKey === undefined ? `${side} ${at}` : present(cells[primaryKey], 'a key');
    return { cells, key };
  });
}

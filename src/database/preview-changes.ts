import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import { keyText } from '../module/read-set.ts';
import type { TableId } from '../schema/ids.ts';
import { emptyRowList, type RowList, type TableChange } from '../store/change-set.ts';
import type { RowShape } from '../store/row-shape.ts';
import type { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import { joinBytes } from '../values/bytes.ts';
import type { DatabaseCore } from './core.ts';
import {
  askingOf,
  type Preview,
  type PreviewedTable,
  type PreviewRequest,
} from './preview-outcome.ts';
import { pickRows, rowStarts } from './preview-rows.ts';
import { isReadable } from './readable.ts';

/**
 * The changes of a transaction between two points, at which its net changes were `before` and
 * `after`; the result is net too. A row inserted before and gone after was deleted in between; a
 * row deleted before and present after was inserted.
 */
export function changesSince(
  store: Store,
  before: readonly TableChange[],
  after: readonly TableChange[],
): readonly TableChange[] {
  if (before.length === 0) return after;
  const changes = new Map(after.map((change) => [change.tableId, change]));
  for (const earlier of before) {
    const { tableId } = earlier;
    const { inserts, deletes } = changes.get(tableId) ?? nothing;
    const { shape } = tableOf(store, tableId);
    const came = comparedRows(shape, earlier.inserts, inserts);
    const went = comparedRows(shape, earlier.deletes, deletes);
    changes.set(tableId, {
      tableId,
      inserts: joinedRows(came.added, went.missing),
      deletes: joinedRows(went.added, came.missing),
      truncated: false,
    });
  }
  return [...changes.values()]
    .filter(({ inserts, deletes }) => inserts.count + deletes.count > 0)
    .sort((one, other) => one.tableId - other.tableId);
}

const nothing = { inserts: emptyRowList, deletes: emptyRowList };

/** Rows that only the later of two lists has, and those that only the earlier one has. */
function comparedRows(
  shape: RowShape,
  earlier: RowList,
  later: RowList,
): { added: RowList; missing: RowList } {
  if (earlier.count === 0) return { added: later, missing: emptyRowList };
  const [earlierRows, laterRows] = [rowTexts(shape, earlier), rowTexts(shape, later)];
  const [had, has] = [new Set(earlierRows.texts), new Set(laterRows.texts)];
  return {
    added: pickRows(later, laterRows.starts, (row) => !had.has(laterRows.texts[row] ?? '')),
    missing: pickRows(earlier, earlierRows.starts, (row) => !has.has(earlierRows.texts[row] ?? '')),
  };
}

function rowTexts(shape: RowShape, rows: RowList): { starts: Float64Array; texts: string[] } {
  const starts = rowStarts(shape, rows);
  const texts = Array.from({ length: rows.count }, (_, row) => {
    const bytes = rows.bytes.subarray(starts[row], starts[row + 1]);
    return keyText(bytes, bytes.length);
  });
  return { starts, texts };
}

function joinedRows(one: RowList, other: RowList): RowList {
  if (other.count === 0) return one;
  return { bytes: joinBytes([one.bytes, other.bytes]), count: one.count + other.count };
}

/** The changes that the caller is shown: tables that it may read, and a limited number of rows. */
export function shownChanges(
  core: DatabaseCore,
  { work, shownTo, rowsMax = limits.previewRowsMax }: PreviewRequest,
  changes: readonly TableChange[],
): Pick<Preview, 'changes' | 'isComplete'> {
  const rights = shownTo ?? askingOf(work).caller.rights;
  const readable = changes.filter(({ tableId }) => {
    return isReadable(core.program.sql, rights, tableOf(core.store, tableId));
  });
  const room = {
    rows: Math.min(rowsMax, rights.rowsMax ?? rowsMax, limits.previewRowsMax),
    bytes: limits.previewRowBytesMax,
  };
  const shown = shownTables(core.store, readable, room);
  return { changes: shown, isComplete: readable.length === changes.length };
}

interface Room {
  readonly rows: number;
  readonly bytes: number;
}

/** Lists share the room: space left over by short lists goes to long ones. */
function shownTables(
  store: Store,
  changes: readonly TableChange[],
  room: Room,
): readonly PreviewedTable[] {
  const lists = changes
    .flatMap(({ tableId, inserts, deletes }) => {
      const { shape } = tableOf(store, tableId);
      return [inserts, deletes].map((list) => ({ shape, list }));
    })
    .sort((one, other) => one.list.count - other.list.count);
  const shown = new Map<RowList, RowList>();
  let { rows, bytes } = room;
  for (const [at, { shape, list }] of lists.entries()) {
    const shares = lists.length - at;
    const part = firstRows(shape, list, { rows: rows / shares, bytes: bytes / shares });
    rows -= part.count;
    bytes -= part.bytes.length;
    shown.set(list, part);
  }
  return changes
    .map(({ tableId, inserts, deletes }) => ({
      ...partsOf(tableOf(store, tableId)),
      insertCount: inserts.count,
      deleteCount: deletes.count,
      updateCount: updateCountOf(tableOf(store, tableId), inserts, deletes),
      inserts: present(shown.get(inserts), 'a shown list'),
      deletes: present(shown.get(deletes), 'a shown list'),
    }))
    .sort((one, other) => (one.table < other.table ? -1 : 1));
}

/** Counts rows that replace another: their primary key is on both sides. */
function updateCountOf({ spec, shape }: Table, inserts: RowList, deletes: RowList): number {
  const { primaryKey } = spec;
  if (primaryKey === undefined || inserts.count === 0 || deletes.count === 0) return 0;
  const gone = new Set(keysOf(shape, deletes, primaryKey));
  return keysOf(shape, inserts, primaryKey).filter((key) => gone.has(key)).length;
}

function keysOf(shape: RowShape, rows: RowList, column: number): string[] {
  const starts = rowStarts(shape, rows);
  return Array.from({ length: rows.count }, (_, row) => {
    const start = shape.startOf(rows.bytes, starts[row] as number, column);
    const key = rows.bytes.subarray(start, shape.skip(rows.bytes, start, column));
    return keyText(key, key.length);
  });
}

/** The parts of a table needed to read its rows and to describe their changes. */
function partsOf({ spec, rowType, types }: Table) {
  const { name: table, primaryKey, isEvent } = spec;
  return { table, columns: rowType.elements, types, primaryKey, isEvent };
}

/** As many rows from the start of a list as there is room for, in a buffer of their own. */
function firstRows(shape: RowShape, { bytes, count }: RowList, room: Room): RowList {
  let end = 0;
  let taken = 0;
  while (taken < count && taken + 1 <= room.rows) {
    const next = shape.endOfRow(bytes, end, bytes.length);
    if (next > room.bytes) break;
    end = next;
    taken += 1;
  }
  return { bytes: bytes.slice(0, end), count: taken };
}

function tableOf(store: Store, id: TableId): Table {
  return present(store.table(id), 'a table that was changed');
}

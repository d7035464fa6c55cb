import type { SetChanges } from '../../live/set-watch.ts';
import { eachPicked } from '../../live/source-changes.ts';
import type { Table } from '../../store/table.ts';
import { type Transaction, uniqueViolation } from '../../store/transaction.ts';
import type { ViewRows } from './evaluate-view.ts';

/**
 * Replaces the rows of `table` with those that a view returned, in `transaction`: they are checked,
 * and duplicates are dropped. Returns what is wrong with them; the table is then half changed, and
 * the transaction must be rolled back.
 */
export function replaceRows(
  table: Table,
  transaction: Transaction,
  { rows, count }: Pick<ViewRows, 'rows' | 'count'>,
): string | undefined {
  transaction.clear(table);
  let at = 0;
  for (let left = count; left > 0; left--) {
    const end = table.shape.endOfRow(rows, at, rows.length);
    if (end < 0) return notRows;
    const fault = insertRow(table, transaction, rows.subarray(at, end));
    if (fault !== undefined) return fault;
    // Rows without columns are all equal, whatever count is claimed for them.
    if (end === at) break;
    at = end;
  }
  return at === rows.length ? undefined : notRows;
}

/**
 * Changes the rows of `table` as those of its view's query have changed. Returns what is wrong with
 * them, as `replaceRows` would; the table is then half changed, too.
 */
export function changeRows(
  table: Table,
  transaction: Transaction,
  { inserts, deletes }: SetChanges,
): string | undefined {
  eachPicked(deletes, undefined, (start, end) => {
    transaction.deleteEqual(table, deletes.data, start, end - start);
  });
  let fault: string | undefined;
  eachPicked(inserts, undefined, (start, end) => {
    fault ??= insertRow(table, transaction, inserts.data.subarray(start, end));
  });
  return fault;
}

function insertRow(table: Table, transaction: Transaction, row: Uint8Array): string | undefined {
  const code = transaction.insert(table, row, row.length);
  if (code === uniqueViolation) return duplicateText(transaction);
  return code < 0 ? 'a row is too large, or there are too many rows' : undefined;
}

const notRows = 'the view returned bytes that are not rows of its declared type';

function duplicateText({ violation }: Transaction): string {
  const [column = ''] = violation?.columns ?? [];
  return `two different rows have the same value of the primary key \`${column}\``;
}

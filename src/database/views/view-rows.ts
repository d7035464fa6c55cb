import type { Table } from '../../store/table.ts';
import { type Transaction, uniqueViolation } from '../../store/transaction.ts';
import type { ViewRows } from './evaluate-view.ts';

/**
 * Makes the rows of `table` those that a view returned, in `transaction`: checked, and each once
 * however often it was returned. Returns what is wrong with them; the table is then in between, for
 * the transaction to be rolled back.
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
    const code = transaction.insert(table, rows.subarray(at, end), end - at);
    if (code === uniqueViolation) return duplicateText(transaction);
    if (code < 0) return 'a row is too large, or there are too many rows';
    // Rows without columns are all the same row, whatever their number is said to be.
    if (end === at) break;
    at = end;
  }
  return at === rows.length ? undefined : notRows;
}

const notRows = 'the view returned bytes that are not rows of its declared type';

function duplicateText({ violation }: Transaction): string {
  const [column = ''] = violation?.columns ?? [];
  return `two different rows have the same value of the primary key \`${column}\``;
}

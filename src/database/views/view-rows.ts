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
    const code = transaction.insert(table, rows.subarray(at, end), end - at);
    if (code === uniqueViolation) return duplicateText(transaction);
    if (code < 0) return 'a row is too large, or there are too many rows';
    // Rows without columns are all equal, whatever count is claimed for them.
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

import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ArmedTable } from './armed-table.ts';
import { farMicros } from './due-time.ts';
import type { AttemptRows, DueRows } from './schedule-tables.ts';

/** The hidden rows that say more about scheduled rows than these say themselves. */
export interface HiddenRows {
  readonly dues: DueRows;
  readonly attempts: AttemptRows;
}

/**
 * Makes the hidden rows follow what the open transaction has done to a scheduled table: afterwards
 * each row with an interval has its next due time, and no other row has one. Called right before
 * the commit, so that what is rolled back is never armed.
 *
 * | a row | its due time |
 * |---|---|
 * | is new, or has another interval | one interval from now |
 * | has changed in other columns | stays |
 * | is gone, or has a time instead of an interval | is removed |
 *
 * The repetition of a failed run is dropped when its row is gone or has another `ScheduleAt`.
 */
export function deriveRows(
  transaction: Transaction,
  armed: ArmedTable,
  { dues, attempts }: HiddenRows,
  nowMicros: number,
): void {
  const { table } = armed;
  const { changes } = table;
  const dueOf = (every: number) => Math.min(nowMicros + every, farMicros);
  changes.visitPending((ref) => {
    if (table.isVisible(ref)) return;
    const row = armed.keyOf(ref);
    const was = armed.atOf(ref);
    const now = armed.find(row.high, row.low);
    const next = now === noRow ? undefined : armed.atOf(now);
    if (next !== undefined && next.isInterval === was.isInterval && next.micros === was.micros) {
      return;
    }
    if (attempts.count > 0) attempts.remove(transaction, row);
    if (!was.isInterval) return;
    if (next?.isInterval) dues.put(transaction, row, dueOf(next.micros));
    else dues.remove(transaction, row);
  });
  changes.visitPending((ref) => {
    if (!table.isVisible(ref)) return;
    const { isInterval, micros } = armed.atOf(ref);
    if (!isInterval) return;
    const row = armed.keyOf(ref);
    // A row that had an interval before has its due time by now.
    if (dues.find(row) === undefined) dues.put(transaction, row, dueOf(micros));
  });
}

/** Gives every row with an interval that lacks one a due time, counted from now. */
export function deriveMissing(
  transaction: Transaction,
  armed: ArmedTable,
  { dues }: HiddenRows,
  nowMicros: number,
): void {
  const { table } = armed;
  for (let ref: RowRef = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const { isInterval, micros } = armed.atOf(ref);
    if (!isInterval) continue;
    const row = armed.keyOf(ref);
    if (dues.find(row) !== undefined) continue;
    dues.put(transaction, row, Math.min(nowMicros + micros, farMicros));
  }
}

import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { uniqueViolationText } from '../../store/duplicates.ts';
import type { Table } from '../../store/table.ts';
import {
  hostFailure,
  sequenceOverflow,
  type Transaction,
  uniqueViolation,
} from '../../store/transaction.ts';
import { invalid, overBudget } from '../failure.ts';

/**
 * Inserts the row `bytes[0, length)` and returns a buffer that begins with it as it was stored,
 * generated values included; the given buffer may be overwritten. Throws `SqlFailure`.
 */
export function insertRow(
  transaction: Transaction,
  table: Table,
  bytes: Uint8Array,
  length: number,
): Uint8Array {
  // The store leaves generated values at the start of what it is given.
  const kept = table.sequences.length === 0 ? bytes : bytes.slice(0, length);
  const result = transaction.insert(table, bytes, length);
  if (result >= 0) {
    if (result > 0) putGenerated(table, kept, bytes);
    return kept;
  }
  switch (result) {
    case uniqueViolation:
      throw invalid(`IndexError: ${conflictText(transaction, table)}`);
    case sequenceOverflow:
      throw invalid(`The auto-increment sequence of table '${table.spec.name}' overflowed`);
    case hostFailure:
      if (length <= limits.rowBytesMax) {
        throw overBudget(`Table '${table.spec.name}' cannot hold more rows`);
      }
      throw overBudget(`A row of ${length} bytes exceeds the ${limits.rowBytesMax} of one row`);
    default:
      assert(false, `a checked row is not refused with ${result}`);
  }
}

/** Puts generated values, which stand one after another in `generated`, in their places. */
function putGenerated({ sequences, shape }: Table, row: Uint8Array, generated: Uint8Array): void {
  let at = 0;
  for (const { sequence, column, isFilled } of sequences) {
    if (!isFilled) continue;
    const value = generated.subarray(at, at + sequence.widthBytes);
    row.set(value, shape.startOf(row, 0, column));
    at += sequence.widthBytes;
  }
}

function conflictText({ violation }: Transaction, table: Table): string {
  const { index: name, key } = present(violation, 'what was violated');
  const index = table.indexes.find(({ spec }) => spec.name === name);
  return uniqueViolationText(table, present(index, 'the index that refused the row'), key);
}

import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { uniqueViolationText } from '../../store/duplicates.ts';
import type { SequenceColumn, Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import {
  delayTooLong,
  hostFailure,
  sequenceOverflow,
  type Transaction,
  undecodable,
  uniqueViolation,
} from '../../store/transaction.ts';
import { vectorFaultText } from '../../store/vector-column.ts';
import { invalid, overBudget, type SqlFailure } from '../failure.ts';

/**
 * Inserts the row `bytes[0, length)` and returns a buffer that begins with the row as stored,
 * including generated values; the given buffer may be overwritten. Throws `SqlFailure`.
 */
export function insertRow(
  transaction: Transaction,
  table: Table,
  bytes: Uint8Array,
  length: number,
): Uint8Array {
  // The store leaves generated values at the start of the given buffer.
  const kept = table.sequences.length === 0 ? bytes : bytes.slice(0, length);
  const result = transaction.insert(table, bytes, length);
  if (result < 0) throw refused(result, transaction, table, length);
  if (result > 0) putGenerated(table, kept, bytes);
  return kept;
}

/**
 * Replaces the row that has the new row's key in `index`; the new row has the same key in every
 * other unique index. None of its values is drawn from a sequence.
 */
export function replaceRow(
  transaction: Transaction,
  index: Index,
  bytes: Uint8Array,
  length: number,
): Uint8Array {
  const { table } = index;
  const result = transaction.update(table, index, bytes, length);
  if (result < 0) throw refused(result, transaction, table, length);
  assert(result === 0, 'no value was drawn');
  return bytes;
}

/** True when one of the row's values will be drawn from a sequence. */
export function drawsValue({ sequences, shape }: Table, row: Uint8Array): boolean {
  for (let at = 0; at < sequences.length; at++) {
    const { sequence, column } = sequences[at] as SequenceColumn;
    if (sequence.isZeroIn(row, shape.startOf(row, 0, column))) return true;
  }
  return false;
}

function refused(
  result: number,
  transaction: Transaction,
  table: Table,
  length: number,
): SqlFailure {
  switch (result) {
    case uniqueViolation:
      return invalid(`IndexError: ${conflictText(transaction, table)}`);
    case sequenceOverflow:
      return invalid(`The auto-increment sequence of table '${table.spec.name}' overflowed`);
    case undecodable:
      if (transaction.vectorFault === undefined) break;
      return invalid(vectorFaultText(transaction.vectorFault));
    case delayTooLong:
      return invalid(`A row of table '${table.spec.name}' would be due in more than two years`);
    case hostFailure:
      if (length <= limits.rowBytesMax) {
        return overBudget(`Table '${table.spec.name}' cannot hold more rows`);
      }
      return overBudget(
        `A row of ${length} bytes is too long: at most ${limits.rowBytesMax} are allowed`,
      );
    default:
  }
  assert(false, `a checked row is not refused with ${result}`);
}

/** Copies generated values, which are stored back to back in `generated`, to their places. */
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

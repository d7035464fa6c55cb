import { assert, present, unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { uniqueViolationText } from '../../store/duplicates.ts';
import { RefList } from '../../store/ref-list.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import {
  hostFailure,
  sequenceOverflow,
  type Transaction,
  uniqueViolation,
} from '../../store/transaction.ts';
import { type Budget, rowsPerCheck } from '../budget.ts';
import { invalid, overBudget } from '../failure.ts';
import type { DeletePlan, InsertPlan, Source, UpdatePlan, WritePlan } from '../plan/plan.ts';
import { scanSource } from './scan-source.ts';

/** How many rows a write touched. */
export interface WriteResult {
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
}

/**
 * Runs a planned write in `transaction`. When it throws `SqlFailure`, some rows may be written
 * already: the caller rolls the transaction back, so that a statement happens as a whole or not.
 */
export function runWrite(
  plan: WritePlan,
  store: Store,
  transaction: Transaction,
  budget: Budget,
): WriteResult {
  const none = { inserted: 0, deleted: 0, updated: 0 };
  switch (plan.kind) {
    case 'insert':
      return { ...none, inserted: insertRows(plan, store, transaction, budget) };
    case 'update':
      return { ...none, updated: updateRows(plan, store, transaction, budget) };
    case 'delete':
      return { ...none, deleted: deleteRows(plan, store, transaction, budget) };
    default:
      return unreachable(plan);
  }
}

/** A row that is there already stays as it is and is not counted. */
function insertRows(
  { table: spec, rows }: InsertPlan,
  store: Store,
  transaction: Transaction,
  budget: Budget,
): number {
  const table = tableOf(store, spec.id);
  const before = table.rowCount;
  for (const [at, row] of rows.entries()) {
    if (at % rowsPerCheck === 0) budget.check();
    // The store writes generated values into the buffer; the plan stays as it is.
    insertRow(transaction, table, row.slice(), row.length);
  }
  return table.rowCount - before;
}

function deleteRows(
  { source }: DeletePlan,
  store: Store,
  transaction: Transaction,
  budget: Budget,
): number {
  const table = tableOf(store, source.table.id);
  const isEverything = source.access.kind === 'fullScan' && source.filter === undefined;
  if (isEverything) return transaction.clear(table);
  const matching = new RefList();
  scanSource(source, table, budget, (_page, _row, ref) => {
    matching.push(ref);
    return true;
  });
  return transaction.deleteMany(table, matching.copy());
}

/**
 * All matching rows go first and come back changed, so that unique values can be exchanged within
 * one statement. Rows that stay the same are left alone; they count like all that match.
 */
function updateRows(
  plan: UpdatePlan,
  store: Store,
  transaction: Transaction,
  budget: Budget,
): number {
  const table = tableOf(store, plan.source.table.id);
  const rewriter = new RowRewriter(plan.assignments, table);
  const { matchCount, changing } = findChanging(plan.source, table, budget, rewriter);
  transaction.deleteMany(table, changing);
  let left = rowsPerCheck;
  for (const ref of changing) {
    if (--left === 0) {
      budget.check();
      left = rowsPerCheck;
    }
    // The bytes of a deleted row stay readable until its transaction ends.
    const length = rewriter.rewrite(table.pageOf(ref), table.offsetOf(ref), table.lengthOf(ref));
    insertRow(transaction, table, rewriter.row, length);
  }
  return matchCount;
}

function findChanging(
  source: Source,
  table: Table,
  budget: Budget,
  rewriter: RowRewriter,
): { readonly matchCount: number; readonly changing: Int32Array } {
  const changing = new RefList();
  let matchCount = 0;
  scanSource(source, table, budget, (page, row, ref) => {
    matchCount++;
    const oldLength = table.lengthOf(ref);
    const length = rewriter.rewrite(page, row, oldLength);
    const isSame = length === oldLength && startsWith(rewriter.row, page, row, length);
    if (!isSame) changing.push(ref);
    return true;
  });
  return { matchCount, changing: changing.copy() };
}

/** Copies rows with some columns replaced, into a buffer that is used again for the next row. */
class RowRewriter {
  row = new Uint8Array(256);
  readonly #assigned: readonly (Uint8Array | undefined)[];
  readonly #assignedBytes: number;
  readonly #table: Table;

  constructor(assignments: UpdatePlan['assignments'], table: Table) {
    const byColumn = new Map(assignments.map(({ column, bytes }) => [column, bytes]));
    this.#assigned = table.spec.columns.map((_, column) => byColumn.get(column));
    this.#assignedBytes = assignments.reduce((total, { bytes }) => total + bytes.length, 0);
    this.#table = table;
  }

  /** Writes the row `page[at, at + oldLength)` with its new values to `row`; returns its length. */
  rewrite(page: Uint8Array, at: number, oldLength: number): number {
    const { shape } = this.#table;
    const lengthMax = oldLength + this.#assignedBytes;
    if (this.row.length < lengthMax) this.row = new Uint8Array(lengthMax * 2);
    let from = at;
    let length = 0;
    for (const [column, assigned] of this.#assigned.entries()) {
      const end = shape.skip(page, from, column);
      const value = assigned ?? page.subarray(from, end);
      this.row.set(value, length);
      length += value.length;
      from = end;
    }
    return length;
  }
}

function insertRow(transaction: Transaction, table: Table, row: Uint8Array, length: number): void {
  const result = transaction.insert(table, row, length);
  if (result >= 0) return;
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

function conflictText({ violation }: Transaction, table: Table): string {
  const { index: name, key } = present(violation, 'what was violated');
  const index = table.indexes.find(({ spec }) => spec.name === name);
  return uniqueViolationText(table, present(index, 'the index that refused the row'), key);
}

function tableOf(store: Store, id: number): Table {
  return present(store.table(id), `table ${id} of a plan`);
}

function startsWith(bytes: Uint8Array, page: Uint8Array, at: number, length: number): boolean {
  for (let index = 0; index < length; index++) {
    if (bytes[index] !== page[at + index]) return false;
  }
  return true;
}

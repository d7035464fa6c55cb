import { assert, present, unreachable } from '../../assert.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { NamedType, Typespace } from '../../values/type.ts';
import type { Budget } from '../budget.ts';
import type { ReadPlan } from '../plan/plan.ts';
import { ResultRows } from './result-rows.ts';
import { locatorOf } from './row-layout.ts';
import { scanSource } from './scan-source.ts';

export interface ReadResult {
  readonly columns: readonly NamedType[];
  /** What refs in `columns` index; only recursive types have any. */
  readonly types: Typespace;
  /** Encoded rows, one after another, each the product of `columns`. */
  readonly rows: Uint8Array;
  readonly rowCount: number;
}

/** Runs a planned read. Throws `SqlFailure` when it goes over its budget. */
export function runRead(plan: ReadPlan, store: Store, budget: Budget): ReadResult {
  const { source, columns } = plan;
  const table = present(store.table(source.table.id), `table ${source.table.name} of a plan`);
  const result = new ResultRows();
  switch (plan.output.kind) {
    case 'count':
      countRows(plan, table, budget, result);
      break;
    case 'row':
      copyRows(plan, table, budget, result);
      break;
    case 'columns':
      copyColumns(plan, plan.output.columns, table, budget, result);
      break;
    default:
      unreachable(plan.output);
  }
  return { columns, types: table.types, rows: result.finish(), rowCount: result.rowCount };
}

function copyRows(plan: ReadPlan, table: Table, budget: Budget, result: ResultRows): void {
  const limit = limitOf(plan);
  if (limit === 0) return;
  scanSource(plan.source, table, budget, (page, row, ref) => {
    result.append(page, row, row + table.lengthOf(ref));
    result.endRow();
    return result.rowCount < limit;
  });
}

function copyColumns(
  plan: ReadPlan,
  columns: readonly number[],
  table: Table,
  budget: Budget,
  result: ResultRows,
): void {
  const limit = limitOf(plan);
  if (limit === 0) return;
  const { shape } = table;
  const parts = columns.map((column) => ({ column, locate: locatorOf(shape, column) }));
  scanSource(plan.source, table, budget, (page, row) => {
    for (const { column, locate } of parts) {
      const start = locate(page, row);
      result.append(page, start, shape.skip(page, start, column));
    }
    result.endRow();
    return result.rowCount < limit;
  });
}

/** One row, whatever there is to count. */
function countRows(plan: ReadPlan, table: Table, budget: Budget, result: ResultRows): void {
  if (limitOf(plan) === 0) return;
  const { access, filter } = plan.source;
  let count = 0;
  if (access.kind === 'fullScan' && filter === undefined) {
    count = table.rowCount;
  } else {
    scanSource(plan.source, table, budget, () => {
      count++;
      return true;
    });
  }
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(count), true);
  result.append(bytes, 0, bytes.length);
  result.endRow();
}

function limitOf({ limit }: ReadPlan): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  assert(limit >= 0n, 'a LIMIT has no sign');
  return Number(limit);
}

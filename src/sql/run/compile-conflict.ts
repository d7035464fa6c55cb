import type { TableSpec } from '../../schema/catalog.ts';
import { offsetOf } from '../../store/row-heap.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { OutputColumn, TypedConflict, TypedExpression } from '../check/typed.ts';
import { compileConditions } from '../expressions/compile-condition.ts';
import { compileOutput, type OutputWriter } from '../expressions/compile-output.ts';
import type { Test } from '../expressions/frame.ts';
import { ByteSink } from '../expressions/row-sink.ts';
import { invalid } from '../failure.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { setEntryBytes } from '../operators/held-bytes.ts';
import type { PlanCompiler } from './compile-plan.ts';
import { insertRow } from './insert-row.ts';

export interface StoredRow {
  readonly bytes: Uint8Array;
  readonly length: number;
}

/** Decides about rows, one after another, before they are inserted. */
export interface Settling {
  /**
   * `undefined`: no row is in the way. `left`: one is, and stays as it is; else that row as it is
   * afterwards. Throws `SqlFailure`.
   */
  settle(row: ByteSink): StoredRow | 'left' | undefined;
  /** Must be called for each row that was inserted. */
  note(row: Uint8Array, length: number): void;
  readonly updatedCount: number;
}

export function compileConflict(
  { indexes, update }: TypedConflict,
  table: TableSpec,
  { context }: PlanCompiler,
): (state: ExecutionState, table: Table, transaction: Transaction) => Settling {
  const indexIds = new Set(indexes.map(({ id }) => id));
  const compiled = update && {
    ...update,
    write: compileUpdated(update, table, context),
    test: update.where && compileConditions([update.where], context),
  };
  return (state, stored, transaction) =>
    new Settlement({ state, table: stored, transaction }, indexIds, compiled);
}

function compileUpdated(
  { slot, assignments }: NonNullable<TypedConflict['update']>,
  table: TableSpec,
  context: PlanCompiler['context'],
): OutputWriter {
  const assigned = new Map(assignments.map(({ column, value }) => [column, value]));
  const items = table.columns.map(({ name, type }, column): TypedExpression => {
    const value = assigned.get(column);
    return value ?? { kind: 'column', slot, column, name, type, isNullable: false };
  });
  const columns = table.columns.map(({ name, type }): OutputColumn => {
    return { name, type, isNullable: false };
  });
  return compileOutput(items, columns, context);
}

interface Target {
  readonly state: ExecutionState;
  readonly table: Table;
  readonly transaction: Transaction;
}

interface CompiledUpdate {
  readonly slot: number;
  readonly excludedSlot: number;
  readonly write: OutputWriter;
  readonly test: Test | undefined;
}

class Settlement implements Settling {
  updatedCount = 0;
  readonly #target: Target;
  readonly #indexes: Table['indexes'];
  readonly #update: CompiledUpdate | undefined;
  /** Rows that this statement has inserted or updated. */
  readonly #touched = new Set<RowRef>();
  readonly #sink = new ByteSink();

  constructor(target: Target, indexIds: ReadonlySet<number>, update: CompiledUpdate | undefined) {
    this.#target = target;
    this.#indexes = target.table.indexes.filter(({ spec }) => indexIds.has(spec.id));
    this.#update = update;
  }

  settle(row: ByteSink): StoredRow | 'left' | undefined {
    const ref = this.#find(row.bytes, row.length);
    if (ref === noRow) return undefined;
    return this.#update === undefined ? 'left' : this.#change(ref, row, this.#update);
  }

  note(row: Uint8Array, length: number): void {
    if (this.#update === undefined) return;
    const ref = this.#find(row, length);
    if (ref === noRow || this.#touched.has(ref)) return;
    this.#target.state.budget.take(setEntryBytes);
    this.#touched.add(ref);
  }

  /** The row that has the same key in one of the indexes. */
  #find(row: Uint8Array, length: number): RowRef {
    for (const index of this.#indexes) {
      const ref = index.probe(row, 0, length);
      if (ref !== noRow) return ref;
    }
    return noRow;
  }

  #change(ref: RowRef, row: ByteSink, update: CompiledUpdate): StoredRow | 'left' {
    const { state, table, transaction } = this.#target;
    if (this.#touched.has(ref)) {
      const { name } = table.spec;
      throw invalid(`ON CONFLICT DO UPDATE would change a row of \`${name}\` a second time`);
    }
    const { slot, excludedSlot, test, write } = update;
    const length = table.lengthOf(ref);
    const page = table.pageOf(ref);
    const start = offsetOf(ref);
    state.pages[slot] = page;
    state.rows[slot] = start;
    state.pages[excludedSlot] = row.bytes;
    state.rows[excludedSlot] = 0;
    if (test !== undefined && !test(state)) return 'left';
    const sink = this.#sink;
    sink.reset();
    write(state, sink);
    this.updatedCount++;
    const isSame = sink.length === length && isEqual(sink.bytes, page, start, length);
    let stored = sink.bytes;
    if (!isSame) {
      state.budget.takeChange(sink.length, length);
      transaction.deleteRef(table, ref);
      stored = insertRow(transaction, table, sink.bytes, sink.length);
    }
    this.note(stored, sink.length);
    return { bytes: stored, length: sink.length };
  }
}

function isEqual(bytes: Uint8Array, page: Uint8Array, start: number, length: number): boolean {
  for (let at = 0; at < length; at++) if (bytes[at] !== page[start + at]) return false;
  return true;
}

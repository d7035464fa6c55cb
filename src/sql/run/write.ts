import { assert, unreachable } from '../../assert.ts';
import { isSparse } from '../../schema/sparse-index.ts';
import { RefList } from '../../store/ref-list.ts';
import { offsetOf } from '../../store/row-heap.ts';
import { noRow, type RowRef, type RowRefs, rowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { NamedType, Typespace } from '../../values/type.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import { compileOutput, type OutputWriter } from '../expressions/compile-output.ts';
import { namedTypeOf } from '../expressions/row-layout.ts';
import { ByteSink } from '../expressions/row-sink.ts';
import { invalid } from '../failure.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { mapEntryBytes, refBytes, setEntryBytes } from '../operators/held-bytes.ts';
import {
  ended,
  type paused,
  type Rows,
  rowReady,
  type Step,
  type Tuples,
} from '../operators/operator.ts';
import { RowStore } from '../operators/row-store.ts';
import type { Stage } from '../operators/stages.ts';
import type { Measurements } from '../plan/measurements.ts';
import type { DeletePlan, InsertPlan, UpdatePlan, WritePlan } from '../plan/plan.ts';
import { compileConflict } from './compile-conflict.ts';
import { PlanCompiler } from './compile-plan.ts';
import { type ExecutionRequest, stateOf } from './execution.ts';
import { drawsValue, insertRow, replaceRow } from './insert-row.ts';
import { ResultRows } from './result-rows.ts';
import type { ReadResult, WriteOutcome } from './results.ts';

/** A write plan made ready to run any number of times. */
export interface CompiledWrite {
  readonly plan: WritePlan;
  readonly types: Typespace;
  /** Columns of RETURNING. */
  readonly columns: readonly NamedType[] | undefined;
  readonly stages: readonly Stage[];
  readonly make: (state: ExecutionState) => Change;
}

/** The changes of one run of a write: found first, which changes nothing, and then made. */
export interface Change {
  /** Continues to find what to change. Throws `SqlFailure`. */
  find(): typeof paused | typeof ended;
  /**
   * Drops rows that are gone since they were found, and finds more, in the source of the state,
   * without a pause. Absent if other rows decide what becomes of a row: then all must be found
   * again.
   */
  revise?(): void;
  /** Throws `SqlFailure`, possibly after some rows were written. */
  write(transaction: Transaction): WriteOutcome;
}

/** The input of a write that runs in one go, in a transaction of the store of its tables. */
export interface WriteRequest extends ExecutionRequest {
  readonly transaction: Transaction;
}

export function compileWrite(
  plan: WritePlan,
  types: Typespace,
  measurements?: Measurements,
): CompiledWrite {
  const compiler = new PlanCompiler(plan, types, measurements);
  const returning = compileReturning(plan, compiler, types);
  const make = compileChange(plan, compiler, returning);
  const { stages } = compiler.subqueries;
  return { plan, types, columns: plan.returning?.columns.map(namedTypeOf), stages, make };
}

/**
 * Runs a compiled write in one go. When it throws `SqlFailure`, some rows may already be written:
 * the caller rolls the transaction back, so that a statement is applied as a whole or not at all.
 */
export function runWrite(compiled: CompiledWrite, request: WriteRequest): WriteOutcome {
  const { budget, transaction } = request;
  const state = stateOf(compiled.plan, request, Number.POSITIVE_INFINITY);
  budget.startSlice();
  for (const stage of compiled.stages) requireEnded(stage.run(state));
  const change = compiled.make(state);
  requireEnded(change.find());
  return change.write(transaction);
}

function requireEnded(step: Step): void {
  assert(step === ended, 'what runs in one go does not pause');
}

type ChangeMaker = CompiledWrite['make'];

const nothing = { inserted: 0, deleted: 0, updated: 0 };

function compileChange(
  plan: WritePlan,
  compiler: PlanCompiler,
  returning: Returning | undefined,
): ChangeMaker {
  switch (plan.kind) {
    case 'insert':
      return compileInsert(plan, compiler, returning);
    case 'update':
      return compileUpdate(plan, compiler, returning);
    case 'delete':
      return compileDelete(plan, compiler, returning);
    default:
      return unreachable(plan);
  }
}

/**
 * A row that already exists stays as it is, is not counted and not returned. All rows are computed
 * before the first is written: a query can read the same table.
 */
function compileInsert(
  plan: InsertPlan,
  compiler: PlanCompiler,
  returning: Returning | undefined,
): ChangeMaker {
  const number = compiler.numberOf(plan.table);
  const collector = compileInserted(plan, compiler);
  const conflict = plan.conflict && compileConflict(plan.conflict, plan.table, compiler);
  return (state) => {
    const rows = new RowStore(state.budget);
    return {
      find: collector(state, rows),
      write: (transaction) => {
        const table = state.table(number);
        const inserted = new RowStore(state.budget);
        const before = table.rowCount;
        const sink = new ByteSink();
        const settled = conflict?.(state, table, transaction);
        for (let at = 0; at < rows.count; at++) {
          tick(state);
          sink.reset();
          rows.write(at, sink);
          const updated = settled?.settle(sink);
          if (updated !== undefined) {
            if (returning !== undefined && updated !== 'left') {
              inserted.add(updated.bytes, 0, updated.length);
            }
            continue;
          }
          const count = table.rowCount;
          const written = insertRow(transaction, table, sink.bytes, sink.length);
          const isNew = table.rowCount > count;
          settled?.note(written, sink.length);
          if (returning !== undefined && isNew) inserted.add(written, 0, sink.length);
        }
        const returned = returning?.rows(state, inserted);
        const updated = settled?.updatedCount ?? 0;
        return { ...nothing, inserted: table.rowCount - before, updated, returned };
      },
    };
  };
}

/** Adds the rows to be inserted. */
function compileInserted(
  { table, source, items }: InsertPlan,
  compiler: PlanCompiler,
): (state: ExecutionState, rows: RowStore) => Change['find'] {
  const { context } = compiler;
  const columns = storedColumnsOf(table);
  const sink = new ByteSink();
  if (source.kind === 'values') {
    const writers = source.rows.map((row) => compileOutput(row, columns, context));
    return (state, rows) => () => {
      for (const write of writers) {
        tick(state);
        sink.reset();
        write(state, sink);
        rows.add(sink.bytes, 0, sink.length);
        state.budget.takeChange(sink.length, 0);
      }
      return ended;
    };
  }
  const make = compiler.rows(source.rows);
  const write = compileOutput(items, columns, context);
  const { slot } = source;
  const answer = new ByteSink();
  return (state, rows) => {
    const query = openedOnce(make(state));
    return () => {
      for (;;) {
        const running = query();
        const step = running.next();
        if (step !== rowReady) return step;
        answer.reset();
        running.write(answer);
        state.pages[slot] = answer.bytes;
        state.rows[slot] = 0;
        sink.reset();
        write(state, sink);
        rows.add(sink.bytes, 0, sink.length);
        state.budget.takeChange(sink.length, 0);
      }
    };
  };
}

/** Returns the operator, which is opened by the first call. */
function openedOnce<Running extends Rows | Tuples>(operator: Running): () => Running {
  let isOpen = false;
  return () => {
    if (!isOpen) operator.open();
    isOpen = true;
    return operator;
  };
}

/** Reads the remaining rows, and adds each. */
function takeAll(rows: Tuples, add: () => void): typeof paused | typeof ended {
  for (;;) {
    const step = rows.next();
    if (step !== rowReady) return step;
    add();
  }
}

/**
 * Deletes all matching rows and inserts them changed, so that unique values can be exchanged within
 * one statement. Rows that stay the same are left alone; they count like all that match.
 */
function compileUpdate(
  plan: UpdatePlan,
  compiler: PlanCompiler,
  returning: Returning | undefined,
): ChangeMaker {
  const make = compiler.tuples(plan.input);
  const write = compileRewrite(plan, compiler);
  const number = compiler.numberOf(plan.table);
  const { slot } = plan;
  const keptIndexId = keptIndexIdOf(plan, compiler.context.types);
  const isByRow = isRowByRow(plan);
  return (state) => {
    const table = state.table(number);
    const { isJoined } = plan;
    const isKept = isJoined || returning !== undefined;
    const options = { table, slot, write, isKept, isJoined };
    const changing = new ChangingRows(state, options);
    const input = make(state);
    const rows = openedOnce(input);
    const add = () => changing.add();
    const revise = (): void => {
      changing.dropGone();
      input.open();
      requireEnded(takeAll(input, add));
    };
    return {
      find: () => takeAll(rows(), add),
      ...(isByRow && { revise }),
      write: (transaction) => {
        const index = table.indexes.find(({ spec }) => spec.id === keptIndexId);
        const written = changing.write(transaction, index);
        const returned = returning?.rows(state, written);
        return { ...nothing, updated: changing.matchCount, returned };
      },
    };
  };
}

/**
 * A unique index that has a key for each row, to find it by, if no column of any unique index is
 * assigned: then rows can be replaced one by one.
 */
function keptIndexIdOf({ table, assignments }: UpdatePlan, types: Typespace): number | undefined {
  const assigned = new Set(assignments.map(({ column }) => column));
  const uniques = table.indexes.filter(({ isUnique }) => isUnique);
  const isKept = uniques.every(({ columns }) => !columns.some((column) => assigned.has(column)));
  return isKept ? uniques.find((index) => !isSparse(index, table, types))?.id : undefined;
}

/** True if each row alone decides whether it is changed, and into what. */
function isRowByRow(plan: UpdatePlan | DeletePlan): boolean {
  const { input, slot, tables, subqueries, commonTables, views } = plan;
  const isOfTable = input.kind === 'source' && input.slot === slot && input.from.kind === 'table';
  const readsMore = tables.length > 1 || views.length > 0 || commonTables.size > 0;
  return isOfTable && !readsMore && subqueries.size === 0;
}

interface ChangingOptions {
  readonly table: Table;
  readonly slot: number;
  readonly write: OutputWriter;
  /** Rows that stay the same are kept too, for RETURNING. */
  readonly isKept: boolean;
  /** A row can match several times. */
  readonly isJoined: boolean;
}

/** The rows that an UPDATE matches, and their new values. */
class ChangingRows {
  readonly #state: ExecutionState;
  readonly #options: ChangingOptions;
  /** Each match: its ref, `noRow` if it is gone, and 1 if it will be replaced. */
  readonly #matches = new RefList<number>();
  /** The new rows, in the same order; without `isKept` only those that are replaced. */
  readonly #rows: RowStore;
  readonly #sink = new ByteSink();
  /** The number of each match by its ref, where one can match several times. */
  readonly #known = new Map<RowRef, number>();
  #goneCount = 0;

  constructor(state: ExecutionState, options: ChangingOptions) {
    this.#state = state;
    this.#options = options;
    this.#rows = new RowStore(state.budget);
  }

  get matchCount(): number {
    return this.#matches.length / 2 - this.#goneCount;
  }

  /** The current row of the slot. */
  add(): void {
    const state = this.#state;
    const sink = this.#sink;
    const { table, slot, write, isKept, isJoined } = this.#options;
    sink.reset();
    write(state, sink);
    const ref = state.refs[slot] as RowRef;
    if (isJoined && this.#isKnown(ref)) return;
    const page = state.pages[slot] as Uint8Array;
    const before = table.lengthOf(ref);
    const isSame = sink.length === before && startsWith(sink, page, state.rows[slot] as number);
    state.budget.take(2 * refBytes);
    this.#matches.pushPair(ref, isSame ? 0 : 1);
    if (isKept || !isSame) this.#rows.add(sink.bytes, 0, sink.length);
    if (!isSame) state.budget.takeChange(sink.length, before);
  }

  /** Throws `SqlFailure` if the row has matched before and would become another one. */
  #isKnown(ref: RowRef): boolean {
    const known = this.#known.get(ref);
    if (known === undefined) {
      this.#state.budget.take(mapEntryBytes);
      this.#known.set(ref, this.#rows.count);
      return false;
    }
    const rows = this.#rows;
    const start = rows.startOf(known);
    const isSame = this.#sink.length === rows.endOf(known) - start;
    if (isSame && startsWith(this.#sink, rows.bytesOf(known), start)) return true;
    throw invalid(
      `A row of \`${this.#options.table.spec.name}\` matches several rows of FROM that would ` +
        'change it differently; make the condition match one of them',
    );
  }

  dropGone(): void {
    const { table } = this.#options;
    const matches = this.#matches;
    for (let at = 0; at < matches.length; at += 2) {
      const ref = rowRef(matches.at(at));
      if (ref === noRow || table.isVisible(ref)) continue;
      matches.items[at] = noRow;
      this.#goneCount++;
    }
  }

  /** Returns the rows as they are now, for RETURNING. */
  write(transaction: Transaction, kept: Index | undefined): RowStore {
    const { table, isKept } = this.#options;
    const state = this.#state;
    const matches = this.#matches;
    const sink = this.#sink;
    const written = new RowStore(state.budget);
    if (kept === undefined) transaction.deleteMany(table, this.#replaced());
    let row = 0;
    for (let at = 0; at < matches.length; at += 2) {
      const isChanged = matches.at(at + 1) === 1;
      if (!isChanged && !isKept) continue;
      const number = row++;
      const ref = rowRef(matches.at(at));
      if (ref === noRow) continue;
      tick(state);
      sink.reset();
      this.#rows.write(number, sink);
      const { bytes, length } = sink;
      const isReplaced = isChanged && kept !== undefined && !drawsValue(table, bytes);
      let stored = bytes;
      if (isReplaced) {
        stored = replaceRow(transaction, kept, bytes, length);
      } else if (isChanged) {
        if (kept !== undefined) transaction.deleteRef(table, ref);
        stored = insertRow(transaction, table, bytes, length);
      }
      if (isKept) written.add(stored, 0, length);
    }
    return written;
  }

  #replaced(): RowRefs {
    const refs = new RefList();
    const matches = this.#matches;
    for (let at = 0; at < matches.length; at += 2) {
      const ref = rowRef(matches.at(at));
      if (matches.at(at + 1) === 1 && ref !== noRow) refs.push(ref);
    }
    return refs.copy();
  }
}

/** The old row with the assigned columns replaced. */
function compileRewrite(
  { table, slot, assignments }: UpdatePlan,
  { context }: PlanCompiler,
): OutputWriter {
  const assigned = new Map(assignments.map(({ column, value }) => [column, value]));
  const items = table.columns.map(({ name, type }, column): TypedExpression => {
    const value = assigned.get(column);
    return value ?? { kind: 'column', slot, column, name, type, isNullable: false };
  });
  return compileOutput(items, storedColumnsOf(table), context);
}

function compileDelete(
  plan: DeletePlan,
  compiler: PlanCompiler,
  returning: Returning | undefined,
): ChangeMaker {
  const { input, slot } = plan;
  const isEverything =
    input.kind === 'source' && input.access.kind === 'scan' && input.conditions.length === 0;
  const make = compiler.tuples(input);
  const number = compiler.numberOf(plan.table);
  if (isEverything && returning === undefined && !compiler.isMeasured) {
    return (state) => ({
      find: () => {
        // Slots, which are slightly longer than their rows.
        state.budget.takeChange(0, state.table(number).heap.usedBytes);
        return ended;
      },
      write: (transaction) => {
        const deleted = transaction.clear(state.table(number));
        return { ...nothing, deleted, returned: undefined };
      },
    });
  }
  const isByRow = isRowByRow(plan);
  return (state) => {
    const table = state.table(number);
    const refs = new RefList();
    const known = new Set<RowRef>();
    const tuples = make(state);
    const rows = openedOnce(tuples);
    const add = (): void => {
      const ref = state.refs[slot] as RowRef;
      if (plan.isJoined) {
        if (known.has(ref)) return;
        known.add(ref);
        state.budget.take(setEntryBytes);
      }
      state.budget.take(refBytes);
      state.budget.takeChange(0, table.lengthOf(ref));
      refs.push(ref);
    };
    const revise = (): void => {
      const found = refs.take();
      for (const ref of found) if (table.isVisible(rowRef(ref))) refs.push(rowRef(ref));
      tuples.open();
      requireEnded(takeAll(tuples, add));
    };
    return {
      find: () => takeAll(rows(), add),
      ...(isByRow && { revise }),
      write: (transaction) => {
        const returned = returning?.stored(state, table, refs);
        return { ...nothing, deleted: transaction.deleteMany(table, refs.copy()), returned };
      },
    };
  };
}

/** The output for each row that was written. */
interface Returning {
  rows(state: ExecutionState, rows: RowStore): ReadResult;
  stored(state: ExecutionState, table: Table, refs: RefList): ReadResult;
}

function compileReturning(
  { returning }: WritePlan,
  { context }: PlanCompiler,
  types: Typespace,
): Returning | undefined {
  if (returning === undefined) return undefined;
  const { slot, items, columns } = returning;
  const write = compileOutput(items, columns, context);
  const named = columns.map(namedTypeOf);
  const resultOf = (
    state: ExecutionState,
    count: number,
    show: (at: number) => void,
  ): ReadResult => {
    const result = new ResultRows(state.rowsMax, state.budget);
    for (let at = 0; at < count; at++) {
      tick(state);
      show(at);
      write(state, result);
      result.endRow();
    }
    return { columns: named, types, rows: result.finish(), rowCount: result.rowCount };
  };
  return {
    rows: (state, rows) =>
      resultOf(state, rows.count, (at) => {
        state.pages[slot] = rows.bytesOf(at);
        state.rows[slot] = rows.startOf(at);
      }),
    stored: (state, table, refs) =>
      resultOf(state, refs.length, (at) => {
        const ref = refs.at(at);
        state.pages[slot] = table.pageOf(ref);
        state.rows[slot] = offsetOf(ref);
      }),
  };
}

function storedColumnsOf({ columns }: UpdatePlan['table']): readonly OutputColumn[] {
  return columns.map(({ name, type }) => ({ name, type, isNullable: false }));
}

/** Checks the budget also while rows are written, which never pauses. */
function tick(state: ExecutionState): void {
  if (--state.ticks <= 0) state.mustPause();
}

function startsWith(sink: ByteSink, page: Uint8Array, at: number): boolean {
  const { bytes, length } = sink;
  for (let index = 0; index < length; index++) {
    if (bytes[index] !== page[at + index]) return false;
  }
  return true;
}

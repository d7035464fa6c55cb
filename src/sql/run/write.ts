import { assert, unreachable } from '../../assert.ts';
import { RefList } from '../../store/ref-list.ts';
import { offsetOf } from '../../store/row-heap.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { NamedType, Typespace } from '../../values/type.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import type { DeletePlan, InsertPlan, UpdatePlan, WritePlan } from '../plan/plan.ts';
import { ByteSink } from './byte-sink.ts';
import { compileOutput, type OutputWriter } from './compile-output.ts';
import { PlanCompiler } from './compile-plan.ts';
import { type ExecutionRequest, namedTypeOf, type ReadResult, stateOf } from './execution.ts';
import type { ExecutionState } from './execution-state.ts';
import { insertRow } from './insert-row.ts';
import type { Measurements } from './measure.ts';
import { ended, rowReady, type Tuples } from './operator.ts';
import { ResultRows } from './result-rows.ts';
import { RowStore } from './row-store.ts';

/** How many rows a write touched, and what it answers about them. */
export interface WriteOutcome {
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
  /** The rows of RETURNING. */
  readonly returned: ReadResult | undefined;
}

/** A write plan made ready to run any number of times. */
export interface CompiledWrite {
  readonly plan: WritePlan;
  readonly types: Typespace;
  /** Columns of RETURNING. */
  readonly columns: readonly NamedType[] | undefined;
  readonly run: (state: ExecutionState, transaction: Transaction) => WriteOutcome;
}

/** What a write is given: it runs in one go, in a transaction of the store of its tables. */
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
  const change = compileChange(plan, compiler);
  const { stages } = compiler.subqueries;
  const run = (state: ExecutionState, transaction: Transaction): WriteOutcome => {
    for (const stage of stages) {
      const step = stage.run(state);
      assert(step === ended, 'a write does not pause');
    }
    return change({ state, transaction, returning });
  };
  return { plan, types, columns: plan.returning?.columns.map(namedTypeOf), run };
}

/**
 * Runs a compiled write. When it throws `SqlFailure`, some rows may be written already: the caller
 * rolls the transaction back, so that a statement happens as a whole or not.
 */
export function runWrite(compiled: CompiledWrite, request: WriteRequest): WriteOutcome {
  const { budget, transaction } = request;
  const state = stateOf(compiled.plan, request, false);
  budget.startSlice();
  return compiled.run(state, transaction);
}

interface Change {
  readonly state: ExecutionState;
  readonly transaction: Transaction;
  readonly returning: Returning | undefined;
}

const nothing = { inserted: 0, deleted: 0, updated: 0 };

function compileChange(plan: WritePlan, compiler: PlanCompiler): (change: Change) => WriteOutcome {
  switch (plan.kind) {
    case 'insert':
      return compileInsert(plan, compiler);
    case 'update':
      return compileUpdate(plan, compiler);
    case 'delete':
      return compileDelete(plan, compiler);
    default:
      return unreachable(plan);
  }
}

/** A row that is there already stays as it is, is not counted and not returned. */
function compileInsert(plan: InsertPlan, compiler: PlanCompiler): (change: Change) => WriteOutcome {
  const collect = compileInserted(plan, compiler);
  return ({ state, transaction, returning }) => {
    const table = state.tables[compiler.numberOf(plan.table)] as Table;
    // The rows are computed before the first is written: a query may read the same table.
    const rows = collect(state);
    const inserted = new RowStore(state.budget);
    const before = table.rowCount;
    const sink = new ByteSink();
    for (let at = 0; at < rows.count; at++) {
      tick(state);
      sink.reset();
      rows.write(at, sink);
      const count = table.rowCount;
      const written = insertRow(transaction, table, sink.bytes, sink.length);
      const isNew = table.rowCount > count;
      if (returning !== undefined && isNew) inserted.add(written, 0, sink.length);
    }
    const returned = returning?.rows(state, inserted);
    return { ...nothing, inserted: table.rowCount - before, returned };
  };
}

function compileInserted(
  { table, source, items }: InsertPlan,
  compiler: PlanCompiler,
): (state: ExecutionState) => RowStore {
  const { context } = compiler;
  const columns = storedColumnsOf(table);
  const sink = new ByteSink();
  if (source.kind === 'values') {
    const writers = source.rows.map((row) => compileOutput(row, columns, context));
    return (state) => {
      const rows = new RowStore(state.budget);
      for (const write of writers) {
        tick(state);
        sink.reset();
        write(state, sink);
        rows.add(sink.bytes, 0, sink.length);
      }
      return rows;
    };
  }
  const make = compiler.rows(source.rows);
  const write = compileOutput(items, columns, context);
  const { slot } = source;
  const answer = new ByteSink();
  return (state) => {
    const rows = new RowStore(state.budget);
    const query = make(state);
    query.open();
    while (query.next() === rowReady) {
      answer.reset();
      query.write(answer);
      state.pages[slot] = answer.bytes;
      state.rows[slot] = 0;
      sink.reset();
      write(state, sink);
      rows.add(sink.bytes, 0, sink.length);
    }
    return rows;
  };
}

/**
 * All matching rows go first and come back changed, so that unique values can be exchanged within
 * one statement. Rows that stay the same are left alone; they count like all that match.
 */
function compileUpdate(plan: UpdatePlan, compiler: PlanCompiler): (change: Change) => WriteOutcome {
  const make = compiler.tuples(plan.input);
  const write = compileRewrite(plan, compiler);
  const number = compiler.numberOf(plan.table);
  return ({ state, transaction, returning }) => {
    const table = state.table(number);
    const isKept = returning !== undefined;
    const found = findChanging(state, make(state), { table, slot: plan.slot, write, isKept });
    const { changing, rows } = found;
    transaction.deleteMany(table, changing.copy());
    const written = new RowStore(state.budget);
    const sink = new ByteSink();
    for (let at = 0; at < rows.count; at++) {
      tick(state);
      sink.reset();
      rows.write(at, sink);
      const isChanged = !isKept || found.isChanged[at] === true;
      const row = isChanged ? insertRow(transaction, table, sink.bytes, sink.length) : sink.bytes;
      if (isKept) written.add(row, 0, sink.length);
    }
    const returned = returning?.rows(state, written);
    return { ...nothing, updated: found.matchCount, returned };
  };
}

interface Changing {
  readonly matchCount: number;
  /** The rows that will be replaced. */
  readonly changing: RefList;
  /** What they become; with RETURNING also those that stay the same. */
  readonly rows: RowStore;
  /** By number of the row; filled with RETURNING only. */
  readonly isChanged: readonly boolean[];
}

function findChanging(
  state: ExecutionState,
  input: Tuples,
  {
    table,
    slot,
    write,
    isKept,
  }: {
    readonly table: Table;
    readonly slot: number;
    readonly write: OutputWriter;
    readonly isKept: boolean;
  },
): Changing {
  const changing = new RefList();
  const rows = new RowStore(state.budget);
  const isChanged: boolean[] = [];
  const sink = new ByteSink();
  let matchCount = 0;
  input.open();
  while (input.next() === rowReady) {
    matchCount++;
    sink.reset();
    write(state, sink);
    const ref = state.refs[slot] as number;
    const page = state.pages[slot] as Uint8Array;
    const isSame =
      sink.length === table.lengthOf(ref) && startsWith(sink, page, state.rows[slot] as number);
    if (!isSame) changing.push(ref);
    if (isKept) isChanged.push(!isSame);
    if (isKept || !isSame) rows.add(sink.bytes, 0, sink.length);
  }
  return { matchCount, changing, rows, isChanged };
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

function compileDelete(plan: DeletePlan, compiler: PlanCompiler): (change: Change) => WriteOutcome {
  const { input, slot } = plan;
  const isEverything =
    input.kind === 'source' && input.access.kind === 'scan' && input.conditions.length === 0;
  const make = compiler.tuples(input);
  const number = compiler.numberOf(plan.table);
  return ({ state, transaction, returning }) => {
    const table = state.table(number);
    if (isEverything && returning === undefined && !compiler.isMeasured) {
      return { ...nothing, deleted: transaction.clear(table), returned: undefined };
    }
    const refs = matching(state, make(state), slot);
    const returned = returning?.stored(state, table, refs);
    return { ...nothing, deleted: transaction.deleteMany(table, refs.copy()), returned };
  };
}

function matching(state: ExecutionState, input: Tuples, slot: number): RefList {
  const refs = new RefList();
  input.open();
  while (input.next() === rowReady) refs.push(state.refs[slot] as number);
  return refs;
}

/** What is answered about each row that was written. */
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

/** The budget is asked while rows are written, too; a write never pauses. */
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

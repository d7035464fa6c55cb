import { assert } from '../../assert.ts';
import type { NamedType, Typespace } from '../../values/type.ts';
import type { QueryBudget } from '../budget.ts';
import type { ParameterSpec } from '../check/typed.ts';
import { namedTypeOf } from '../expressions/row-layout.ts';
import { ByteSink } from '../expressions/row-sink.ts';
import { ExecutionState } from '../operators/execution-state.ts';
import type { Maker } from '../operators/maker.ts';
import { paused, type Rows, rowReady, type Step } from '../operators/operator.ts';
import type { Stage } from '../operators/stages.ts';
import type { Measurements } from '../plan/measurements.ts';
import type { PlanParts, ReadPlan } from '../plan/plan.ts';
import type { SqlTables } from '../schema.ts';
import { PlanCompiler } from './compile-plan.ts';
import { PausableRun } from './pausable-run.ts';
import { ResultRows } from './result-rows.ts';
import type { ReadResult, ResultCollector } from './results.ts';

/** A read plan made ready to run any number of times, also concurrently. */
export interface CompiledRead {
  readonly plan: ReadPlan;
  readonly types: Typespace;
  readonly columns: readonly NamedType[];
  readonly stages: readonly Stage[];
  readonly make: Maker<Rows>;
}

export function compileRead(
  plan: ReadPlan,
  types: Typespace,
  measurements?: Measurements,
): CompiledRead {
  const compiler = new PlanCompiler(plan, types, measurements);
  const make = compiler.rows(plan.rows);
  const columns = plan.columns.map(namedTypeOf);
  return { plan, types, columns, stages: compiler.subqueries.stages, make };
}

/** The input of one execution. */
export interface ExecutionRequest {
  readonly tables: SqlTables;
  /** Encoded values of the parameters of the plan; `undefined` is null. */
  readonly parameters: readonly (Uint8Array | undefined)[];
  readonly budget: QueryBudget;
  /** The moment of the statement, microseconds since the Unix epoch. */
  readonly nowMicros: bigint;
  /** Most rows that the reader may have; absent: the general limit. */
  readonly rowsMax?: number | undefined;
}

/**
 * Throws `SqlFailure` when a parameter is null where that is meaningless. `rowsInOneGo`: how many
 * rows are looked at before it may pause; infinite: it does not pause.
 */
export function stateOf(
  plan: PlanParts,
  { tables, parameters, budget, nowMicros, rowsMax }: ExecutionRequest,
  rowsInOneGo = 0,
): ExecutionState {
  for (let at = 0; at < plan.parameters.length; at++) {
    const { refusesNull } = plan.parameters[at] as ParameterSpec;
    assert(!refusesNull || parameters[at] !== undefined, 'binding refuses NULL here');
  }
  return new ExecutionState({
    slotCount: plan.slots.length,
    parameters,
    nowMicros,
    budget,
    tables: plan.tables.map(({ id }) => tables.table(id)),
    rowsInOneGo,
    rowsPerCheck: rowsPerCheckOf(plan, budget),
    rowsMax,
  });
}

/** If one row takes much work, the clock is read more often. */
function rowsPerCheckOf({ size }: PlanParts, { rowsPerCheck }: QueryBudget): number {
  if (size <= expressionsOfPlainRow) return rowsPerCheck;
  return Math.max(1, Math.floor((rowsPerCheck * expressionsOfPlainRow) / size));
}

const expressionsOfPlainRow = 64;

/**
 * One run of a read, in slices: `run` continues until all rows are read or the slice of the budget
 * is over. Before the first pause the tables are pinned, so that the rows are a snapshot of one
 * moment. The code that makes an execution disposes of it.
 */
export class ReadExecution {
  readonly #compiled: CompiledRead;
  readonly #rows: Rows;
  readonly #result: ResultCollector;
  readonly #run: PausableRun;
  #isOpen = false;
  #isDone = false;

  /** `result` receives the rows, if they are not to be read with `result()`. */
  constructor(
    compiled: CompiledRead,
    request: ExecutionRequest,
    result: ResultCollector = new ResultRows(request.rowsMax, request.budget),
  ) {
    this.#result = result;
    this.#compiled = compiled;
    const state = stateOf(compiled.plan, request);
    this.#rows = compiled.make(state);
    this.#run = new PausableRun(state, compiled.stages, () => this.#collect());
  }

  /** Throws `SqlFailure`, or what a pin throws that was revoked meanwhile. */
  run(): 'done' | 'paused' {
    assert(!this.#isDone, 'an execution ends once');
    if (this.#run.slice() === paused) return 'paused';
    this.#isDone = true;
    this.dispose();
    return 'done';
  }

  result(): ReadResult {
    assert(this.#isDone, 'a result is asked for when all rows are there');
    const { columns, types } = this.#compiled;
    const { rowCount } = this.#result;
    return { columns, types, rows: this.#result.finish(), rowCount };
  }

  /** Pins the rows to this moment, whenever it runs. */
  pin(): void {
    this.#run.pin();
  }

  /** Releases the pinned rows; a second call does nothing. */
  dispose(): void {
    this.#run.dispose();
  }

  #collect(): Step {
    const rows = this.#rows;
    if (!this.#isOpen) rows.open();
    this.#isOpen = true;
    const result = this.#result;
    for (;;) {
      const step = rows.next();
      if (step !== rowReady) return step;
      rows.write(result);
      result.endRow();
    }
  }
}

/**
 * Runs a read in one go and passes each of its rows to `visit` as `bytes[0, length)`, which are
 * valid until `visit` returns; none are kept. Ends early when it returns false. Throws
 * `SqlFailure`.
 */
export function eachRow(
  compiled: CompiledRead,
  request: ExecutionRequest,
  visit: (bytes: Uint8Array, length: number) => boolean,
): void {
  const state = stateOf(compiled.plan, request, Number.POSITIVE_INFINITY);
  request.budget.startSlice();
  try {
    for (const stage of compiled.stages) stage.run(state);
    const rows = compiled.make(state);
    const sink = new ByteSink();
    rows.open();
    for (;;) {
      const step = rows.next();
      assert(step !== paused, 'what cannot pause goes on');
      if (step !== rowReady) return;
      sink.reset();
      rows.write(sink);
      if (!visit(sink.bytes, sink.length)) return;
    }
  } finally {
    request.budget.endSlice();
  }
}

import { assert } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { quotedName } from '../schema/quoted-name.ts';
import type { Transaction } from '../store/transaction.ts';
import type { QueryBudget } from './budget.ts';
import { bindParameters, type ParameterValue } from './check/bind.ts';
import { check } from './check/check.ts';
import type { TypedRead, TypedStatement, TypedWrite } from './check/typed.ts';
import { LimitedRead, type VisibleCount } from './limited-read.ts';
import { explainPlan } from './plan/explain.ts';
import { Measurements } from './plan/measurements.ts';
import type { Plan, PlanOptions, WritePlan } from './plan/plan.ts';
import { planStatement } from './plan/plan-statement.ts';
import {
  isOutgrown,
  type PlannedSizes,
  planningStatistics,
  requireWithinRowLimit,
  rowLimitOf,
  sizesOf,
} from './planning.ts';
import type { Rights, StatementCaller } from './rights.ts';
import { type CompiledRead, compileRead, ReadExecution } from './run/execution.ts';
import type { ReadResult, WriteOutcome } from './run/results.ts';
import { textRows } from './run/text-rows.ts';
import { type CompiledWrite, compileWrite, runWrite } from './run/write.ts';
import { WriteExecution } from './run/write-execution.ts';
import type { SqlSchema, SqlTables } from './schema.ts';
import { parse } from './syntax/parse.ts';

/** The schema, the rights and the caller that a statement is checked for. */
export interface StatementScope {
  readonly schema: SqlSchema;
  readonly caller: StatementCaller;
  /** Names of the parameters that the request has values for. */
  readonly parameterNames: ReadonlySet<string>;
}

/**
 * A statement that is valid for all callers with the same rights: whether it reads or writes, which
 * tables and which views, is read off `typed`, never off the text. Its views must be evaluated
 * before it is planned.
 */
export interface CheckedStatement {
  readonly schema: SqlSchema;
  readonly rights: Rights;
  readonly typed: TypedStatement;
}

/** A statement ready to run any number of times, for all callers with the same rights. */
export type PreparedStatement = PreparedRead | PreparedWrite | PreparedExplain;

interface Prepared extends CheckedStatement {
  readonly sizes: PlannedSizes;
}

export interface PreparedRead extends Prepared {
  readonly kind: 'read';
  readonly compiled: CompiledRead;
}

export interface PreparedWrite extends Prepared {
  readonly kind: 'write';
  readonly compiled: CompiledWrite;
}

/** Shows a plan; with `isAnalyze` it also runs, and its steps are measured. */
export interface PreparedExplain extends Prepared {
  readonly kind: 'explain';
  readonly plan: Plan;
  readonly isAnalyze: boolean;
  /** Of EXPLAIN LIVE: instead of the plan. */
  readonly lines?: readonly string[];
}

export interface PreparedExplainedWrite extends PreparedExplain {
  readonly plan: WritePlan;
  readonly isAnalyze: true;
}

/** The input of one run of a statement. */
export interface StatementRequest {
  readonly tables: SqlTables;
  readonly caller: StatementCaller;
  /** Values by the name after `$` or `:`. */
  readonly parameters: ReadonlyMap<string, ParameterValue>;
  readonly budget: QueryBudget;
  /** The moment of the statement, microseconds since the Unix epoch. */
  readonly nowMicros: bigint;
}

/** A running write: see `WriteExecution`. */
export type StatementWrite = Pick<WriteExecution, 'run' | 'catchUp' | 'write' | 'dispose'>;

/** A running read: see `ReadExecution`. */
export type StatementRead = Pick<ReadExecution, 'run' | 'result' | 'dispose'>;

/** Parses and checks one statement; reads no rows. Throws `SqlFailure`. */
export function checkStatement(sql: string, scope: StatementScope): CheckedStatement {
  const { schema, caller, parameterNames } = scope;
  const { identity, rights } = caller;
  return { schema, rights, typed: check(parse(sql), { schema, rights, identity, parameterNames }) };
}

/** Plans a checked statement for the current sizes of the tables. */
export function prepare(
  checked: CheckedStatement,
  tables: SqlTables,
  options: Partial<PlanOptions> = {},
): PreparedStatement {
  const { schema, typed } = checked;
  const types = { types: schema.types };
  const isExplained = typed.kind === 'explain';
  const { rights } = isExplained && typed.as !== undefined ? typed.as : checked;
  const statistics = planningStatistics(schema, rights, tables);
  const request = { types, statistics, options };
  const inner: TypedRead | TypedWrite = isExplained ? typed.statement : typed;
  const plan: Plan = planStatement(inner, request);
  const sizes = sizesOf(plan.tables, { schema, rights, tables });
  if (isExplained) {
    return { ...checked, kind: 'explain', plan, isAnalyze: typed.isAnalyze, sizes };
  }
  if (plan.kind === 'read') {
    return { ...checked, kind: 'read', compiled: compileRead(plan, types), sizes };
  }
  return { ...checked, kind: 'write', compiled: compileWrite(plan, types), sizes };
}

/** True when the tables have changed so much that the statement should be prepared again. */
export function isStale({ sizes }: PreparedStatement, tables: SqlTables): boolean {
  return isOutgrown(sizes, tables);
}

/** Whether running it needs a transaction: explaining a write does not, unless it is analysed. */
export function isWrite(
  prepared: PreparedStatement,
): prepared is PreparedWrite | PreparedExplainedWrite {
  if (prepared.kind !== 'explain') return prepared.kind === 'write';
  return prepared.isAnalyze && prepared.plan.kind !== 'read';
}

/**
 * Starts a statement that does not write; nothing of it has run yet. Throws `SqlFailure` if its
 * parameters do not fit, or if it would look at more rows than the caller may.
 */
export function startRead(
  prepared: PreparedRead | PreparedExplain,
  request: StatementRequest,
): StatementRead {
  if (prepared.kind === 'explain') return startExplain(prepared, request);
  return execute(prepared.compiled, prepared, request);
}

/**
 * Starts a statement that writes: what it changes is found in slices, once it has looked at
 * `rowsInOneGo` rows, and then written at once. Throws `SqlFailure` if its parameters do not fit.
 */
export function startWrite(
  prepared: PreparedWrite,
  request: StatementRequest,
  rowsInOneGo: number,
): StatementWrite {
  return new WriteExecution(prepared.compiled, executionOf(prepared, request), rowsInOneGo);
}

/**
 * Runs a statement that writes in one go, in a transaction of the store of `tables`. When it throws
 * `SqlFailure` the caller rolls the transaction back.
 */
export function executeWrite(
  prepared: PreparedWrite | PreparedExplainedWrite,
  request: StatementRequest,
  transaction: Transaction,
): WriteOutcome {
  if (prepared.kind === 'write') {
    return runWrite(prepared.compiled, { ...executionOf(prepared, request), transaction });
  }
  const { plan, schema } = prepared;
  const measurements = new Measurements();
  const compiled = compileWrite(plan, { types: schema.types }, measurements);
  const outcome = runWrite(compiled, { ...executionOf(prepared, request), transaction });
  return { ...outcome, returned: explanation(prepared, measurements) };
}

function startExplain(prepared: PreparedExplain, request: StatementRequest): StatementRead {
  const { plan, isAnalyze, schema } = prepared;
  if (!isAnalyze || plan.kind !== 'read') {
    return { run: () => 'done', result: () => explanation(prepared), dispose: () => undefined };
  }
  const measurements = new Measurements();
  const compiled = compileRead(plan, { types: schema.types }, measurements);
  const execution = execute(compiled, prepared, request);
  return {
    run: () => execution.run(),
    result: () => explanation(prepared, measurements),
    dispose: () => execution.dispose(),
  };
}

function explanation(prepared: PreparedExplain, measurements?: Measurements): ReadResult {
  const { plan, schema, rights, typed } = prepared;
  if (prepared.lines !== undefined) return textRows('plan', prepared.lines);
  const sender = typed.kind === 'explain' ? typed.as?.identity : undefined;
  const lines = explainPlan(plan, {
    types: { types: schema.types },
    hidesNumbers: !rights.bypassesFilters,
    ...(sender !== undefined && { sender }),
    ...(measurements !== undefined && { measurements }),
  });
  return textRows('plan', lines);
}

function execute(
  compiled: CompiledRead,
  prepared: Prepared,
  request: StatementRequest,
): StatementRead {
  const { plan } = compiled;
  const { rights, schema } = prepared;
  const { tables } = request;
  const given = executionOf(prepared, request);
  const start = () => new ReadExecution(compiled, given);
  if (rights.exceedsRowLimit || rowLimitOf(tables) === undefined) return start();
  const hidden = rights.bypassesFilters
    ? []
    : plan.tables.filter(({ id }) => schema.filters.has(id));
  if (hidden.length > 0) {
    const counts = hidden.map((table) => countVisible(table, prepared, request));
    return new LimitedRead(counts, (sizes) => {
      requireWithinRowLimit(plan, tables, sizes);
      return start();
    });
  }
  requireWithinRowLimit(plan, tables);
  return start();
}

/** Counts the rows of a table that this caller sees, in a read of its own. */
function countVisible(
  { id, name }: TableSpec,
  { schema }: Prepared,
  request: StatementRequest,
): VisibleCount {
  const { caller, tables } = request;
  const sql = `SELECT COUNT(*) AS n FROM ${quotedName(name)}`;
  const counted = prepare(
    checkStatement(sql, { schema, caller, parameterNames: new Set() }),
    tables,
  );
  assert(counted.kind === 'read', 'to count is to read');
  return {
    tableId: id,
    execution: new ReadExecution(counted.compiled, executionOf(counted, request)),
  };
}

function executionOf({ schema, typed }: Prepared, request: StatementRequest) {
  const { tables, budget, nowMicros, caller } = request;
  const types = { types: schema.types };
  const parameters = bindParameters(typed.parameters, request.parameters, caller.identity, types);
  return { tables, budget, nowMicros, parameters, rowsMax: caller.rights.rowsMax };
}

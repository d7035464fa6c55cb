import { assert } from '../assert.ts';
import type { Catalog } from '../schema/catalog.ts';
import type { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Budget } from './budget.ts';
import { check } from './check/check.ts';
import { rightsOf, type StatementCaller } from './check/visibility.ts';
import { explain } from './plan/explain.ts';
import { type Plan, plan, type ReadPlan, type WritePlan } from './plan/plan.ts';
import { requireWithinRowLimit } from './plan/row-limit.ts';
import { type ReadResult, runRead } from './run/execute-read.ts';
import { runWrite, type WriteResult } from './run/execute-write.ts';
import { toDialect } from './syntax/dialect.ts';
import { parse } from './syntax/parse.ts';

/**
 * A statement that is known to be right for its caller and the schema it was checked against, ready
 * to run. Whether it reads or writes, and which table, is read off the plan, never off the text.
 */
export type PreparedStatement = PreparedRead | PreparedWrite;

export interface PreparedRead extends Prepared {
  readonly kind: 'read';
  readonly plan: ReadPlan;
}

export interface PreparedWrite extends Prepared {
  readonly kind: 'write';
  readonly plan: WritePlan;
}

interface Prepared {
  /** Valid while the store has this catalog. */
  readonly store: Store;
  readonly catalog: Catalog;
  readonly isRowLimited: boolean;
}

export interface StatementScope {
  readonly store: Store;
  readonly caller: StatementCaller;
  /** False: plan without indexes, to compare with. */
  readonly useIndexes?: boolean;
}

/** Parses, checks and plans one statement. Throws `SqlFailure`; reads no rows. */
export function prepare(sql: string, scope: StatementScope): PreparedStatement {
  const { store, caller, useIndexes = true } = scope;
  const { catalog } = store;
  const typed = check(toDialect(parse(sql)), catalog, caller);
  const planned: Plan = plan(typed, { types: catalog.types }, { useIndexes });
  const isRowLimited = !rightsOf(caller).exceedsRowLimit;
  const prepared = { store, catalog, isRowLimited };
  if (planned.kind === 'read') return { ...prepared, kind: 'read', plan: planned };
  return { ...prepared, kind: 'write', plan: planned };
}

/** Runs a read against the present rows. Throws `SqlFailure` when it exceeds a limit. */
export function executeRead(prepared: PreparedRead, store: Store, budget: Budget): ReadResult {
  assert(store.catalog === prepared.catalog, 'a statement runs against the schema it was made for');
  if (prepared.isRowLimited) requireWithinRowLimit(prepared.plan, store);
  return runRead(prepared.plan, store, budget);
}

/**
 * Runs a write in a transaction of the store that it was prepared for. When it throws `SqlFailure`
 * the caller rolls the transaction back.
 */
export function executeWrite(
  prepared: PreparedWrite,
  transaction: Transaction,
  budget: Budget,
): WriteResult {
  const { store, catalog } = prepared;
  assert(store.catalog === catalog, 'a statement runs against the schema it was made for');
  return runWrite(prepared.plan, store, transaction, budget);
}

/** How a statement will run, as text for people. */
export function explainPrepared({ plan: planned, catalog }: PreparedStatement): string {
  return explain(planned, { types: catalog.types });
}

import { assert, present } from '../../assert.ts';
import type { Typespace } from '../../values/type.ts';
import { sizeOfStatement } from '../check/size.ts';
import type {
  TypedBlock,
  TypedDelete,
  TypedExpression,
  TypedInsert,
  TypedJoin,
  TypedQuery,
  TypedRead,
  TypedUpdate,
  TypedWrite,
} from '../check/typed.ts';
import { makeFold } from './fold.ts';
import type { Plan, PlanOptions, PlanParts, ReadPlan, WritePlan } from './plan.ts';
import { Planner } from './planner.ts';
import { type Statistics, unknownStatistics } from './statistics.ts';
import { planInside, planSubqueries, planSubqueriesOfTuples } from './subquery.ts';

export interface PlanRequest {
  readonly types: Typespace;
  /** Statistics about the rows; without them, plans do not depend on the rows. */
  readonly statistics?: Statistics;
  readonly options?: Partial<PlanOptions>;
}

/** Chooses the plan of a checked statement. */
export function planStatement(statement: TypedRead, request: PlanRequest): ReadPlan;
export function planStatement(statement: TypedWrite, request: PlanRequest): WritePlan;
export function planStatement(statement: TypedRead | TypedWrite, request: PlanRequest): Plan;
export function planStatement(statement: TypedRead | TypedWrite, request: PlanRequest): Plan {
  const { types, statistics = unknownStatistics } = request;
  const options = { useIndexes: true, optimise: true, ...request.options };
  const fold = options.optimise ? makeFold(types) : (e: TypedExpression) => e;
  const planner = new Planner(
    { statistics, types, options, fold },
    statement.slotCount,
    statement.valueCount,
  );
  switch (statement.kind) {
    case 'read':
      return planRead(statement, planner);
    case 'insert':
      return planInsert(statement, planner);
    case 'update':
      return planUpdate(statement, planner);
    case 'delete':
      return planDelete(statement, planner);
  }
}

function planRead(statement: TypedRead, planner: Planner): ReadPlan {
  const { query } = statement;
  planner.count(query);
  const rows = planner.query(query);
  planSubqueries(planner, rows);
  return { kind: 'read', rows, columns: query.columns, ...partsOf(statement, planner) };
}

function planInsert(statement: TypedInsert, planner: Planner): WritePlan {
  const { table, source, conflict, returning } = statement;
  planner.tables.set(table.id, table);
  if (conflict?.update !== undefined) {
    planner.noteTable(conflict.update.slot, table);
    planner.noteTable(conflict.update.excludedSlot, table);
  }
  if (returning !== undefined) planner.noteTable(returning.slot, table);
  let plannedSource: Extract<WritePlan, { readonly kind: 'insert' }>['source'];
  let items: readonly TypedExpression[] = [];
  if (source.kind === 'values') {
    for (const value of source.rows.flat()) countInside(planner, value);
    for (const value of source.rows.flat()) planInside(planner, value, 1);
    plannedSource = source;
  } else {
    const { query, columns } = source;
    planner.count(query);
    const rows = planner.query(query);
    planSubqueries(planner, rows);
    const slot = planner.slotFor(query.columns);
    plannedSource = { kind: 'query', rows, slot };
    items = columns.map((column): TypedExpression => {
      if (typeof column !== 'number') return column;
      const output = query.columns[column];
      assert(output !== undefined, 'a column of the query fills each column');
      return { kind: 'column', slot, column, ...output };
    });
  }
  planReturning(statement, planner);
  const parts = partsOf(statement, planner);
  return { kind: 'insert', table, source: plannedSource, items, conflict, returning, ...parts };
}

function planUpdate(statement: TypedUpdate, planner: Planner): WritePlan {
  const { table, relation, beside, returning } = statement;
  planner.noteTable(relation.slot, table);
  const assigned = statement.assignments;
  const written = assigned.map(({ value }) => value);
  const { input, items } = planMatching(statement, written, planner);
  for (const value of items) planInside(planner, value, input.estimate.rows);
  const assignments = assigned.map(({ column }, at) => {
    return { column, value: present(items[at], 'an item for each assignment') };
  });
  if (returning !== undefined) planner.noteTable(returning.slot, table);
  planReturning(statement, planner);
  const { slot } = relation;
  const isJoined = beside !== undefined;
  const parts = partsOf(statement, planner);
  return { kind: 'update', table, slot, input, assignments, isJoined, returning, ...parts };
}

function planDelete(statement: TypedDelete, planner: Planner): WritePlan {
  const { table, relation, beside, returning } = statement;
  planner.noteTable(relation.slot, table);
  const { input } = planMatching(statement, [], planner);
  if (returning !== undefined) planner.noteTable(returning.slot, table);
  planReturning(statement, planner);
  const { slot } = relation;
  const isJoined = beside !== undefined;
  const parts = partsOf(statement, planner);
  return { kind: 'delete', table, slot, input, isJoined, returning, ...parts };
}

/** The rows to change, with those beside them; `items` are evaluated for each. */
function planMatching(
  { relation, beside, where }: TypedUpdate | TypedDelete,
  items: readonly TypedExpression[],
  planner: Planner,
): ReturnType<Planner['matching']> {
  const first: TypedJoin = { kind: 'inner', condition: undefined };
  const block: TypedBlock = {
    kind: 'block',
    relations: [relation, ...(beside?.relations ?? [])],
    joins: beside === undefined ? [] : [first, ...beside.joins],
    where,
    grouping: undefined,
    having: undefined,
    items,
    isDistinct: false,
  };
  planner.count(queryOf(block));
  const matching = planner.matching(block);
  planSubqueriesOfTuples(planner, matching.input);
  return matching;
}

function planReturning({ returning }: TypedWrite, planner: Planner): void {
  for (const item of returning?.items ?? []) countInside(planner, item);
  for (const item of returning?.items ?? []) planInside(planner, item, 1);
}

/** Counts the common tables in the subqueries of an expression. */
function countInside(planner: Planner, expression: TypedExpression | undefined): void {
  if (expression === undefined) return;
  const block: TypedBlock = {
    kind: 'block',
    relations: [],
    joins: [],
    where: undefined,
    grouping: undefined,
    having: undefined,
    items: [expression],
    isDistinct: false,
  };
  planner.count(queryOf(block));
}

function queryOf(body: TypedBlock): TypedQuery {
  return { body, order: [], limit: undefined, offset: undefined, columns: [], outerSlots: [] };
}

function partsOf(statement: TypedRead | TypedWrite, planner: Planner): PlanParts {
  // Planning the subqueries of one common table can lead to another one.
  for (let planned = 0; planned < planner.commonTables.size; ) {
    const all = [...planner.commonTables.values()];
    for (const rows of all.slice(planned)) planSubqueries(planner, rows);
    planned = all.length;
  }
  const { slots, tables, subqueries, commonTables } = planner;
  const { valueCount, parameters, views } = statement;
  return {
    size: sizeOfStatement(statement),
    slots,
    valueCount,
    parameters,
    views,
    tables: [...tables.values()],
    subqueries,
    commonTables,
  };
}

import { assert, present, unreachable } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import type { TableId } from '../../schema/ids.ts';
import type { Typespace } from '../../values/type.ts';
import type {
  OrderKey,
  OutputColumn,
  TypedBlock,
  TypedExpression,
  TypedQuery,
  TypedRecursion,
  TypedRelation,
  TypedWindowing,
} from '../check/typed.ts';
import { isFree, outerNeedsOf, type TypedSubquery, visitQuery } from '../check/typed-expression.ts';
import { optionInnerType } from '../functions/convert.ts';
import { type FlatBlock, type FlatRelation, flattenBlock } from './flatten.ts';
import { filtered, joinRelations } from './join-order.ts';
import { nearestByIndex } from './nearest-access.ts';
import { extremeByIndex, type OrderLayout, orderedByIndex } from './order-by-index.ts';
import type {
  AggregatePlan,
  PlanOptions,
  RowsPlan,
  SlotPlan,
  SortKey,
  SubqueryPlan,
  TuplesPlan,
} from './plan.ts';
import type { Statistics } from './statistics.ts';

export interface PlannerScope {
  readonly statistics: Statistics;
  readonly types: Typespace;
  readonly options: PlanOptions;
  readonly fold: (expression: TypedExpression) => TypedExpression;
}

/** Plans the queries of one statement; collects what they share. */
export class Planner {
  readonly scope: PlannerScope;
  readonly slots: SlotPlan[] = [];
  readonly tables = new Map<TableId, TableSpec>();
  readonly subqueries = new Map<TypedSubquery, SubqueryPlan>();
  readonly commonTables = new Map<number, RowsPlan>();
  readonly #commonUses = new Map<number, number>();
  #nextSlot: number;
  #nextValue: number;
  /** Above zero, the plan will run again and again, for different outer rows. */
  #correlated = 0;

  constructor(scope: PlannerScope, slotCount: number, valueCount: number) {
    this.scope = scope;
    this.#nextSlot = slotCount;
    this.#nextValue = valueCount;
  }

  get #layout(): OrderLayout {
    return { slots: this.slots, types: this.scope.types };
  }

  /** Must be called for each query of the statement before it is planned. */
  count(query: TypedQuery): void {
    const countRelation = ({ source }: TypedRelation): boolean => {
      if (source.kind !== 'query' || source.commonTable === undefined) return true;
      const uses = this.#commonUses.get(source.commonTable) ?? 0;
      this.#commonUses.set(source.commonTable, uses + 1);
      // The inside exists once, however often it is named.
      return uses === 0;
    };
    const countInside = (e: TypedExpression): void => {
      // `visitQuery` walks into subqueries, but visits relations of the outermost query only.
      if (e.kind === 'subquery') visitQuery(e.query, () => undefined, countRelation);
    };
    visitQuery(query, countInside, countRelation);
  }

  /** `columns`: the columns of the rows; only nullability may differ from the query's own. */
  query(query: TypedQuery, columns: readonly OutputColumn[] = query.columns): RowsPlan {
    const rows = this.#body(query, columns);
    const { limit, offset } = query;
    if (limit === undefined && offset === undefined) return rows;
    const estimate = { ...rows.estimate, rows: Math.min(rows.estimate.rows, countOf(limit)) };
    return { kind: 'limit', input: rows, limit, offset, estimate };
  }

  /** The tuples of a block, for UPDATE and DELETE, and its list as it is computed from them. */
  matching(block: TypedBlock): {
    readonly input: TuplesPlan;
    readonly items: readonly TypedExpression[];
  } {
    const flat = this.#flatten(block, []);
    return { input: this.#tuples(flat), items: flat.items };
  }

  slotFor(columns: readonly OutputColumn[]): number {
    const slot = this.#nextSlot++;
    this.slots[slot] = { kind: 'rows', columns };
    return slot;
  }

  noteTable(slot: number, table: TableSpec): void {
    this.slots[slot] = { kind: 'table', table };
    this.tables.set(table.id, table);
  }

  /** Plans a query that is evaluated for different outer rows. */
  correlated(query: TypedQuery): RowsPlan {
    this.#correlated++;
    const rows = this.query(query);
    this.#correlated--;
    return rows;
  }

  flatten(block: TypedBlock): FlatBlock {
    return this.#flatten(block, []);
  }

  /** The keys that a subquery depends on, for all inner rows. */
  keyRows(
    block: FlatBlock,
    keys: readonly TypedExpression[],
    columns: readonly OutputColumn[],
  ): RowsPlan {
    const input = this.#tuples(block);
    const { estimate } = input;
    return { kind: 'project', input, items: keys, columns, wholeSlot: undefined, estimate };
  }

  /** The groups of a block. */
  groupRows(
    block: FlatBlock,
    items: readonly TypedExpression[],
    columns: readonly OutputColumn[],
  ): RowsPlan {
    return this.#project(this.#grouped(block, this.#tuples(block)), items, columns);
  }

  /** Reserves numbers for `count` values that grouping computes; returns the first. */
  newValues(count: number): number {
    const first = this.#nextValue;
    this.#nextValue += count;
    return first;
  }

  #flatten(block: TypedBlock, order: readonly OrderKey[]): FlatBlock {
    const { options, fold } = this.scope;
    const { optimise } = options;
    return flattenBlock(block, order, { optimise, fold, commonUses: this.#commonUses });
  }

  #tuples(block: FlatBlock): TuplesPlan {
    for (const { slot, source } of block.relations) {
      if (source.kind === 'table') this.noteTable(slot, source.table);
      else this.slots[slot] = { kind: 'rows', columns: source.query.columns };
    }
    return joinRelations(block, {
      ...this.scope,
      rowsOf: (relation) => this.#derived(relation),
    });
  }

  #derived({ source }: FlatRelation): ReturnType<Parameters<typeof joinRelations>[1]['rowsOf']> {
    assert(source.kind === 'query', 'a table is not derived');
    const { query, commonTable } = source;
    if (commonTable !== undefined && (this.#commonUses.get(commonTable) ?? 1) > 1) {
      const rows = this.commonTables.get(commonTable) ?? this.query(query);
      this.commonTables.set(commonTable, rows);
      return { from: { kind: 'common', number: commonTable }, rows };
    }
    const isKept = this.#correlated > 0 && isFree(outerNeedsOf(query));
    const rows = this.query(query);
    return { from: { kind: 'rows', rows, isKept }, rows };
  }

  #block(query: TypedQuery, block: TypedBlock, columns: readonly OutputColumn[]): RowsPlan {
    const flat = this.#flatten(block, query.order);
    const counted = this.#countOfTable(flat, columns);
    if (counted !== undefined) return counted;
    const input = this.#grouped(flat, this.#tuples(flat));
    const { items } = flat;
    if (flat.isDistinct) {
      const { estimate } = input;
      const all = this.#project(input, items, columns);
      const distinct: RowsPlan = { kind: 'distinct', input: all, columns, estimate };
      return this.#ordered(distinct, flat.order, columns, query);
    }
    if (flat.order.length === 0) return this.#project(input, items, columns);
    const keys = flat.order.map(({ key, ...order }): SortKey => {
      if (key.kind === 'expression') return { ...order, expression: key.expression };
      return { ...order, expression: present(items[key.column], 'an ordered column') };
    });
    const ordered = orderedByIndex(input, keys, this.scope.options, this.#layout);
    if (ordered !== undefined) return this.#project(ordered, items, columns);
    const { limit, offset } = query;
    const top = limit === undefined ? undefined : { limit, offset };
    const nearest = nearestByIndex(input, keys, top, this.scope);
    return sorted(nearest, keys, { items, columns, query });
  }

  #project(
    input: TuplesPlan,
    items: readonly TypedExpression[],
    columns: readonly OutputColumn[],
  ): RowsPlan {
    const { estimate } = input;
    const wholeSlot = wholeSlotOf(items, columns, this.slots);
    return { kind: 'project', input, items, columns, wholeSlot, estimate };
  }

  #grouped(block: FlatBlock, input: TuplesPlan): TuplesPlan {
    const { grouping, having } = block;
    if (grouping === undefined) return filtered(input, having === undefined ? [] : [having]);
    const { rows, cost } = input.estimate;
    const groups = grouping.keys.length === 0 ? 1 : Math.max(1, rows / 10);
    const estimate = { rows: groups, cost: cost + rows };
    const extreme = extremeByIndex(input, grouping, this.scope.options, this.#layout);
    const aggregate: AggregatePlan = {
      kind: 'aggregate',
      input: extreme ?? input,
      grouping,
      estimate,
    };
    return filtered(aggregate, having === undefined ? [] : [having]);
  }

  /** `SELECT COUNT(*)` of a table as a whole. */
  #countOfTable(block: FlatBlock, columns: readonly OutputColumn[]): RowsPlan | undefined {
    const { relations, grouping, items, having, conjuncts } = block;
    const [only] = relations;
    if (!this.scope.options.optimise || grouping === undefined || only === undefined) {
      return undefined;
    }
    const { source, security, slot } = only;
    if (relations.length > 1 || source.kind !== 'table' || security.length > 0) return undefined;
    if (conjuncts.length > 0 || having !== undefined || block.order.length > 0) return undefined;
    const [aggregate] = grouping.aggregates;
    const [item] = items;
    if (grouping.keys.length > 0 || grouping.aggregates.length !== 1 || items.length !== 1) {
      return undefined;
    }
    if (aggregate?.argument !== undefined || item?.kind !== 'value') return undefined;
    if (columns[0]?.isNullable !== false) return undefined;
    this.noteTable(slot, source.table);
    const { table } = source;
    const rows = this.scope.statistics.rowCount(table);
    return { kind: 'count', table, estimate: { rows: 1, cost: rows } };
  }

  #body(query: TypedQuery, columns: readonly OutputColumn[]): RowsPlan {
    const { body } = query;
    switch (body.kind) {
      case 'block':
        return this.#block(query, body, columns);
      case 'setOperation':
        return this.#ordered(this.#setOperation(query, columns), query.order, columns, query);
      case 'window':
        return this.#windowing(body);
      case 'recursive':
        return this.#recursion(body, columns);
      case 'working':
        return { kind: 'working', slot: body.slot, estimate: workingEstimate };
      case 'elements':
        return { ...body, array: this.scope.fold(body.array), estimate: elementsEstimate };
      default:
        return unreachable(body);
    }
  }

  #recursion(
    { slot, base, step, isAll }: TypedRecursion,
    columns: readonly OutputColumn[],
  ): RowsPlan {
    const first = this.query(base, columns);
    // What does not depend on the rows before is kept from step to step.
    this.#correlated++;
    const next = this.query(step, columns);
    this.#correlated--;
    const rows = first.estimate.rows + next.estimate.rows;
    const estimate = { rows, cost: first.estimate.cost + next.estimate.cost * guessedSteps };
    return { kind: 'recursive', slot, base: first, step: next, isAll, columns, estimate };
  }

  #windowing({ input, calls }: TypedWindowing): RowsPlan {
    const rows = this.query(input);
    const slot = this.slotFor(input.columns);
    const estimate = {
      rows: rows.estimate.rows,
      cost: rows.estimate.cost + rows.estimate.rows * 3,
    };
    return { kind: 'window', input: rows, slot, inputColumns: input.columns, calls, estimate };
  }

  #setOperation(query: TypedQuery, columns: readonly OutputColumn[]): RowsPlan {
    const { body } = query;
    assert(body.kind === 'setOperation', 'the body is a set operation');
    const left = this.query(body.left, columns);
    const right = this.query(body.right, columns);
    const { operator, isAll } = body;
    const rows = left.estimate.rows + (operator === 'union' ? right.estimate.rows : 0);
    const cost = left.estimate.cost + right.estimate.cost;
    return { kind: 'set', operator, isAll, left, right, columns, estimate: { rows, cost } };
  }

  /** Rows in the order of their columns: they are read back through a slot. */
  #ordered(
    rows: RowsPlan,
    order: readonly OrderKey[],
    columns: readonly OutputColumn[],
    query: TypedQuery,
  ): RowsPlan {
    if (order.length === 0) return rows;
    const slot = this.slotFor(columns);
    const items = columns.map(({ name, ...type }, column): TypedExpression => {
      return { kind: 'column', slot, column, name, ...type };
    });
    const keys = order.map(({ key, ...rest }): SortKey => {
      assert(key.kind === 'output', 'only columns of the answer order a set');
      const item = present(items[key.column], 'an ordered column');
      return { ...rest, expression: carriedBy(item, this.scope.types) };
    });
    const { estimate } = rows;
    const input: TuplesPlan = {
      kind: 'source',
      slot,
      name: 'result',
      from: { kind: 'rows', rows, isKept: false },
      access: { kind: 'scan' },
      conditions: [],
      secrecy: 'none',
      estimate,
    };
    return sorted(input, keys, { items, columns, query });
  }
}

/** How many elements an array has is not known. */
const elementsEstimate = { rows: 5, cost: 5 };
/** How many rows a step makes, and how many steps there are, is not known. */
const workingEstimate = { rows: 10, cost: 10 };
const guessedSteps = 10;

/** An Option is ordered by what it carries; none counts as null. */
function carriedBy(item: TypedExpression, types: Typespace): TypedExpression {
  const inner = optionInnerType(item.type, types);
  if (inner === undefined) return item;
  return { kind: 'variant', operand: item, tag: 0, type: inner, isNullable: true };
}

interface Answer {
  readonly items: readonly TypedExpression[];
  readonly columns: readonly OutputColumn[];
  readonly query: TypedQuery;
}

function sorted(
  input: TuplesPlan,
  keys: readonly SortKey[],
  { items, columns, query }: Answer,
): RowsPlan {
  const { limit, offset } = query;
  const top = limit === undefined ? undefined : { limit, offset };
  const { rows, cost } = input.estimate;
  const estimate = { rows, cost: cost + rows * 2 };
  return { kind: 'sort', input, keys, items, columns, top, estimate };
}

/** The slot of a table if the items are all of its columns, in order and unchanged. */
function wholeSlotOf(
  items: readonly TypedExpression[],
  columns: readonly OutputColumn[],
  slots: readonly (SlotPlan | undefined)[],
): number | undefined {
  const [first] = items;
  if (first?.kind !== 'column') return undefined;
  const slot = slots[first.slot];
  if (slot?.kind !== 'table' || slot.table.columns.length !== items.length) return undefined;
  const isWhole = items.every(
    (item, at) =>
      item.kind === 'column' &&
      item.slot === first.slot &&
      item.column === at &&
      !item.isNullable &&
      columns[at]?.isNullable === false,
  );
  return isWhole ? first.slot : undefined;
}

/** The value of a LIMIT, as far as it is known when planning. */
export function countOf(limit: TypedExpression | undefined): number {
  if (limit?.kind !== 'constant' || limit.bytes === undefined) return Number.POSITIVE_INFINITY;
  let value = 0;
  for (let at = limit.bytes.length - 1; at >= 0; at--) value = value * 256 + (limit.bytes[at] ?? 0);
  return value;
}

import { canRaise } from '../sql/check/can-raise.ts';
import { conjunctsOf } from '../sql/check/conjuncts.ts';
import type {
  OrderKey,
  OutputColumn,
  TypedBlock,
  TypedExpression,
  TypedGrouping,
  TypedQuery,
  TypedRead,
} from '../sql/check/typed.ts';
import { visitQuery } from '../sql/check/typed-expression.ts';
import { hasFloats, hasRefs } from '../sql/functions/canonical.ts';
import { decodeQueryValue } from '../sql/functions/value-codec.ts';
import { pairOf } from './fragment-parts.ts';
import { computedIds } from './live-schema.ts';

/**
 * How a query of the full dialect is kept up to date:
 *
 * ```
 * base: one table, or two that are joined ─▶ [groups] ─▶ [window] ─▶ rows
 * ```
 */
export interface IncrementalShape {
  /** Has no groups, order or limit; its columns are those that the next stage needs. */
  readonly base: TypedRead;
  readonly groups: GroupsShape | undefined;
  readonly window: WindowShape | undefined;
}

/** Base rows hold the keys, then the arguments of the aggregates that have one. */
export interface GroupsShape {
  readonly grouping: TypedGrouping;
  readonly baseColumns: readonly OutputColumn[];
  readonly having: TypedExpression | undefined;
  /** The output of a group, computed from values alone. */
  readonly items: readonly TypedExpression[];
  readonly columns: readonly OutputColumn[];
}

export interface WindowShape {
  /** The shown columns, then one for each order key. */
  readonly columns: readonly OutputColumn[];
  readonly shownCount: number;
  readonly order: readonly Pick<OrderKey, 'isDescending' | 'isNullsFirst'>[];
  /** Can be infinite. */
  readonly limit: number;
  readonly offset: number;
}

/**
 * Returns `undefined` if the query has no such form. It has none either if an error could come up
 * in another order than in a plan, or could reveal rows that a filter hides.
 */
export function incrementalShape(read: TypedRead): IncrementalShape | undefined {
  const { query } = read;
  const { body: block } = query;
  if (block.kind !== 'block' || !isPlainBase(block) || hasSubqueries(query)) return undefined;
  const order = query.order.map((one) => ({ ...one, expression: orderExpression(one, block) }));
  const cut = cutOf(query);
  const isCut = query.limit !== undefined || query.offset !== undefined;
  if (cut === undefined) return undefined;
  // A plan that sorts evaluates the first key for every row, all else only for rows that may be
  // shown.
  const isAskedOfAll = isCut && cut.limit > 0 && order.length === 1;
  if (!isAskedOfAll && order.some(({ expression }) => canRaise(expression))) return undefined;
  if (isCut && block.items.some(canRaise)) return undefined;
  const grouped = groupedBlock(
    block,
    order.map(({ expression }) => expression),
    read.valueCount,
  );
  if (grouped === undefined) return undefined;
  const { grouping, having, keys } = grouped;
  if (grouping?.aggregates.some((one) => one.function.keepsValues === true)) return undefined;
  const items = isCut ? [...grouped.items, ...keys] : grouped.items;
  const columns = isCut ? [...query.columns, ...keys.map(columnOf)] : query.columns;
  const shownCount = query.columns.length;
  const window = isCut ? { columns, shownCount, order, ...cut } : undefined;
  if (grouping === undefined) {
    return { base: baseOf(read, block, items, columns), groups: undefined, window };
  }
  const inBase = [...grouping.keys, ...argumentsOf(grouping)];
  const baseColumns = inBase.map(columnOf);
  if (!grouping.keys.every(isExactKey)) return undefined;
  return {
    base: baseOf(read, block, inBase, baseColumns),
    groups: { grouping, baseColumns, having, items, columns },
    window,
  };
}

export function argumentsOf({ aggregates }: TypedGrouping): readonly TypedExpression[] {
  return aggregates.flatMap(({ argument }) => (argument === undefined ? [] : [argument]));
}

/** One or two plain tables, joined on equal columns; no condition can raise an error. */
function isPlainBase({ relations, joins, where }: TypedBlock): boolean {
  const isPlain = relations.every(({ slot, source, isNullable }, at) => {
    if (source.kind !== 'table' || slot !== at || isNullable) return false;
    return !source.table.isEvent && !computedIds.has(source.table.id);
  });
  if (!isPlain || relations.length === 0 || relations.length > 2) return false;
  if (joins.some(({ kind }) => kind !== 'inner')) return false;
  const securities = relations.map(({ security }) => security);
  const conditions = [...joins.map(({ condition }) => condition), where, ...securities];
  const conjuncts = conditions.flatMap(conjunctsOf);
  if (conjuncts.some(canRaise)) return false;
  if (relations.length === 1) return true;
  return conjuncts.some((conjunct) => pairOf(conjunct)?.every(isExactKey));
}

/** True if equal values have equal bytes, and can be compared without the types of the schema. */
function isExactKey({ type }: TypedExpression): boolean {
  return !hasRefs(type) && !hasFloats(type);
}

function hasSubqueries(query: TypedQuery): boolean {
  let isFound = false;
  visitQuery(query, ({ kind }) => {
    isFound ||= kind === 'subquery';
  });
  return isFound;
}

function orderExpression({ key }: OrderKey, { items }: TypedBlock): TypedExpression {
  return key.kind === 'expression' ? key.expression : (items[key.column] as TypedExpression);
}

/** Returns `undefined` if the limits are known only at run time. */
function cutOf({ limit, offset }: TypedQuery): Pick<WindowShape, 'limit' | 'offset'> | undefined {
  const numberOf = (e: TypedExpression | undefined, absent: number): number | undefined => {
    if (e === undefined) return absent;
    if (e.kind !== 'constant' || e.bytes === undefined) return undefined;
    return Number(decodeQueryValue(e.type, e.bytes));
  };
  const limitCount = numberOf(limit, Number.POSITIVE_INFINITY);
  const offsetCount = numberOf(offset, 0);
  if (limitCount === undefined || offsetCount === undefined) return undefined;
  return { limit: limitCount, offset: offsetCount };
}

interface Grouped {
  readonly grouping: TypedGrouping | undefined;
  readonly having: TypedExpression | undefined;
  readonly items: readonly TypedExpression[];
  /** The order keys. */
  readonly keys: readonly TypedExpression[];
}

/** DISTINCT makes each row a group; after GROUP BY it would be a second grouping. */
function groupedBlock(
  { grouping, having, items, isDistinct }: TypedBlock,
  keys: readonly TypedExpression[],
  firstValue: number,
): Grouped | undefined {
  if (!isDistinct) return { grouping, having, items, keys };
  if (grouping !== undefined) return undefined;
  const values = items.map(({ type, isNullable }, at): TypedExpression => {
    return { kind: 'value', value: firstValue + at, type, isNullable };
  });
  const shown = keys.map((key) => values[items.indexOf(key)]);
  if (!shown.every((key) => key !== undefined)) return undefined;
  const ofRows: TypedGrouping = { keys: items, aggregates: [], firstValue };
  return { grouping: ofRows, having: undefined, items: values, keys: shown };
}

function columnOf({ type, isNullable }: TypedExpression): OutputColumn {
  return { name: '', type, isNullable };
}

function baseOf(
  read: TypedRead,
  block: TypedBlock,
  items: readonly TypedExpression[],
  columns: readonly OutputColumn[],
): TypedRead {
  const body: TypedBlock = {
    ...block,
    grouping: undefined,
    having: undefined,
    items,
    isDistinct: false,
  };
  const query: TypedQuery = {
    body,
    order: [],
    limit: undefined,
    offset: undefined,
    columns,
    outerSlots: [],
  };
  return { ...read, query };
}

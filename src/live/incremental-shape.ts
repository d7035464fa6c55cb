import { unreachable } from '../assert.ts';
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
import { queryOf, visitQuery } from '../sql/check/typed-expression.ts';
import { hasFloats, hasRefs } from '../sql/functions/canonical.ts';
import { decodeQueryValue } from '../sql/functions/value-codec.ts';
import { pairOf } from './fragment-parts.ts';
import { computedIds } from './live-schema.ts';
import { mergeFilters } from './merge-filters.ts';

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

/** Why a query has no such form. */
export interface NoShape {
  readonly reason: string;
}

/**
 * A query has no such form either if an error could come up in another order than in a plan, or
 * could reveal rows that a filter hides.
 */
export function incrementalShape(read: TypedRead): IncrementalShape | NoShape {
  const query = mergeFilters(read.query);
  const { body: block } = query;
  if (block.kind !== 'block') return { reason: reasonOfBody(block) };
  const lack = lackOfBase(block) ?? (hasSubqueries(query) ? 'it has a subquery' : undefined);
  if (lack !== undefined) return { reason: lack };
  const order = query.order.map((one) => ({ ...one, expression: orderExpression(one, block) }));
  const cut = cutOf(query);
  const isCut = query.limit !== undefined || query.offset !== undefined;
  if (cut === undefined) return { reason: 'LIMIT or OFFSET is no constant' };
  // A plan that sorts evaluates the first key for every row, all else only for rows that may be
  // shown.
  const isAskedOfAll = isCut && cut.limit > 0 && order.length === 1;
  if (!isAskedOfAll && order.some(({ expression }) => canRaise(expression))) {
    return { reason: 'an expression of ORDER BY can fail' };
  }
  if (isCut && block.items.some(canRaise)) {
    return { reason: 'a column of a query with LIMIT or OFFSET can fail' };
  }
  const grouped = groupedBlock(
    block,
    order.map(({ expression }) => expression),
    read.valueCount,
  );
  if (grouped === undefined) {
    return { reason: 'DISTINCT stands over groups, or ORDER BY has other columns than DISTINCT' };
  }
  const { grouping, having, keys } = grouped;
  const keeping = grouping?.aggregates.find((one) => one.function.keepsValues === true);
  if (keeping !== undefined) {
    return { reason: `${keeping.function.name} needs all values of a group` };
  }
  const items = isCut ? [...grouped.items, ...keys] : grouped.items;
  const columns = isCut ? [...query.columns, ...keys.map(columnOf)] : query.columns;
  const shownCount = query.columns.length;
  const window = isCut ? { columns, shownCount, order, ...cut } : undefined;
  if (grouping === undefined) {
    return { base: baseOf(read, block, items, columns), groups: undefined, window };
  }
  const inBase = [...grouping.keys, ...argumentsOf(grouping)];
  const baseColumns = inBase.map(columnOf);
  if (!grouping.keys.every(isExactKey)) {
    return { reason: 'rows are grouped by floats or recursive values' };
  }
  return {
    base: baseOf(read, block, inBase, baseColumns),
    groups: { grouping, baseColumns, having, items, columns },
    window,
  };
}

export function argumentsOf({ aggregates }: TypedGrouping): readonly TypedExpression[] {
  return aggregates.flatMap(({ argument }) => (argument === undefined ? [] : [argument]));
}

function reasonOfBody({ kind }: Exclude<TypedQuery['body'], TypedBlock>): string {
  switch (kind) {
    case 'setOperation':
      return 'it combines queries by UNION, INTERSECT or EXCEPT';
    case 'window':
      return 'it has window functions';
    case 'recursive':
    case 'working':
      return 'it is recursive';
    case 'elements':
      return 'it has unnest';
    default:
      return unreachable(kind);
  }
}

/**
 * What keeps a block from being one or two plain tables, joined on equal columns, of which no
 * condition can raise an error.
 */
function lackOfBase({ relations, joins, where }: TypedBlock): string | undefined {
  for (const [at, relation] of relations.entries()) {
    const lack = lackOfRelation(relation, at);
    if (lack !== undefined) return lack;
  }
  if (relations.length === 0) return 'it reads no table';
  if (relations.length > 2) return 'it joins more than two tables';
  if (joins.some(({ kind }) => kind !== 'inner')) return 'it has an outer join';
  const securities = relations.map(({ security }) => security);
  const conditions = [...joins.map(({ condition }) => condition), where, ...securities];
  const conjuncts = conditions.flatMap(conjunctsOf);
  if (conjuncts.some(canRaise)) return 'a condition can fail';
  if (relations.length === 1) return undefined;
  if (conjuncts.some((conjunct) => pairOf(conjunct)?.every(isExactKey))) return undefined;
  return 'its tables are not joined by equal columns, floats and recursive values aside';
}

function lackOfRelation(
  { slot, source, isNullable }: TypedBlock['relations'][number],
  at: number,
): string | undefined {
  if (isNullable) return 'it has an outer join';
  if (source.kind === 'query') {
    const { secured, query } = source;
    if (secured !== undefined) return `${secured.name} has several row filters, of which one joins`;
    return query.body.kind === 'block' ? 'it has a query in FROM' : reasonOfBody(query.body);
  }
  const { name, id, isEvent } = source.table;
  if (isEvent) return `${name} is an event table`;
  if (computedIds.has(id)) return `rows of ${name} are computed`;
  return slot === at ? undefined : 'its tables stand in an inner query';
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
  return { ...read, query: queryOf(body, columns) };
}

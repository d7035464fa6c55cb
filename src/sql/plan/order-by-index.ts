import type { IndexSpec, TableSpec } from '../../schema/catalog.ts';
import { isSparse } from '../../schema/sparse-index.ts';
import type { Typespace } from '../../values/type.ts';
import type { TypedGrouping } from '../check/typed.ts';
import type { Access, PlanOptions, SlotPlan, SortKey, SourcePlan, TuplesPlan } from './plan.ts';

/** What a plan's slots hold. */
export interface OrderLayout {
  readonly slots: readonly SlotPlan[];
  readonly types: Typespace;
}

/**
 * The tuples in the order of `keys`, if an index can give that order: every join returns the tuples
 * of its outer side in their order, so only the first relation matters.
 */
export function orderedByIndex(
  input: TuplesPlan,
  keys: readonly SortKey[],
  { useIndexes, optimise }: PlanOptions,
  layout: OrderLayout,
): TuplesPlan | undefined {
  if (!useIndexes || !optimise) return undefined;
  return withFirst(input, (first) => orderedSource(first, keys, layout));
}

/**
 * The tuple that holds the answer of the only aggregate, MIN or MAX of a column, if an index leads
 * there directly.
 */
export function extremeByIndex(
  input: TuplesPlan,
  { keys, aggregates }: TypedGrouping,
  options: PlanOptions,
  layout: OrderLayout,
): TuplesPlan | undefined {
  const [only] = aggregates;
  if (keys.length > 0 || only === undefined || aggregates.length > 1) return undefined;
  const { argument } = only;
  const { name } = only.function;
  if ((name !== 'min' && name !== 'max') || argument?.kind !== 'column') return undefined;
  // With conditions left, walking along the index could take longer.
  if (input.kind !== 'source' || input.conditions.length > 0) return undefined;
  const key = { expression: argument, isDescending: name === 'max', isNullsFirst: false };
  const ordered = orderedByIndex(input, [key], options, layout);
  if (ordered === undefined) return undefined;
  return { kind: 'first', input: ordered, estimate: { rows: 1, cost: 1 } };
}

function withFirst(
  plan: TuplesPlan,
  change: (first: SourcePlan) => SourcePlan | undefined,
): TuplesPlan | undefined {
  switch (plan.kind) {
    case 'source':
      return change(plan);
    case 'loop':
    case 'hash': {
      const outer = withFirst(plan.outer, change);
      return outer && { ...plan, outer };
    }
    case 'filter': {
      const inside = withFirst(plan.input, change);
      return inside && { ...plan, input: inside };
    }
    default:
      return undefined;
  }
}

function orderedSource(
  source: SourcePlan,
  keys: readonly SortKey[],
  { slots, types }: OrderLayout,
): SourcePlan | undefined {
  const { access, from, slot } = source;
  if (from.kind !== 'table' || slots[slot]?.kind !== 'table') return undefined;
  const isDescending = keys[0]?.isDescending ?? false;
  const columns: number[] = [];
  for (const { expression, isDescending: isOther } of keys) {
    if (expression.kind !== 'column' || expression.slot !== slot) return undefined;
    if (isOther !== isDescending) return undefined;
    columns.push(expression.column);
  }
  if (access.kind === 'range') {
    const isKey = isTotalKey(access.index, from.table, types);
    if (!isOrderOf(access.index, access.prefix.length, columns, isKey)) return undefined;
    return { ...source, access: { ...access, isDescending, mayScan: false } };
  }
  if (access.kind === 'point') {
    // For rows of one key, the remaining order must be the key itself.
    const isSame = access.index.isUnique || columns.every((c) => access.index.columns.includes(c));
    return isSame ? source : undefined;
  }
  if (access.kind !== 'scan') return undefined;
  const index = from.table.indexes.find((candidate) =>
    isOrderOf(candidate, 0, columns, isTotalKey(candidate, from.table, types)),
  );
  if (index === undefined) return undefined;
  const ordered: Access = {
    kind: 'range',
    index,
    prefix: [],
    lower: undefined,
    upper: undefined,
    isDescending,
    conditions: [],
  };
  return { ...source, access: ordered };
}

/** Whether no two rows have the same key, those without a value included. */
function isTotalKey(index: IndexSpec, table: TableSpec, types: Typespace): boolean {
  return index.isUnique && !isSparse(index, table, types);
}

/** Whether rows with one prefix, in key order, are ordered by `columns`. */
function isOrderOf(
  index: IndexSpec,
  fixed: number,
  columns: readonly number[],
  isKey: boolean,
): boolean {
  if (index.algorithm === 'hash') return false;
  const prefix = index.columns.slice(0, fixed);
  const wanted = columns.filter((column) => !prefix.includes(column));
  if (wanted.every((column, at) => index.columns[fixed + at] === column)) return true;
  // After all columns of a key, no two rows are left to order.
  const rest = index.columns.slice(fixed);
  return isKey && rest.every((column, at) => wanted[at] === column);
}

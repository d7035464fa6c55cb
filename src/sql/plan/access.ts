import { unreachable } from '../../assert.ts';
import type { DerivedIndexSpec, IndexSpec, TableSpec } from '../../schema/catalog.ts';
import { isSparse } from '../../schema/sparse-index.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { Typespace } from '../../values/type.ts';
import { canRaise } from '../check/can-raise.ts';
import { asOption, type Bound, boundOf, columnOf } from '../check/conjuncts.ts';
import type { TypedExpression } from '../check/typed.ts';
import { isFree, isRequestValue, needsOf, outerNeedsOf } from '../check/typed-expression.ts';
import { noneBytes } from '../functions/option-bytes.ts';
import type { Access, AccessBound } from './plan.ts';
import { prefixBounds } from './prefix-bounds.ts';
import { operandsOf, searchOf } from './search-access.ts';
import type { Statistics } from './statistics.ts';

/** How to find the rows of a table, and the conjuncts left to test row by row. */
export interface ChosenAccess {
  readonly access: Access;
  readonly rest: readonly TypedExpression[];
  /** Rows that it looks at each time it is opened. */
  readonly rows: number;
}

export type IndexesOfTable = Pick<TableSpec, 'indexes' | 'derivedIndexes'>;

export interface AccessScope {
  readonly table: TableSpec;
  readonly slot: number;
  /** True for slots of the same block that have no row yet. */
  readonly isBlocked: (slot: number) => boolean;
  readonly statistics: Statistics;
  readonly types: Typespace;
}

/** The shares of rows that one bound on a column lets through, and that two bounds do. */
const halfShare = 0.3;
const rangeShare = 0.1;

/**
 * Chooses the index that leaves the fewest rows: all columns of an index fixed, by one value or a
 * list; the longest fixed prefix of an ordered one, with or without a range on the next column; the
 * answers of a subquery; what a derived index finds; else all rows.
 */
export function chooseAccess(
  conjuncts: readonly TypedExpression[],
  { indexes, derivedIndexes }: IndexesOfTable,
  scope: AccessScope,
): ChosenAccess {
  const rowCount = scope.statistics.rowCount(scope.table);
  let best: ChosenAccess = { access: { kind: 'scan' }, rest: conjuncts, rows: rowCount };
  for (const index of derivedIndexes) {
    const candidate = searchAccess(index, conjuncts, scope);
    if (candidate !== undefined && isBetter(candidate, best)) best = candidate;
  }
  if (indexes.length === 0) return best;
  const bounds = boundsOf(conjuncts, scope);
  for (const index of indexes) {
    const candidates = [
      pointAccess(index, bounds, conjuncts, scope),
      listAccess(index, bounds, conjuncts, scope),
      rangeAccess(index, bounds, conjuncts, scope),
      amongAccess(index, conjuncts, scope),
    ];
    for (const candidate of candidates) {
      if (candidate !== undefined && isBetter(candidate, best)) best = candidate;
    }
  }
  return best;
}

function isBetter(a: ChosenAccess, b: ChosenAccess): boolean {
  const [rankA, rankB] = [rankOf(a.access), rankOf(b.access)];
  if (rankA === 3 || rankB === 3) return rankA > rankB;
  if (a.access.kind !== 'scan' && b.access.kind === 'scan') return true;
  return a.rows < b.rows || (a.rows === b.rows && rankA > rankB);
}

function rankOf(access: Access): number {
  switch (access.kind) {
    case 'scan':
      return 0;
    case 'among':
    case 'nearest':
    case 'search':
    case 'range':
      return 1;
    case 'points':
      return 2;
    case 'point':
      return access.index.isUnique ? 3 : 2;
    default:
      return unreachable(access);
  }
}

/** The comparisons of each column with values known before the relation is opened. */
function boundsOf(
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): ReadonlyMap<number, readonly Bound[]> {
  const bounds = new Map<number, Bound[]>();
  const add = (bound: Bound) => {
    const known = bounds.get(bound.column);
    if (known === undefined) bounds.set(bound.column, [bound]);
    else known.push(bound);
  };
  for (const conjunct of conjuncts) {
    const bound = boundOf(conjunct, scope.slot);
    if (bound === undefined) for (const one of prefixBounds(conjunct, scope.slot)) add(one);
    else if (bound.operator !== '<>' && isKey(bound.value, scope)) add(bound);
  }
  return bounds;
}

/**
 * A key is computed once, before any row is seen. A key that can raise is used only if it comes
 * from the request alone: then its error reveals nothing about rows.
 */
function isKey(value: TypedExpression, { isBlocked }: AccessScope): boolean {
  for (const slot of needsOf(value).slots) if (isBlocked(slot)) return false;
  return !canRaise(value) || isRequestValue(value);
}

function pointAccess(
  index: IndexSpec,
  bounds: ReadonlyMap<number, readonly Bound[]>,
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): ChosenAccess | undefined {
  const used: Bound[] = [];
  for (const column of index.columns) {
    const equal = bounds.get(column)?.find(({ operator }) => operator === '=');
    if (equal === undefined) return undefined;
    used.push(equal);
  }
  const rest = without(conjuncts, used);
  const found = reachedBy(
    index,
    used.every(({ isHeld }) => isHeld),
    scope,
  );
  const keys = used.map(({ value }) => value);
  return { access: { kind: 'point', index: found, keys }, rest, rows: bucketOf(found, scope) };
}

/** A sparse index is unique for keys that have a value in each column alone. */
function reachedBy(index: IndexSpec, areHeld: boolean, { table, types }: AccessScope): IndexSpec {
  return areHeld || !isSparse(index, table, types) ? index : { ...index, isUnique: false };
}

function bucketOf(index: IndexSpec, { statistics, table }: AccessScope): number {
  const rowCount = statistics.rowCount(table);
  return Math.min(rowCount, index.isUnique ? 1 : statistics.rowsPerKey(table, index));
}

/** With more keys than this, looking them up one by one is no faster than a scan. */
const listedKeysMax = 1_000;

/**
 * Fixes all columns of an index, some to one of several values: `column IN (…)`, or its equivalent
 * written with OR.
 */
function listAccess(
  index: IndexSpec,
  bounds: ReadonlyMap<number, readonly Bound[]>,
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): ChosenAccess | undefined {
  const used = new Set<TypedExpression>();
  let areHeld = true;
  let keys: readonly (readonly TypedExpression[])[] = [[]];
  for (const column of index.columns) {
    const allowed = allowedValues(column, bounds, conjuncts, scope);
    if (allowed === undefined) return undefined;
    if (allowed.isExact) used.add(allowed.conjunct);
    areHeld &&= allowed.isHeld;
    keys = keys.flatMap((key) => allowed.values.map((value) => [...key, value]));
    if (keys.length > listedKeysMax && index.columns.length > 1) return undefined;
  }
  const rest = conjuncts.filter((term) => !used.has(term));
  const found = reachedBy(index, areHeld, scope);
  const rows = bucketOf(found, scope) * keys.length;
  return { access: { kind: 'points', index: found, keys }, rest, rows };
}

interface AllowedValues {
  readonly values: readonly TypedExpression[];
  /** The condition that restricts the column to these values. */
  readonly conjunct: TypedExpression;
  readonly isExact: boolean;
  readonly isHeld: boolean;
}

function allowedValues(
  column: number,
  bounds: ReadonlyMap<number, readonly Bound[]>,
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): AllowedValues | undefined {
  const equal = bounds.get(column)?.find(({ operator }) => operator === '=');
  if (equal !== undefined) {
    const { value, conjunct, isExact, isHeld } = equal;
    return { values: [value], conjunct, isExact, isHeld };
  }
  for (const conjunct of conjuncts) {
    const list = listOf(conjunct, scope.slot, column);
    if (list?.values.every((value) => isKey(value, scope)) === true) return { ...list, conjunct };
  }
  return undefined;
}

/** The values that a conjunct allows for one column, if it refers to that column only. */
function listOf(
  conjunct: TypedExpression,
  slot: number,
  column: number,
): Omit<AllowedValues, 'conjunct'> | undefined {
  if (conjunct.kind === 'inList') {
    const { operand, values } = conjunct;
    const own = columnOf(operand, slot);
    if (own?.column !== column) return undefined;
    if (values.some((value) => needsOf(value).slots.has(slot))) return undefined;
    if (own === operand) return { values, isExact: true, isHeld: false };
    const isExact = !values.some(({ isNullable }) => isNullable);
    return { values: values.map((value) => asOption(value, own)), isExact, isHeld: true };
  }
  if (conjunct.kind !== 'or') return undefined;
  const values: TypedExpression[] = [];
  let isExact = true;
  let isHeld = true;
  for (const term of conjunct.terms) {
    const bound = boundOf(term, slot);
    const isPoint = bound?.operator === '=' && bound.column === column;
    const inner = isPoint
      ? { values: [bound.value], isExact: bound.isExact, isHeld: bound.isHeld }
      : listOf(term, slot, column);
    if (inner === undefined) return undefined;
    values.push(...inner.values);
    isExact &&= inner.isExact;
    isHeld &&= inner.isHeld;
  }
  return { values, isExact, isHeld };
}

/** `column IN (SELECT …)` whose answer is the same for every row. */
function amongAccess(
  index: IndexSpec,
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): ChosenAccess | undefined {
  const [column] = index.columns;
  if (index.columns.length !== 1) return undefined;
  for (const conjunct of conjuncts) {
    if (conjunct.kind !== 'subquery' || conjunct.mode !== 'in') continue;
    const { operand, query } = conjunct;
    if (operand === undefined || columnOf(operand, scope.slot)?.column !== column) continue;
    if (!isFree(outerNeedsOf(query))) continue;
    const rowCount = scope.statistics.rowCount(scope.table);
    // The condition stays: with many values, all rows are looked at after all.
    const rows = Math.max(1, rowCount * halfShare);
    return { access: { kind: 'among', index, subquery: conjunct }, rest: conjuncts, rows };
  }
  return undefined;
}

/** The conditions stay: a derived index gives rows for which they need not hold. */
function searchAccess(
  index: DerivedIndexSpec,
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): ChosenAccess | undefined {
  for (const conjunct of conjuncts) {
    const search = searchOf(index, conjunct, scope.slot);
    if (search === undefined || !operandsOf(search).every((one) => isKey(one, scope))) continue;
    const { statistics, table } = scope;
    const rows = Math.min(statistics.rowCount(table), statistics.rowsPerSearch(table, index));
    return { access: { kind: 'search', index, search }, rest: conjuncts, rows };
  }
  return undefined;
}

function rangeAccess(
  index: IndexSpec,
  bounds: ReadonlyMap<number, readonly Bound[]>,
  conjuncts: readonly TypedExpression[],
  scope: AccessScope,
): ChosenAccess | undefined {
  if (index.algorithm === 'hash') return undefined;
  const used: Bound[] = [];
  for (const column of index.columns) {
    const equal = bounds.get(column)?.find(({ operator }) => operator === '=');
    if (equal === undefined) break;
    used.push(equal);
  }
  const next = index.columns[used.length];
  if (next === undefined) return undefined;
  const behind = bounds.get(next) ?? [];
  const lower = tightest(behind, true, scope.types);
  const upper = tightest(behind, false, scope.types) ?? (lower && endOfSome(lower));
  if (used.length === 0 && lower === undefined && upper === undefined) return undefined;
  const prefix = used.map(({ value }) => value);
  const chosen = [lower, upper].filter((bound) => bound !== undefined);
  const access: Access = {
    kind: 'range',
    index,
    prefix,
    lower: lower && toAccessBound(lower),
    upper: upper && toAccessBound(upper),
    isDescending: false,
    conditions: [...new Set([...used, ...chosen].map(({ conjunct }) => conjunct))],
    ...(used.length === 0 && chosen.every(({ isOfPattern }) => isOfPattern) && { mayScan: true }),
  };
  const rows = rowsOfRange(index, used.length, chosen.length, scope);
  return { access, rest: without(conjuncts, [...used, ...chosen]), rows };
}

function rowsOfRange(
  index: IndexSpec,
  fixedCount: number,
  boundCount: number,
  { statistics, table }: AccessScope,
): number {
  const rowCount = statistics.rowCount(table);
  // Assumes that each column of the key divides the rows about equally.
  const keyShare = Math.max(1, statistics.rowsPerKey(table, index)) / Math.max(1, rowCount);
  const fixedShare = keyShare ** (fixedCount / index.columns.length);
  const share = boundCount === 0 ? 1 : boundCount === 1 ? halfShare : rangeShare;
  return rowCount * fixedShare * share;
}

/** The bound that implies the others, as far as that is known; any other one stays a filter. */
function tightest(bounds: readonly Bound[], isLower: boolean, types: Typespace): Bound | undefined {
  let best: Bound | undefined;
  for (const bound of bounds) {
    const { operator } = bound;
    const applies = isLower ? operator === '>' || operator === '>=' : operator[0] === '<';
    if (!applies) continue;
    if (best === undefined || isTighter(bound, best, isLower, types)) best = bound;
  }
  return best;
}

function isTighter(a: Bound, b: Bound, isLower: boolean, types: Typespace): boolean {
  if (a.value.kind !== 'constant' || b.value.kind !== 'constant') return false;
  if (a.value.bytes === undefined || b.value.bytes === undefined) return false;
  const compare = encodedComparatorOf(a.value.type, types);
  const sign = compare(a.value.bytes, 0, b.value.bytes, 0) * (isLower ? 1 : -1);
  return sign > 0 || (sign === 0 && a.operator.length === 1);
}

/** Rows without a value come after all others, and are within no bound of values. */
function endOfSome(lower: Bound): Bound | undefined {
  if (specialKindOf(lower.value.type) !== 'option') return undefined;
  const { type } = lower.value;
  const value: TypedExpression = { kind: 'constant', type, isNullable: false, bytes: noneBytes };
  const { isOfPattern: _, ...bound } = lower;
  return { ...bound, operator: '<', value };
}

function toAccessBound({ value, operator, isOfPattern }: Bound): AccessBound {
  const isOpenIfNull = isOfPattern === true && operator === '<';
  return { value, isIncluded: operator.length === 2, ...(isOpenIfNull && { isOpenIfNull }) };
}

function without(
  conjuncts: readonly TypedExpression[],
  used: readonly Bound[],
): readonly TypedExpression[] {
  const isDone = (term: TypedExpression) =>
    used.some(({ conjunct, isExact }) => isExact && conjunct === term);
  return conjuncts.filter((term) => !isDone(term));
}

import { assert, present, unreachable } from '../../assert.ts';
import type { IndexSpec } from '../../schema/catalog.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { Typespace } from '../../values/type.ts';
import { concatenate } from '../run/bytes.ts';
import type { ColumnToValue, Condition } from './condition.ts';
import type { Access } from './plan.ts';

/** A way to the rows, and the conjuncts that it leaves to be checked row by row. */
export interface ChosenAccess {
  readonly access: Access;
  readonly rest: readonly Condition[];
}

/**
 * Chooses the index that narrows the rows most, by rule: all columns of a unique index fixed, then
 * all columns of any index, then the longest fixed prefix of an ordered index with or without a
 * range on the column behind it, else a full scan.
 */
export function chooseAccess(
  conjuncts: readonly Condition[],
  indexes: readonly IndexSpec[],
  typespace: Typespace,
): ChosenAccess {
  const intervals = intervalsOf(conjuncts, typespace);
  if (intervals === 'empty') return { access: { kind: 'nothing' }, rest: [] };
  let best: Candidate | undefined;
  for (const index of indexes) {
    const candidate = candidateOf(index, intervals);
    if (candidate === undefined) continue;
    if (best === undefined || candidate.score > best.score) best = candidate;
  }
  if (best === undefined) return { access: { kind: 'fullScan' }, rest: conjuncts };
  const { columns } = best;
  const rest = conjuncts.filter(
    (term) => !(isBounding(term) && columns.includes(term.column.column)),
  );
  return { access: best.access, rest };
}

/** The values of one column that satisfy all conjuncts about it. */
interface Interval {
  readonly lower: Limit | undefined;
  readonly upper: Limit | undefined;
  /** Both limits are this value, included. */
  readonly equal: Uint8Array | undefined;
}

interface Limit {
  readonly bytes: Uint8Array;
  readonly isIncluded: boolean;
}

interface Candidate {
  readonly access: Access;
  /** Columns whose intervals the access guarantees. */
  readonly columns: readonly number[];
  readonly score: number;
}

/** `column <> value` says little about where to look. */
function isBounding(condition: Condition): condition is ColumnToValue {
  return condition.kind === 'columnToValue' && condition.operator !== '<>';
}

function intervalsOf(
  conjuncts: readonly Condition[],
  typespace: Typespace,
): ReadonlyMap<number, Interval> | 'empty' {
  const intervals = new Map<number, Interval>();
  for (const term of conjuncts) {
    if (!isBounding(term)) continue;
    const { column, spec } = term.column;
    const compare = encodedComparatorOf(spec.type, typespace);
    const interval = narrow(intervals.get(column), term, (a, b) => compare(a, 0, b, 0));
    if (interval === 'empty') return 'empty';
    intervals.set(column, interval);
  }
  return intervals;
}

function narrow(
  known: Interval | undefined,
  { operator, bytes }: ColumnToValue,
  compare: (a: Uint8Array, b: Uint8Array) => number,
): Interval | 'empty' {
  const isIncluded = operator === '=' || operator === '<=' || operator === '>=';
  const limit = { bytes, isIncluded };
  const boundsBelow = operator === '=' || operator === '>' || operator === '>=';
  const boundsAbove = operator === '=' || operator === '<' || operator === '<=';
  const tighter = (current: Limit | undefined, side: 1 | -1): Limit => {
    if (current === undefined) return limit;
    const sign = compare(limit.bytes, current.bytes) * side;
    if (sign === 0) return current.isIncluded ? limit : current;
    return sign > 0 ? limit : current;
  };
  const lower = boundsBelow ? tighter(known?.lower, 1) : known?.lower;
  const upper = boundsAbove ? tighter(known?.upper, -1) : known?.upper;
  if (lower === undefined || upper === undefined) return { lower, upper, equal: undefined };
  const sign = compare(lower.bytes, upper.bytes);
  const isPoint = lower.isIncluded && upper.isIncluded;
  if (sign > 0 || (sign === 0 && !isPoint)) return 'empty';
  return { lower, upper, equal: sign === 0 ? lower.bytes : undefined };
}

const uniqueScore = 1_000_000;
const pointScore = 100_000;
const fixedColumnScore = 10;
const limitScore = 1;

function candidateOf(
  index: IndexSpec,
  intervals: ReadonlyMap<number, Interval>,
): Candidate | undefined {
  const fixed: Uint8Array[] = [];
  for (const column of index.columns) {
    const equal = intervals.get(column)?.equal;
    if (equal === undefined) break;
    fixed.push(equal);
  }
  if (fixed.length === index.columns.length) {
    const score = (index.isUnique ? uniqueScore : pointScore) + fixed.length;
    const access: Access = { kind: 'point', index, key: concatenate(fixed) };
    return { access, columns: index.columns, score };
  }
  if (!isOrdered(index)) return undefined;
  const interval = intervals.get(present(index.columns[fixed.length], 'the next index column'));
  if (fixed.length === 0 && interval === undefined) return undefined;
  const limits = Number(interval?.lower !== undefined) + Number(interval?.upper !== undefined);
  assert(interval === undefined || limits > 0, 'an interval is bounded on one side at least');
  return {
    access: rangeAccess(index, fixed, interval),
    columns: index.columns.slice(0, fixed.length + Math.min(limits, 1)),
    score: fixed.length * fixedColumnScore + limits * limitScore,
  };
}

function isOrdered(index: IndexSpec): boolean {
  switch (index.algorithm) {
    case 'btree':
    case 'direct':
      return true;
    case 'hash':
      return false;
    default:
      return unreachable(index.algorithm);
  }
}

/** Tags of the bounds of a range, see `store/key-range.ts`. */
const includedTag = 0;
const excludedTag = 1;
const unboundedTag = 2;

function rangeAccess(
  index: IndexSpec,
  fixed: readonly Uint8Array[],
  interval: Interval | undefined,
): Access {
  const prefix = concatenate(fixed);
  const start = encodeBound(interval?.lower);
  const end = encodeBound(interval?.upper);
  return {
    kind: 'range',
    index,
    range: {
      bytes: concatenate([prefix, start, end]),
      prefixColumns: fixed.length,
      prefixLength: prefix.length,
      startLength: start.length,
      endLength: end.length,
    },
  };
}

function encodeBound(limit: Limit | undefined): Uint8Array {
  if (limit === undefined) return Uint8Array.of(unboundedTag);
  return concatenate([Uint8Array.of(limit.isIncluded ? includedTag : excludedTag), limit.bytes]);
}

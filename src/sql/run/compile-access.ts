import { assert, present, unreachable } from '../../assert.ts';
import type { IndexSpec } from '../../schema/catalog.ts';
import type { RangeRequest } from '../../store/key-range.ts';
import { RefList } from '../../store/ref-list.ts';
import { offsetOf } from '../../store/row-heap.ts';
import { noRow, type RowRef, type RowRefs, rowRef } from '../../store/row-ref.ts';
import type { RowShape } from '../../store/row-shape.ts';
import type { Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import type { PinnedRange } from '../../store/table-pin.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { TypedExpression } from '../check/typed.ts';
import type { TypedSubquery } from '../check/typed-expression.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileKey } from '../expressions/compile-key.ts';
import type { KeyWriter } from '../expressions/frame.ts';
import { locatorOf } from '../expressions/row-layout.ts';
import { borrowWriter, giveBackWriter } from '../functions/borrowed-writer.ts';
import { someTag } from '../functions/option-bytes.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import type { RefFinder } from '../operators/table-source.ts';
import type { Access, AccessBound } from '../plan/plan.ts';
import { compileSearch } from './compile-search.ts';

export interface AccessContext {
  readonly context: CompileContext;
  readonly shape: RowShape;
  /** Number of the table, and the slot that holds its rows. */
  readonly number: number;
  readonly slot: number;
  /** Encoded values that an uncorrelated `IN (SELECT …)` returns. */
  readonly answersOf: (subquery: TypedSubquery, state: ExecutionState) => Iterable<Uint8Array>;
  readonly answerCountOf: (subquery: TypedSubquery, state: ExecutionState) => number;
}

/** Finds the row of a unique index; `noRow` if there is none. */
export function compileUnique(
  access: Extract<Access, { readonly kind: 'point' }>,
  { context, number }: AccessContext,
): (state: ExecutionState) => RowRef {
  const { index: spec, keys } = access;
  const writeKey = compileKey(keys, context);
  const find = (state: ExecutionState, key: BinaryWriter): RowRef => {
    if (!writeKey(state, key)) return noRow;
    const table = state.table(number);
    const index = indexOf(table, spec);
    if (state.sources !== undefined) {
      return rowRef(lookUp(state, number, index, key)[0] ?? noRow);
    }
    const ref = table.find(index, key.source, key.length);
    assert(ref !== -3, 'a planned key is a key of its index');
    return ref === -1 ? noRow : ref;
  };
  return (state) => {
    const writer = borrowWriter();
    const ref = find(state, writer);
    giveBackWriter(writer);
    return ref;
  };
}

export function compileRefs(access: Access, options: AccessContext): RefFinder {
  switch (access.kind) {
    case 'scan':
    // Found by an operator of its own.
    case 'nearest':
      return () => undefined;
    case 'point':
      return compilePoints(access.index, [access.keys], options);
    case 'points':
      return compilePoints(access.index, access.keys, options);
    case 'among':
      return compileAmong(access, options);
    case 'search':
      return compileSearch(access, options.number, options.context);
    case 'range':
      return compileRange(access, options);
    default:
      return unreachable(access);
  }
}

function compilePoints(
  spec: IndexSpec,
  keys: readonly (readonly TypedExpression[])[],
  { context, number }: AccessContext,
): RefFinder {
  const writers = keys.map((key) => compileKey(key, context));
  const [only] = writers;
  if (only !== undefined && writers.length === 1) {
    return (state) => {
      const writer = borrowWriter();
      const refs = only(state, writer)
        ? lookUp(state, number, indexOf(state.table(number), spec), writer)
        : noRefs;
      giveBackWriter(writer);
      return refs;
    };
  }
  return (state) => {
    const writer = borrowWriter();
    const index = indexOf(state.table(number), spec);
    const found = new RefList();
    const seen = new Set<string>();
    for (const writeKey of writers) {
      writer.reset();
      if (!writeKey(state, writer) || !isNew(seen, writer.view())) continue;
      for (const ref of lookUp(state, number, index, writer)) found.push(rowRef(ref));
    }
    giveBackWriter(writer);
    return found.take();
  };
}

function isNew(seen: Set<string>, key: Uint8Array): boolean {
  const text = key.join();
  if (seen.has(text)) return false;
  seen.add(text);
  return true;
}

/** Above this share of all rows, looking each of them up costs more than a scan. */
const amongShareMax = 0.25;

function compileAmong(
  { index: spec, subquery }: Extract<Access, { readonly kind: 'among' }>,
  { number, answersOf, answerCountOf }: AccessContext,
): RefFinder {
  // Otherwise the operand is what an Option holds, and the answers are such values.
  const isColumn = subquery.operand?.kind === 'column';
  return (state) => {
    const table = state.table(number);
    if (answerCountOf(subquery, state) > table.rowCount * amongShareMax) return undefined;
    const index = indexOf(table, spec);
    const writer = borrowWriter();
    const found = new RefList();
    for (const key of answersOf(subquery, state)) {
      writer.reset();
      if (!isColumn) writer.u8(someTag);
      writer.raw(key);
      for (const ref of lookUp(state, number, index, writer)) found.push(rowRef(ref));
    }
    giveBackWriter(writer);
    // In storage order, like a scan: another order would reveal how many rows exist, even hidden
    // ones.
    return found.take().sort();
  };
}

/** The rows with a key: now or, after a pause, at the moment before the pause. */
function lookUp(state: ExecutionState, number: number, index: Index, key: BinaryWriter): RowRefs {
  const source = state.sources?.[number];
  if (source !== undefined) return source.lookUp(index, key.source, key.length);
  return state.table(number).scanPoint(index, key.source, key.length);
}

/** Tags of the bounds of a range, see `store/key-range.ts`. */
const includedTag = 0;
const excludedTag = 1;
const unboundedTag = 2;

function compileRange(
  access: Extract<Access, { readonly kind: 'range' }>,
  options: AccessContext,
): RefFinder {
  const { index: spec, prefix, lower, upper, isDescending } = access;
  const { context, number } = options;
  const writePrefix = compileKey(prefix, context);
  const writeLower = compileBound(lower, context);
  const writeUpper = compileBound(upper, context);
  const findPinned = compilePinnedRange(access, options);
  const isAll = compileIsAll(access);
  const boundsOf = (state: ExecutionState, writer: BinaryWriter): RangeRequest | undefined => {
    if (!writePrefix(state, writer)) return undefined;
    const prefixLength = writer.length;
    if (!writeLower(state, writer)) return undefined;
    const startLength = writer.length - prefixLength;
    if (!writeUpper(state, writer)) return undefined;
    const endLength = writer.length - prefixLength - startLength;
    const prefixColumns = prefix.length;
    return { bytes: writer.view(), prefixColumns, prefixLength, startLength, endLength };
  };
  const find = (state: ExecutionState, writer: BinaryWriter, countMax?: number) => {
    const range = boundsOf(state, writer);
    if (range === undefined) return noRefs;
    if (isAll(range.startLength, range.endLength)) return undefined;
    if (state.sources !== undefined) return findPinned(state, range);
    const table = state.table(number);
    const index = indexOf(table, spec);
    if (countMax !== undefined) return table.scanRange(index, range, { countMax, isDescending });
    const refs = table.scanRange(index, range);
    return isDescending ? refs.reverse() : refs;
  };
  return (state, countMax) => {
    const writer = borrowWriter();
    const refs = find(state, writer, countMax);
    giveBackWriter(writer);
    return refs;
  };
}

function compileBound(bound: AccessBound | undefined, context: CompileContext): KeyWriter {
  if (bound === undefined) {
    return (_frame, writer) => {
      writer.u8(unboundedTag);
      return true;
    };
  }
  const writeValue = compileKey([bound.value], context);
  const tag = bound.isIncluded ? includedTag : excludedTag;
  return (frame, writer) => {
    const at = writer.claim(1);
    writer.dataView.setUint8(at, tag);
    // Null writes nothing.
    if (writeValue(frame, writer)) return true;
    if (bound.isOpenIfNull === true) writer.dataView.setUint8(at, unboundedTag);
    return bound.isOpenIfNull === true;
  };
}

/**
 * Whether bounds of these lengths leave out no text: from the empty one to no end, or to where the
 * rows without a value begin.
 */
function compileIsAll({
  lower,
  mayScan,
}: Extract<Access, { readonly kind: 'range' }>): (start: number, end: number) => boolean {
  if (mayScan !== true || lower === undefined) return () => false;
  const optionBytes = lower.value.type.kind === 'string' ? 0 : 1;
  const emptyText = 1 + optionBytes + 4;
  return (start, end) => start === emptyText && end === 1 + optionBytes;
}

/** After a pause, merges the rows deleted meanwhile with those that still exist. */
function compilePinnedRange(
  { index: spec, isDescending }: Extract<Access, { readonly kind: 'range' }>,
  { shape, number }: AccessContext,
): (state: ExecutionState, range: RangeRequest) => RowRefs {
  const steps = spec.columns.map((column) => ({
    locate: locatorOf(shape, column),
    compare: encodedComparatorOf(
      present(shape.columnTypes[column], 'type of an index column'),
      shape.types,
    ),
  }));
  return (state, range) => {
    const table = state.table(number);
    const source = present(state.sources?.[number], 'a source for each table');
    const found = source.scanRange(indexOf(table, spec), range);
    const refs = merged(found, (a, b) => {
      const [left, right] = [table.pageOf(a), table.pageOf(b)];
      for (const { locate, compare } of steps) {
        const leftAt = locate(left, offsetOf(a));
        const order = compare(left, leftAt, right, locate(right, offsetOf(b)));
        if (order !== 0) return order;
      }
      return 0;
    });
    return isDescending ? refs.reverse() : refs;
  };
}

/** Merges two ordered lists into one. */
function merged(
  { present: left, deleted: right }: PinnedRange,
  compare: (a: RowRef, b: RowRef) => number,
): RowRefs {
  if (right.length === 0) return left;
  const refs = new Int32Array(left.length + right.length);
  let leftAt = 0;
  let rightAt = 0;
  for (let at = 0; at < refs.length; at++) {
    const isLeft =
      rightAt === right.length ||
      (leftAt < left.length && compare(left[leftAt] as RowRef, right[rightAt] as RowRef) <= 0);
    refs[at] = (isLeft ? left[leftAt++] : right[rightAt++]) as RowRef;
  }
  return refs;
}

function indexOf(table: Table, spec: IndexSpec): Index {
  const { indexes } = table;
  for (let at = 0; at < indexes.length; at++) {
    const index = indexes[at] as Index;
    if (index.spec.id === spec.id) return index;
  }
  assert(false, `index ${spec.name}, which was planned with, is there`);
}

const noRefs: RowRefs = new Int32Array(0);

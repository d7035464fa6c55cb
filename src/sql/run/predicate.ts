import { unreachable } from '../../assert.ts';
import type { RowShape } from '../../store/row-shape.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { readI32 } from './read-bytes.ts';
import { type Locator, locatorOf } from './row-layout.ts';

/** Whether the encoded row that begins at `row` satisfies a condition. Allocates nothing. */
export type Predicate = (bytes: Uint8Array, row: number) => boolean;

/** A condition on the columns of one stored row, which are never null. */
export type ByteCondition =
  | {
      readonly kind: 'columnToValue';
      readonly operator: ComparisonOperator;
      readonly column: number;
      readonly type: AlgebraicType;
      /** Encoded as the column's type. */
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: 'columnToColumn';
      readonly operator: ComparisonOperator;
      readonly type: AlgebraicType;
      readonly left: number;
      readonly right: number;
    }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly ByteCondition[] };

/**
 * Compiles a condition over one table to a function over its encoded rows. Values are compared as
 * bytes, in place; nothing is decoded.
 */
export function compilePredicate(condition: ByteCondition, shape: RowShape): Predicate {
  switch (condition.kind) {
    case 'columnToValue':
      return compareToValue(condition, shape);
    case 'columnToColumn':
      return compareColumns(condition, shape);
    case 'and':
      return all(condition.terms.map((term) => compilePredicate(term, shape)));
    case 'or':
      return any(condition.terms.map((term) => compilePredicate(term, shape)));
    default:
      return unreachable(condition);
  }
}

export function all(terms: readonly Predicate[]): Predicate {
  const [first, second] = terms;
  if (first !== undefined && terms.length === 1) return first;
  if (first !== undefined && second !== undefined && terms.length === 2) {
    return (bytes, row) => first(bytes, row) && second(bytes, row);
  }
  return (bytes, row) => {
    for (const term of terms) if (!term(bytes, row)) return false;
    return true;
  };
}

function any(terms: readonly Predicate[]): Predicate {
  return (bytes, row) => {
    for (const term of terms) if (term(bytes, row)) return true;
    return false;
  };
}

function compareColumns(
  { operator, type, left, right }: Extract<ByteCondition, { readonly kind: 'columnToColumn' }>,
  shape: RowShape,
): Predicate {
  const compare = encodedComparatorOf(type, shape.types);
  const locateLeft = locatorOf(shape, left);
  const locateRight = locatorOf(shape, right);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, row) => {
    const sign = compare(bytes, locateLeft(bytes, row), bytes, locateRight(bytes, row));
    return sign < 0 ? ifLess : sign > 0 ? ifGreater : ifEqual;
  };
}

/**
 * The kinds that most filters use have code of their own; all others are compared as bytes.
 */
function compareToValue(
  condition: Extract<ByteCondition, { readonly kind: 'columnToValue' }>,
  shape: RowShape,
): Predicate {
  const { operator, type, column, bytes: value } = condition;
  const locate = locatorOf(shape, column);
  switch (type.kind) {
    case 'bool':
    case 'u8':
    case 'i8':
    case 'u16':
    case 'i16':
    case 'u32':
    case 'i32':
      return compareInteger(type.kind, operator, locate, value);
    case 'u64':
    case 'i64':
      return compareLongInteger(type.kind === 'i64', operator, locate, value);
    case 'f64':
      // A constant NaN can be computed; the comparator knows its order.
      if (Number.isNaN(viewOf(value).getFloat64(0, true))) break;
      return compareFloat(operator, locate, value);
    case 'string':
      if (operator === '=') return equalBytes(locate, value, true);
      if (operator === '<>') return equalBytes(locate, value, false);
      break;
    default:
  }
  const compare = encodedComparatorOf(type, shape.types);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, row) => {
    const sign = compare(bytes, locate(bytes, row), value, 0);
    return sign < 0 ? ifLess : sign > 0 ? ifGreater : ifEqual;
  };
}

type ShortKind = 'bool' | 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32';

/** Every operator but `<>` is a range of integers, so one comparison serves all of them. */
function compareInteger(
  kind: ShortKind,
  operator: ComparisonOperator,
  locate: Locator,
  value: Uint8Array,
): Predicate {
  const constant = readInteger(kind, value, 0);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  if (operator === '<>') {
    const isEqual = compareInteger(kind, '=', locate, value);
    return (bytes, row) => !isEqual(bytes, row);
  }
  const low = ifLess ? Number.NEGATIVE_INFINITY : ifEqual ? constant : constant + 1;
  const high = ifGreater ? Number.POSITIVE_INFINITY : ifEqual ? constant : constant - 1;
  switch (kind) {
    case 'u32':
      return (bytes, row) => {
        const field = readI32(bytes, locate(bytes, row)) >>> 0;
        return field >= low && field <= high;
      };
    case 'i32':
      return (bytes, row) => {
        const field = readI32(bytes, locate(bytes, row));
        return field >= low && field <= high;
      };
    default:
      return (bytes, row) => {
        const field = readInteger(kind, bytes, locate(bytes, row));
        return field >= low && field <= high;
      };
  }
}

/** 64 bits as two halves: bigints would be allocated. */
function compareLongInteger(
  isSigned: boolean,
  operator: ComparisonOperator,
  locate: Locator,
  value: Uint8Array,
): Predicate {
  // Flipping the sign bit puts signed halves into unsigned order.
  const flip = isSigned ? 0x8000_0000 : 0;
  const valueHigh = (readI32(value, 4) ^ flip) >>> 0;
  const valueLow = readI32(value, 0) >>> 0;
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, row) => {
    const at = locate(bytes, row);
    const high = (readI32(bytes, at + 4) ^ flip) >>> 0;
    if (high !== valueHigh) return high < valueHigh ? ifLess : ifGreater;
    const low = readI32(bytes, at) >>> 0;
    if (low !== valueLow) return low < valueLow ? ifLess : ifGreater;
    return ifEqual;
  };
}

function compareFloat(operator: ComparisonOperator, locate: Locator, value: Uint8Array): Predicate {
  const constant = viewOf(value).getFloat64(0, true);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  let page = value;
  let view = viewOf(value);
  return (bytes, row) => {
    if (bytes !== page) {
      page = bytes;
      view = viewOf(bytes);
    }
    const field = view.getFloat64(locate(bytes, row), true);
    if (field < constant) return ifLess;
    // The constant is not NaN, and a NaN in the column is greater than every number.
    return field === constant ? ifEqual : ifGreater;
  };
}

/** Whether the column has exactly the bytes of `value`, for types where that means equality. */
function equalBytes(locate: Locator, value: Uint8Array, ifEqual: boolean): Predicate {
  const { length } = value;
  return (bytes, row) => {
    const at = locate(bytes, row);
    // The count comes first, so values of another length differ within it.
    for (let index = 0; index < length; index++) {
      if (bytes[at + index] !== value[index]) return !ifEqual;
    }
    return ifEqual;
  };
}

/** Whether the operator holds for a value that is less, equal, greater. */
function outcomesOf(operator: ComparisonOperator): readonly [boolean, boolean, boolean] {
  return outcomes[operator];
}

const outcomes: Readonly<Record<ComparisonOperator, readonly [boolean, boolean, boolean]>> = {
  '=': [false, true, false],
  '<>': [true, false, true],
  '<': [true, false, false],
  '<=': [true, true, false],
  '>': [false, false, true],
  '>=': [false, true, true],
};

function readInteger(kind: ShortKind, bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number;
  switch (kind) {
    case 'bool':
    case 'u8':
      return first;
    case 'i8':
      return (first << 24) >> 24;
    case 'u16':
      return first | ((bytes[at + 1] as number) << 8);
    case 'i16':
      return ((first | ((bytes[at + 1] as number) << 8)) << 16) >> 16;
    case 'u32':
      return readI32(bytes, at) >>> 0;
    case 'i32':
      return readI32(bytes, at);
    default:
      return unreachable(kind);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

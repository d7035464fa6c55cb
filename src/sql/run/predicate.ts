import { unreachable } from '../../assert.ts';
import type { RowShape } from '../../store/row-shape.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { ColumnToColumn, ColumnToValue, Condition } from '../plan/condition.ts';
import { holds } from '../plan/condition.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { type Locator, locatorOf } from './row-layout.ts';

/** Whether the encoded row that begins at `row` satisfies a condition. Allocates nothing. */
export type Predicate = (bytes: Uint8Array, row: number) => boolean;

/**
 * Compiles a condition over one table to a function over its encoded rows. Values are compared as
 * bytes, in place; nothing is decoded.
 */
export function compilePredicate(condition: Condition, shape: RowShape): Predicate {
  switch (condition.kind) {
    case 'always': {
      const { value } = condition;
      return () => value;
    }
    case 'columnToValue':
      return compareToValue(condition, shape);
    case 'columnToColumn':
      return compareColumns(condition, shape);
    case 'conditions': {
      const left = compilePredicate(condition.left, shape);
      const right = compilePredicate(condition.right, shape);
      const { operator } = condition;
      return (bytes, row) => {
        return holds(operator, Number(left(bytes, row)) - Number(right(bytes, row)));
      };
    }
    case 'and':
      return all(condition.terms.map((term) => compilePredicate(term, shape)));
    case 'or':
      return any(condition.terms.map((term) => compilePredicate(term, shape)));
    default:
      return unreachable(condition);
  }
}

function all(terms: readonly Predicate[]): Predicate {
  const [first, second] = terms;
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

function compareColumns({ operator, left, right }: ColumnToColumn, shape: RowShape): Predicate {
  const compare = encodedComparatorOf(left.spec.type, shape.types);
  const locateLeft = locatorOf(shape, left.column);
  const locateRight = locatorOf(shape, right.column);
  return (bytes, row) => {
    const sign = compare(bytes, locateLeft(bytes, row), bytes, locateRight(bytes, row));
    return holds(operator, sign);
  };
}

/**
 * The kinds that most filters are about have code of their own; all others are compared as bytes.
 */
function compareToValue(
  { operator, column, bytes: value }: ColumnToValue,
  shape: RowShape,
): Predicate {
  const { type } = column.spec;
  const locate = locatorOf(shape, column.column);
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
    // No literal is NaN, and a NaN in the column is greater than every number.
    return field === constant ? ifEqual : ifGreater;
  };
}

/** Whether the column has the very bytes of `value`, for types where that means equality. */
function equalBytes(locate: Locator, value: Uint8Array, ifEqual: boolean): Predicate {
  const { length } = value;
  return (bytes, row) => {
    const at = locate(bytes, row);
    // The count comes first, so bytes of another length differ before they end.
    for (let index = 0; index < length; index++) {
      if (bytes[at + index] !== value[index]) return !ifEqual;
    }
    return ifEqual;
  };
}

function outcomesOf(operator: ComparisonOperator): readonly [boolean, boolean, boolean] {
  return [holds(operator, -1), holds(operator, 0), holds(operator, 1)];
}

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

function readI32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

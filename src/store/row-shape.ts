import { assert, present } from '../assert.ts';
import type { ColumnSpec } from '../schema/catalog.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { fixedSizeOf, skipperOf, validatorOf } from '../values/layout.ts';
import { readU32 } from '../values/read-bytes.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';

/**
 * Locates the columns of an encoded row, and checks whether bytes are a row at all. Built once per
 * table; the loops below use plain numbers for the common column types (numbers, strings, bytes)
 * and call into `values` for the rest.
 */
export class RowShape {
  readonly columnCount: number;
  /** The typespace that refs inside column types index. */
  readonly types: Typespace;
  /** By column; never a ref at the top. */
  readonly columnTypes: readonly AlgebraicType[];
  /** Bytes of a column, or one of the two codes below. */
  readonly #sizes: Int32Array;
  /** Offset of the column in every row, or -1 when it depends on the row. */
  readonly #starts: Int32Array;
  /** First column whose successor has no fixed start. */
  readonly #firstVariable: number;
  readonly #skippers: ((bytes: Uint8Array, at: number) => number)[];
  readonly #validators: ((bytes: Uint8Array, at: number, end: number) => number)[];
  /** Pairs (what, column): the checks that make a row valid, with adjacent plain columns merged. */
  readonly #checks: Int32Array;

  constructor(columns: readonly ColumnSpec[], types: Typespace) {
    this.columnCount = columns.length;
    this.types = types;
    const columnTypes = columns.map((column) => resolveType(column.type, types));
    this.columnTypes = columnTypes;
    this.#sizes = Int32Array.from(columnTypes, (type) => sizeOf(type, types));
    this.#skippers = columnTypes.map((type) => skipperOf(type, types));
    this.#validators = columnTypes.map((type) => validatorOf(type, types));
    this.#starts = new Int32Array(columns.length);
    let start = 0;
    this.#sizes.forEach((size, column) => {
      this.#starts[column] = start;
      start = start >= 0 && size >= 0 ? start + size : -1;
    });
    this.#firstVariable = this.#sizes.findIndex((size) => size < 0);
    this.#checks = checksOf(columnTypes, this.#sizes, types);
  }

  /** Offset of `column` in the valid row that begins at `row`. */
  startOf(bytes: Uint8Array, row: number, column: number): number {
    const start = this.#starts[column] as number;
    if (start >= 0) return row + start;
    let at = row + (this.#starts[this.#firstVariable] as number);
    for (let before = this.#firstVariable; before < column; before++) {
      at = this.skip(bytes, at, before);
    }
    return at;
  }

  /** End of the valid value of `column` that begins at `at`. */
  skip(bytes: Uint8Array, at: number, column: number): number {
    const size = this.#sizes[column] as number;
    if (size >= 0) return at + size;
    if (size === countedBytes) return at + 4 + readU32(bytes, at);
    return (this.#skippers[column] as (bytes: Uint8Array, at: number) => number)(bytes, at);
  }

  /** Offset of `column` in every row, or `undefined` when it differs. */
  fixedStart(column: number): number | undefined {
    const start = present(this.#starts[column], `start of column ${column}`);
    return start >= 0 ? start : undefined;
  }

  /** Bytes of every value of `column`, or `undefined` when they differ. */
  fixedSize(column: number): number | undefined {
    const size = present(this.#sizes[column], `size of column ${column}`);
    return size >= 0 ? size : undefined;
  }

  /** True when `bytes[at, end)` is exactly one row. */
  isRow(bytes: Uint8Array, at: number, end: number): boolean {
    return this.endOfRow(bytes, at, end) === end;
  }

  /** End of the row at the start of `bytes[at, end)`, or -1 if there is none. */
  endOfRow(bytes: Uint8Array, from: number, end: number): number {
    assert(from >= 0 && end <= bytes.length, 'a row lies inside its buffer');
    let at = from;
    const checks = this.#checks;
    for (let index = 0; index < checks.length; index += 2) {
      const check = checks[index] as number;
      if (check >= 0) at += check;
      else if (check === checkString) at = this.#endOfString(bytes, at, end, index);
      else if (check === countedBytes) at = endOfCounted(bytes, at, end);
      else at = this.#endOfChecked(bytes, at, end, checks[index + 1] as number);
      if (at > end || at < 0) return -1;
    }
    return at;
  }

  /**
   * End of the value of `column` that begins at `at`. Throws `DecodeError` when `bytes[at, end)`
   * does not begin with one.
   */
  validate(bytes: Uint8Array, at: number, end: number, column: number): number {
    const validate = present(this.#validators[column], `validator of column ${column}`);
    return validate(bytes, at, end);
  }

  #endOfString(bytes: Uint8Array, at: number, end: number, index: number): number {
    const stop = endOfCounted(bytes, at, end);
    for (let byte = at + 4; byte < stop; byte++) {
      if ((bytes[byte] as number) >= 0x80) {
        return this.#endOfChecked(bytes, at, end, this.#checks[index + 1] as number);
      }
    }
    return stop;
  }

  #endOfChecked(bytes: Uint8Array, at: number, end: number, column: number): number {
    try {
      return this.validate(bytes, at, end, column);
    } catch (error) {
      if (error instanceof DecodeError) return -1;
      throw error;
    }
  }
}

/** A byte count, then the bytes: strings and arrays of u8. */
const countedBytes = -1;
/** Handled by `values`. */
const general = -2;
const checkString = -3;

function endOfCounted(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1;
  const stop = at + 4 + readU32(bytes, at);
  return stop > end ? -1 : stop;
}

function sizeOf(type: AlgebraicType, types: Typespace): number {
  return fixedSizeOf(type, types) ?? (isCountedBytes(type, types) ? countedBytes : general);
}

function isCountedBytes(type: AlgebraicType, types: Typespace): boolean {
  if (type.kind === 'string') return true;
  return type.kind === 'array' && resolveType(type.element, types).kind === 'u8';
}

function checksOf(columns: AlgebraicType[], sizes: Int32Array, types: Typespace): Int32Array {
  const checks: number[] = [];
  columns.forEach((type, column) => {
    const size = sizes[column] as number;
    const last = checks.length - 2;
    if (!isPlain(type, types)) {
      const isBytes = type.kind === 'array' && size === countedBytes;
      checks.push(type.kind === 'string' ? checkString : isBytes ? countedBytes : general, column);
    } else if (last >= 0 && (checks[last] as number) >= 0) {
      checks[last] = (checks[last] as number) + size;
    } else {
      checks.push(size, column);
    }
  });
  return Int32Array.from(checks);
}

/** True if any bytes of the right length are a value: integers, floats and products of them. */
export function isPlain(type: AlgebraicType, types: Typespace): boolean {
  const resolved = resolveType(type, types);
  switch (resolved.kind) {
    case 'product':
      return resolved.elements.every((element) => isPlain(element.type, types));
    case 'string':
    case 'bool':
    case 'array':
    case 'sum':
      return false;
    default:
      return true;
  }
}

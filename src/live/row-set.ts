import type { RowShape } from '../store/row-shape.ts';

/**
 * Encoded rows, one after another in `data`, and where each of them lies. The shape is that of row
 * lists on the wire, so that a door passes them on unchanged.
 */
export type RowSet = FixedRows | OffsetRows;

export interface FixedRows {
  readonly kind: 'fixedSize';
  /** Bytes of each row, 1 to 65,535; the length of `data` is a multiple of it. */
  readonly rowBytes: number;
  readonly data: Uint8Array;
}

export interface OffsetRows {
  readonly kind: 'offsets';
  /** Where each row starts in `data`, from 0 upwards; a row ends where the next one starts. */
  readonly starts: Uint32Array;
  readonly data: Uint8Array;
}

export const emptyRowSet: RowSet = {
  kind: 'offsets',
  starts: new Uint32Array(0),
  data: new Uint8Array(0),
};

export function rowCountOf(rows: RowSet): number {
  return rows.kind === 'offsets' ? rows.starts.length : rows.data.length / rows.rowBytes;
}

export function startOfRow(rows: RowSet, row: number): number {
  return rows.kind === 'offsets' ? (rows.starts[row] as number) : row * rows.rowBytes;
}

export function endOfRow(rows: RowSet, row: number): number {
  if (rows.kind === 'fixedSize') return (row + 1) * rows.rowBytes;
  return rows.starts[row + 1] ?? rows.data.length;
}

/** Finds the rows in `data`, which holds `count` valid rows of that shape, without copying them. */
export function rowSetOf(data: Uint8Array, count: number, shape: RowShape): RowSet {
  if (count === 0) return emptyRowSet;
  const rowBytes = fixedRowBytes(shape);
  if (rowBytes !== undefined) return { kind: 'fixedSize', rowBytes, data };
  const starts = new Uint32Array(count);
  const firstBytes = rowEnd(shape, data, 0);
  let isEven = true;
  for (let row = 0, at = 0; row < count; row++) {
    starts[row] = at;
    isEven &&= at === row * firstBytes;
    at = rowEnd(shape, data, at);
  }
  // Rows of one list that happen to have one size are announced with it, whatever their type.
  const evenBytes =
    isEven && data.length === count * firstBytes ? announced(firstBytes) : undefined;
  if (evenBytes !== undefined) return { kind: 'fixedSize', rowBytes: evenBytes, data };
  return { kind: 'offsets', starts, data };
}

/** All rows of several sets as one. */
export function joinedRows(sets: readonly RowSet[], shape: RowShape): RowSet {
  const [only] = sets;
  if (only !== undefined && sets.length === 1) return only;
  const data = new Uint8Array(sets.reduce((sum, set) => sum + set.data.length, 0));
  let at = 0;
  let count = 0;
  for (const set of sets) {
    data.set(set.data, at);
    at += set.data.length;
    count += rowCountOf(set);
  }
  return rowSetOf(data, count, shape);
}

/** End of the valid row of that shape that begins at `row`. */
export function rowEnd(shape: RowShape, bytes: Uint8Array, row: number): number {
  const last = shape.columnCount - 1;
  return last < 0 ? row : shape.skip(bytes, shape.startOf(bytes, row, last), last);
}

/** Bytes of each row of that shape, if they can be announced as a fixed size. */
function fixedRowBytes(shape: RowShape): number | undefined {
  const last = shape.columnCount - 1;
  if (last < 0) return undefined;
  const start = shape.fixedStart(last);
  const size = shape.fixedSize(last);
  return start === undefined || size === undefined ? undefined : announced(start + size);
}

/** The size of every row, if it can be announced. */
export function announced(rowBytes: number): number | undefined {
  return rowBytes > 0 && rowBytes <= fixedRowBytesMax ? rowBytes : undefined;
}

/** A size is announced in 16 bits. */
const fixedRowBytesMax = 0xffff;

/** A row: where it lies, and where it ends. */
export interface RowPlace {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * The order of rows in updates that would otherwise have the order in which a host stores rows: by
 * their bytes, so that all hosts send the same ones.
 */
export function compareRows(left: RowPlace, right: RowPlace): number {
  const { bytes, start, end } = left;
  const length = Math.min(end - start, right.end - right.start);
  for (let at = 0; at < length; at++) {
    const difference = (bytes[start + at] as number) - (right.bytes[right.start + at] as number);
    if (difference !== 0) return difference;
  }
  return end - start - (right.end - right.start);
}

/** The same rows in the order of `compareRows`. */
export function inRowOrder(rows: RowSet): RowSet {
  const count = rowCountOf(rows);
  if (count < 2) return rows;
  const { data: bytes } = rows;
  const places = Array.from({ length: count }, (_, row): RowPlace => {
    return { bytes, start: startOfRow(rows, row), end: endOfRow(rows, row) };
  });
  const ordered = new RowSetBuilder();
  for (const { start, end } of places.sort(compareRows)) ordered.add(bytes, start, end);
  return ordered.finish();
}

/**
 * Collects the positions of rows and copies each of them once, in `finish`: the rows must not
 * change in between.
 */
export class RowSetBuilder {
  readonly #sources: Uint8Array[] = [];
  readonly #bounds: number[] = [];
  #byteCount = 0;
  /** Bytes of each row so far; -1 when they differ. */
  #rowBytes = 0;

  get count(): number {
    return this.#sources.length;
  }

  /** The row is `source[start, end)`. */
  add(source: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (this.#sources.length === 0) this.#rowBytes = length;
    else if (length !== this.#rowBytes) this.#rowBytes = -1;
    this.#sources.push(source);
    this.#bounds.push(start, end);
    this.#byteCount += length;
  }

  finish(): RowSet {
    const sources = this.#sources;
    if (sources.length === 0) return emptyRowSet;
    const bounds = this.#bounds;
    const data = new Uint8Array(this.#byteCount);
    const rowBytes = announced(this.#rowBytes);
    const starts = new Uint32Array(rowBytes === undefined ? sources.length : 0);
    let at = 0;
    for (let row = 0; row < sources.length; row++) {
      const start = bounds[2 * row] as number;
      const end = bounds[2 * row + 1] as number;
      if (rowBytes === undefined) starts[row] = at;
      data.set((sources[row] as Uint8Array).subarray(start, end), at);
      at += end - start;
    }
    if (rowBytes !== undefined) return { kind: 'fixedSize', rowBytes, data };
    return { kind: 'offsets', starts, data };
  }
}

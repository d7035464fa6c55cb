/**
 * Lists of encoded rows, as messages carry them: a hint at the row positions, then the rows,
 * concatenated. Sizes are u16, byte counts u32.
 *
 * ```text
 * 00 ‖ size ‖ byte count ‖ bytes                   every row has `size` bytes
 * 01 ‖ count ‖ start: u64 … ‖ byte count ‖ bytes   rows of several sizes
 * ```
 */
import { assert } from '../assert.ts';
import { type BinaryReader, DecodeError } from '../values/binary-reader.ts';
import type { BinaryWriter } from '../values/binary-writer.ts';
import { encodedBy, readView, unknownTagOf } from './message-parts.ts';

/** Encoded rows, concatenated in `data`, and their positions. */
export type RowList = FixedSizeRows | OffsetRows;

export interface FixedSizeRows {
  readonly kind: 'fixedSize';
  /** Bytes of every row, 1 to 65,535; the length of `data` is a multiple of it. */
  readonly rowBytes: number;
  readonly data: Uint8Array;
}

export interface OffsetRows {
  readonly kind: 'offsets';
  /** Start of each row in `data`, ascending from 0; a row ends where the next one starts. */
  readonly starts: Uint32Array;
  readonly data: Uint8Array;
}

export const emptyRowList: RowList = {
  kind: 'offsets',
  starts: new Uint32Array(0),
  data: new Uint8Array(0),
};

/** Minimum size of an encoded row list. */
export const rowListBytesMin = 7;

export function rowListCount(list: RowList): number {
  return list.kind === 'offsets' ? list.starts.length : list.data.length / list.rowBytes;
}

/** Yields the rows, each a view of `list.data`. */
export function* rowsOf(list: RowList): Generator<Uint8Array, void, void> {
  const { data } = list;
  const count = rowListCount(list);
  for (let index = 0, start = 0; index < count; index += 1) {
    const end = rowEnd(list, index);
    yield data.subarray(start, end);
    start = end;
  }
}

/** Calls `visit` with the bounds of each row in `list.data`; allocates nothing per row. */
export function forEachRow(list: RowList, visit: (start: number, end: number) => void): void {
  const count = rowListCount(list);
  for (let index = 0, start = 0; index < count; index += 1) {
    const end = rowEnd(list, index);
    visit(start, end);
    start = end;
  }
}

function rowEnd(list: RowList, index: number): number {
  if (list.kind === 'fixedSize') return (index + 1) * list.rowBytes;
  return list.starts[index + 1] ?? list.data.length;
}

/**
 * Collects references to rows and copies each row once, when the list is written. The rows must not
 * change in between.
 */
export class RowListBuilder {
  #sources: Uint8Array[] = [];
  #starts: number[] = [];
  #ends: number[] = [];
  #byteCount = 0;
  /** Size of every row so far; `undefined` if there are no rows or their sizes differ. */
  #rowBytes: number | undefined;

  get rowCount(): number {
    return this.#sources.length;
  }

  /** Total size of the rows. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** Adds the row `source[start, end)`. */
  add(source: Uint8Array, start = 0, end: number = source.length): void {
    const rowBytes = end - start;
    if (this.#sources.length === 0) this.#rowBytes = rowBytes;
    else if (rowBytes !== this.#rowBytes) this.#rowBytes = undefined;
    this.#sources.push(source);
    this.#starts.push(start);
    this.#ends.push(end);
    this.#byteCount += rowBytes;
  }

  writeTo(writer: BinaryWriter): void {
    assert(this.#byteCount <= 0xffff_ffff, 'the rows of one list have a count of 32 bits');
    const fixed = fixedRowBytes(this.#rowBytes);
    if (fixed === undefined) this.#writeStarts(writer);
    else writeFixedSize(writer, fixed);
    writer.u32(this.#byteCount);
    const at = writer.claim(this.#byteCount);
    this.#copyTo(writer.source, at);
  }

  /** Returns the list, with a copy of the rows. */
  toRowList(): RowList {
    const data = new Uint8Array(this.#byteCount);
    this.#copyTo(data, 0);
    const rowBytes = fixedRowBytes(this.#rowBytes);
    if (rowBytes !== undefined) return { kind: 'fixedSize', rowBytes, data };
    const starts = new Uint32Array(this.rowCount);
    let start = 0;
    for (let row = 0; row < starts.length; row += 1) {
      starts[row] = start;
      start += this.#rowLength(row);
    }
    return { kind: 'offsets', starts, data };
  }

  #copyTo(target: Uint8Array, targetStart: number): void {
    let at = targetStart;
    for (const [row, source] of this.#sources.entries()) {
      target.set(source.subarray(this.#starts[row], this.#ends[row]), at);
      at += this.#rowLength(row);
    }
  }

  #writeStarts(writer: BinaryWriter): void {
    const { rowCount } = this;
    writer.u8(offsetsTag);
    writer.u32(rowCount);
    const at = writer.claim(8 * rowCount);
    const view = writer.dataView;
    let start = 0;
    for (let row = 0; row < rowCount; row += 1) {
      writeStart(view, at + 8 * row, start);
      start += this.#rowLength(row);
    }
  }

  #rowLength(row: number): number {
    return (this.#ends[row] ?? 0) - (this.#starts[row] ?? 0);
  }
}

/** Returns a list of copies of `rows`. */
export function rowListOf(rows: Iterable<Uint8Array>): RowList {
  const builder = new RowListBuilder();
  for (const row of rows) builder.add(row);
  return builder.toRowList();
}

export function writeRowList(writer: BinaryWriter, list: RowList): void {
  if (list.kind === 'fixedSize') {
    writeFixedSize(writer, list.rowBytes);
  } else {
    const { starts } = list;
    writer.u8(offsetsTag);
    writer.u32(starts.length);
    const at = writer.claim(8 * starts.length);
    const view = writer.dataView;
    for (let row = 0; row < starts.length; row++) {
      writeStart(view, at + 8 * row, starts[row] as number);
    }
  }
  writer.bytes(list.data);
}

/** Returns an encoded list in parts, for lists too large to copy; one part is `data` itself. */
export function rowListParts(list: RowList): readonly Uint8Array[] {
  const head = encodedBy((writer) => {
    if (list.kind === 'fixedSize') writeFixedSize(writer, list.rowBytes);
    else {
      writer.u8(offsetsTag);
      writer.u32(list.starts.length);
    }
  });
  const byteCount = encodedBy((writer) => writer.u32(list.data.length));
  const starts = list.kind === 'fixedSize' ? [] : [wideStarts(list.starts)];
  return [head, ...starts, byteCount, list.data];
}

function wideStarts(starts: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(8 * starts.length);
  const view = new DataView(bytes.buffer);
  for (let row = 0; row < starts.length; row++) {
    view.setUint32(8 * row, starts[row] as number, true);
  }
  return bytes;
}

/** Reads a row list, checked so that every row lies within its data, a view of the input. */
export function readRowList(reader: BinaryReader): RowList {
  const tag = reader.u8();
  if (tag === fixedSizeTag) return readFixedSize(reader);
  if (tag === offsetsTag) return readOffsets(reader);
  throw unknownTagOf('RowSizeHint', tag);
}

function readFixedSize(reader: BinaryReader): RowList {
  const rowBytes = reader.u16();
  if (rowBytes === 0) throw new DecodeError('a row list announces rows of 0 bytes');
  const data = readView(reader);
  if (data.length % rowBytes !== 0) {
    throw new DecodeError(`${data.length} bytes are not a whole number of rows of ${rowBytes}`);
  }
  return { kind: 'fixedSize', rowBytes, data };
}

function readOffsets(reader: BinaryReader): RowList {
  const count = reader.u32();
  const at = reader.claim(8 * count, 'row offsets');
  const view = reader.dataView;
  const starts = new Uint32Array(count);
  let before = 0;
  for (let row = 0; row < count; row += 1) {
    const start = view.getUint32(at + 8 * row, true);
    const isWide = view.getUint32(at + 8 * row + 4, true) !== 0;
    if (isWide || start < before || (row === 0 && start !== 0)) {
      throw new DecodeError(`row ${row} starts at a wrong offset`);
    }
    starts[row] = start;
    before = start;
  }
  const data = readView(reader);
  if (before > data.length || (count === 0 && data.length > 0)) {
    throw new DecodeError(`${data.length} bytes of rows do not fit the offsets of the rows`);
  }
  return { kind: 'offsets', starts, data };
}

function writeFixedSize(writer: BinaryWriter, rowBytes: number): void {
  writer.u8(fixedSizeTag);
  writer.u16(rowBytes);
}

function writeStart(view: DataView, at: number, start: number): void {
  view.setUint32(at, start, true);
  view.setUint32(at + 4, 0, true);
}

/** Returns `rowBytes` if the format can state it as the size of every row. */
function fixedRowBytes(rowBytes: number | undefined): number | undefined {
  const isFixed = rowBytes !== undefined && rowBytes > 0 && rowBytes <= fixedRowBytesMax;
  return isFixed ? rowBytes : undefined;
}

const fixedSizeTag = 0;
const offsetsTag = 1;
/** The size field has 16 bits. */
const fixedRowBytesMax = 0xffff;

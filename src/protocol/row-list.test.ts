import { describe, expect, it } from 'vitest';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { fromHex, toHex } from '../values/hex.ts';
import {
  emptyRowList,
  forEachRow,
  type RowList,
  RowListBuilder,
  readRowList,
  rowListCount,
  rowListOf,
  rowsOf,
  writeRowList,
} from './row-list.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);
const rowOf = (byteCount: number, value = 7) => new Uint8Array(byteCount).fill(value);

describe('[websocket 5] the hint of a row list', () => {
  it('of no rows is "no offsets"', () => {
    expect(toHex(encoded(rowListOf([])))).toBe('010000000000000000');
    expect(encoded(rowListOf([]))).toEqual(encoded(emptyRowList));
  });

  it('is the size of the rows when all have the same', () => {
    expect(rowListOf([bytes(1, 2), bytes(3, 4)])).toEqual({
      kind: 'fixedSize',
      rowBytes: 2,
      data: bytes(1, 2, 3, 4),
    });
    expect(toHex(encoded(rowListOf([bytes(1, 2), bytes(3, 4)])))).toBe('0002000400000001020304');
  });

  it('is where each row starts when they differ', () => {
    const list = rowListOf([bytes(1), bytes(2, 3), bytes(4)]);
    expect(list).toEqual({
      kind: 'offsets',
      starts: Uint32Array.of(0, 1, 3),
      data: bytes(1, 2, 3, 4),
    });
    expect(toHex(encoded(list))).toBe(
      '0103000000000000000000000001000000000000000300000000000000 04000000 01020304'.replaceAll(
        ' ',
        '',
      ),
    );
  });

  it('is a size up to 65,535 bytes, and an offset beyond', () => {
    expect(rowListOf([rowOf(65_535)])).toMatchObject({ kind: 'fixedSize', rowBytes: 65_535 });
    const list = rowListOf([rowOf(65_536), rowOf(65_536)]);
    expect(list).toMatchObject({ kind: 'offsets', starts: Uint32Array.of(0, 65_536) });
    expect(decoded(encoded(list))).toMatchObject({ starts: Uint32Array.of(0, 65_536) });
    expect(decoded(encoded(list)).data).toHaveLength(131_072);
  });

  it('is offsets for rows without bytes, which are counted', () => {
    const list = rowListOf([rowOf(0), rowOf(0), rowOf(0)]);
    expect(list).toMatchObject({ kind: 'offsets', starts: Uint32Array.of(0, 0, 0) });
    expect(rowListCount(decoded(encoded(list)))).toBe(3);
    expect([...rowsOf(list)]).toEqual([rowOf(0), rowOf(0), rowOf(0)]);
  });
});

describe('[websocket 5] rows', () => {
  it.each([
    ['of one size', [bytes(1, 2), bytes(3, 4), bytes(5, 6)]],
    ['of several sizes', [bytes(1), rowOf(0), bytes(2, 3, 4), bytes(5)]],
    ['none', []],
  ])('come out as they went in: %s', (_title, rows) => {
    const list = decoded(encoded(rowListOf(rows)));
    expect([...rowsOf(list)]).toEqual(rows);
    expect(rowListCount(list)).toBe(rows.length);
    const visited: Uint8Array[] = [];
    forEachRow(list, (start, end) => visited.push(list.data.subarray(start, end)));
    expect(visited).toEqual(rows);
  });

  it('are written from where they lie as if they were a list', () => {
    const page = bytes(9, 1, 2, 9, 3, 4, 9, 5);
    for (const ends of [
      [3, 6],
      [3, 6, 8],
    ]) {
      const builder = new RowListBuilder();
      const starts = [1, 4, 7];
      for (const [index, end] of ends.entries()) builder.add(page, starts[index], end);
      expect(builder.rowCount).toBe(ends.length);
      const writer = new BinaryWriter(1);
      builder.writeTo(writer);
      expect(writer.finish()).toEqual(encoded(builder.toRowList()));
      expect(builder.byteCount).toBe(builder.toRowList().data.length);
    }
  });

  it('that are read are a view of the frame, not a copy', () => {
    const frame = encoded(rowListOf([bytes(1, 2)]));
    expect(decoded(frame).data.buffer).toBe(frame.buffer);
  });
});

describe('[websocket 5] row lists that no sender may send', () => {
  it.each([
    ['a hint of an unknown kind', '02'],
    ['rows of size 0', '00000000000000'],
    ['bytes that are no whole number of rows', '0002000300000001020 3'],
    [
      'offsets that fall',
      '0103000000 0000000000000000 0200000000000000 0100000000000000 03000000 010203',
    ],
    ['a first offset that is not 0', '0101000000 0100000000000000 02000000 0102'],
    ['an offset beyond the bytes', '0102000000 0000000000000000 0300000000000000 02000000 0102'],
    ['an offset beyond 32 bits', '0102000000 0000000000000000 0000000001000000 02000000 0102'],
    ['bytes without offsets', '0100000000 02000000 0102'],
    ['more offsets than the frame holds', '01ffffffff 0000000000000000'],
    ['more bytes than the frame holds', '000100ffffffff01'],
  ])('%s', (_title, hex) => {
    const frame = fromHex(hex.replaceAll(' ', ''));
    expect(() => readRowList(new BinaryReader(frame ?? bytes()))).toThrow(DecodeError);
  });
});

function encoded(list: RowList): Uint8Array {
  const writer = new BinaryWriter();
  writeRowList(writer, list);
  return writer.finish();
}

function decoded(frame: Uint8Array): RowList {
  return readRowList(new BinaryReader(frame));
}

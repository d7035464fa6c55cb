import { describe, expect, it } from 'vitest';
import { encodeValue } from '../values/encode.ts';
import { optionType, sum, unitType } from '../values/special-types.ts';
import type { ProductType } from '../values/type.ts';
import { type SqlResult, sqlResultPieces } from './sql-result.ts';

const rowType: ProductType = {
  kind: 'product',
  elements: [
    { name: 'id', type: { kind: 'u64' } },
    { name: 'text', type: { kind: 'string' } },
  ],
};

function resultOf(texts: readonly string[]): SqlResult {
  const types = { types: [] };
  const rows = texts.map((text, at) => [...encodeValue(rowType, [BigInt(at), text], types)]);
  const counts = { inserted: 1, deleted: 2, updated: 3, micros: 4 };
  const columns = rowType.elements;
  return { columns, types, rows: Uint8Array.from(rows.flat()), rowCount: rows.length, ...counts };
}

const piecesOf = (result: SqlResult, characters: number) => [
  ...sqlResultPieces(result, characters),
];

describe('the JSON of a result', () => {
  it.each([0, 1, 2, 100])('[http 10] of %d rows is the same in pieces of any size', (count) => {
    const result = resultOf(Array.from({ length: count }, (_, at) => 'é"'.repeat(at % 7)));
    const whole = piecesOf(result, Number.POSITIVE_INFINITY).join('');
    expect(JSON.parse(whole)[0].rows).toHaveLength(count);
    for (const characters of [1, 50, 1_000]) {
      expect(piecesOf(result, characters).join('')).toBe(whole);
    }
  });

  it('[http 10] comes in pieces that are no longer than they have to be', () => {
    const longest = 40;
    const texts = Array.from({ length: 200 }, (_, at) => 'x'.repeat(at % longest));
    const [first = '', ...others] = piecesOf(resultOf(texts), 300);
    expect(others.length).toBeGreaterThan(10);
    for (const piece of [first, ...others.slice(0, -1)]) {
      expect(piece.length).toBeGreaterThanOrEqual(300);
      expect(piece.length).toBeLessThan(300 + longest + 20);
    }
  });

  it('[http 10] comes in pieces within a row, too, however few bytes it has', () => {
    const nothings: ProductType = {
      kind: 'product',
      elements: [{ name: 'list', type: { kind: 'array', element: unitType } }],
    };
    const value = [new Array(60_000).fill([])];
    const row = encodeValue(nothings, value, { types: [] });
    const rows = Buffer.concat([row, row, row]);
    const result = { ...resultOf([]), columns: nothings.elements, rows, rowCount: 3 };
    const pieces = piecesOf(result, 50_000);
    expect(rows).toHaveLength(12);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(50_000);
    expect(JSON.parse(pieces.join(''))[0].rows).toEqual([value, value, value]);
  });

  it('[ease 2.4] has rows as objects in the plain form', () => {
    const u8 = { kind: 'u8' } as const;
    const columns = [
      { name: 'id', type: u8 },
      { name: 'id_2', type: u8 },
      { name: 'id', type: optionType(u8) },
      { name: 'id', type: sum(['todo', unitType], ['done', unitType]) },
    ];
    const rows = Uint8Array.of(1, 2, 1, 1, 3, 4, 0, 5, 0);
    const result = { ...resultOf([]), columns, rows, rowCount: 2 };
    for (const characters of [1, 1_000]) {
      const pieces = [...sqlResultPieces(result, characters, 'plain')];
      expect(JSON.parse(pieces.join(''))[0].rows).toEqual([
        { id: 1, id_2: 2, id_3: null, id_4: 'done' },
        { id: 3, id_2: 4, id_3: 5, id_4: 'todo' },
      ]);
    }
  });
});

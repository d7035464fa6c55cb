import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { firstRow, type RowPlace, type SqlResult, sqlRows } from '../protocol/sql-result.ts';
import { emptyTypespace } from '../values/type.ts';
import { fitting } from './caps.ts';
import { Cursors } from './cursors.ts';

/** Rows of one byte each, which is their number. */
const result: SqlResult = {
  columns: [{ name: 'n', type: { kind: 'u8' } }],
  types: emptyTypespace,
  rows: Uint8Array.from({ length: 10 }, (_, at) => at),
  rowCount: 10,
  ...{ inserted: 0, deleted: 0, updated: 0, micros: 0 },
};
const ada = { caller: 'ada', shares: ['ada'], statement: 'SELECT' };
const at = (row: number): RowPlace => ({ row, byte: row });

/** Takes two rows from a cursor, and returns them with the next cursor. */
function two(cursors: Cursors<SqlResult>, cursor: string | undefined) {
  const left = cursors.find(ada, cursor ?? '');
  if (left === undefined) return undefined;
  const { rows, next } = sqlRows(left.result, left.from, (_, count) => count < 2);
  return { rows, next };
}

describe('a cursor', () => {
  it('gives the rows from there on, and goes on with another one', () => {
    const cursors = new Cursors<SqlResult>();
    const first = cursors.keep(ada, { result, from: at(3) });
    const page = two(cursors, first);
    expect(page?.rows).toEqual(['[3]', '[4]']);
    const second = cursors.advance(ada, first ?? '', page?.next ?? firstRow);
    expect(two(cursors, second)?.rows).toEqual(['[5]', '[6]']);
  });

  it('counts until the one after the next', () => {
    const cursors = new Cursors<SqlResult>();
    const seen = [cursors.keep(ada, { result, from: at(2) })];
    for (const _ of ['second', 'third']) {
      const last = seen.at(-1) ?? '';
      seen.push(cursors.advance(ada, last, two(cursors, last)?.next ?? firstRow));
    }
    expect(seen.map((cursor) => two(cursors, cursor)?.rows[0])).toEqual([undefined, '[4]', '[6]']);
  });

  it('is of one caller and one statement', () => {
    const cursors = new Cursors<SqlResult>();
    const cursor = cursors.keep(ada, { result, from: at(1) }) ?? '';
    expect(cursors.find({ ...ada, caller: 'bob' }, cursor)).toBeUndefined();
    expect(cursors.find({ ...ada, statement: 'DELETE' }, cursor)).toBeUndefined();
    expect(cursors.find(ada, cursor)?.from.row).toBe(1);
  });

  it('is not there for more rows than are kept', () => {
    const cursors = new Cursors<SqlResult>();
    const rows = new Uint8Array(limits.cursorBytesMax + 2);
    const large = { ...result, rows, rowCount: rows.length };
    expect(cursors.keep(ada, { result: large, from: at(1) })).toBeUndefined();
    expect(cursors.keep(ada, { result: large, from: at(1_000) })).toBeTypeOf('string');
  });

  it('is not there for rows whose types are too large to be kept', () => {
    const cursors = new Cursors<SqlResult>();
    const name = 'n'.repeat(limits.cursorBytesMax / 2);
    const wide = { ...result, columns: [{ name, type: { kind: 'u8' } as const }] };
    expect(cursors.keep(ada, { result: wide, from: at(1) })).toBeUndefined();
    const element = { kind: 'product', elements: wide.columns } as const;
    const recursive = { ...result, types: { types: [element] } };
    expect(cursors.keep(ada, { result: recursive, from: at(1) })).toBeUndefined();
  });

  it('leads through all rows, each once, whatever the caps of each answer', () => {
    const capsOfPages = fc.array(
      fc.record({
        rowsMax: fc.integer({ min: 1, max: 4 }),
        textBytesMax: fc.integer({ min: 1, max: 20 }),
        millisMax: fc.constant(undefined),
      }),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(capsOfPages, (pages) => {
        const cursors = new Cursors<SqlResult>();
        const seen: string[] = [];
        let cursor = cursors.keep(ada, { result, from: firstRow }) ?? '';
        for (let page = 0; seen.length < result.rowCount; page += 1) {
          const caps = pages[page % pages.length] ?? expect.fail('there are caps');
          const left = cursors.find(ada, cursor) ?? expect.fail('the cursor counts');
          const { rows, next } = sqlRows(left.result, left.from, fitting(caps));
          expect(rows.length).toBeGreaterThan(0);
          expect(rows.length).toBeLessThanOrEqual(caps.rowsMax);
          if (rows.length > 1) expect(rows.join(',').length).toBeLessThan(caps.textBytesMax);
          seen.push(...rows);
          cursor = cursors.advance(ada, cursor, next) ?? '';
        }
        expect(seen).toEqual(Array.from(result.rows, (n) => `[${n}]`));
      }),
    );
  });
});

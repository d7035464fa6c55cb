import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestCaller, type TestDatabase } from '../../src/testing/index.ts';
import type * as shelf from '../fixtures/modules/shelf/src/index.ts';

const folder = fileURLToPath(new URL('../fixtures/modules/shelf', import.meta.url));

let db: TestDatabase<typeof shelf>;
let ann: TestCaller<typeof shelf>;

beforeEach(async () => {
  db = await openTestDatabase<typeof shelf>({ module: folder });
  ann = db.as('ann');
});
afterEach(() => db.close());

const filled = {
  mood: { tag: 'wild' },
  copies: 1,
  labels: ['new'],
  note: undefined,
  rating: undefined,
};

describe('[ease 2.3] a row of a table in the arguments of a test', () => {
  it('lacks columns that are counted up or have a default', async () => {
    const first = await ann.reducers.addBook({ book: { title: 'one' } });
    expect(first).toMatchObject({ bookId: 1n, title: 'one', ...filled });
    const whole = {
      bookId: 9n,
      title: 'two',
      mood: { tag: 'calm' },
      copies: 3,
      labels: [],
    } as const;
    expect(await ann.reducers.addBook({ book: whole })).toMatchObject(whole);
    // By its name, too.
    expect(await db.call('add_book', [{ title: 'three' }])).toMatchObject({
      title: 'three',
      copies: 1,
    });
  });

  it('lacks them in lists, options, objects and variants', async () => {
    await ann.reducers.addBooks({ books: [{ title: 'a' }, { title: 'b', copies: 2 }] });
    await ann.reducers.addBooks({ books: [], spare: { title: 'c' } });
    // The compiler does not know of rows in variants.
    const one: object = { title: 'd' };
    const wish = { tag: 'one', value: one } as Parameters<
      typeof ann.reducers.orderBooks
    >[0]['wish'];
    await ann.reducers.orderBooks({ order: { first: { title: 'e' }, by: 'Eve' }, wish });
    const rows = await db.tables.book.iter();
    expect(rows.map(({ title, copies, note }) => [title, copies, note]).sort()).toEqual([
      ['a', 1, undefined],
      ['b', 2, undefined],
      ['c', 1, undefined],
      ['d', 1, undefined],
      ['e', 1, 'Eve'],
    ]);
  });

  it('has every other column, and defaults that are long', async () => {
    // @ts-expect-error A title is needed.
    await expect(ann.reducers.addBook({ book: {} })).rejects.toThrow('title');
    await expect(ann.reducers.addBig({ row: {} })).rejects.toThrow('words');
    await ann.reducers.addBig({ row: { words: 'few' } });
    expect(await db.tables.big.iter()).toEqual([{ id: 1, words: 'few' }]);
  });
});

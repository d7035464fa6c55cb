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

describe('[ease 2.3] a parameter with a default', () => {
  it('is left out in tests, and the types say so', async () => {
    await ann.reducers.order({ shop: 'one' });
    await ann.reducers.order({ shop: 'two', count: 3n, mood: { tag: 'wild' } });
    const rows = await db.tables.book.iter();
    expect(rows.map(({ title, copies, mood }) => [title, copies, mood.tag]).sort()).toEqual([
      ['one', 2, 'calm'],
      ['two', 3, 'wild'],
    ]);
    expect(await ann.procedures.twice()).toBe(42);
    expect(await ann.procedures.twice({ what: 2 })).toBe(4);
    // @ts-expect-error A shop is needed.
    await expect(ann.reducers.order({ count: 3n })).rejects.toThrow('shop');
    // @ts-expect-error A default is no reason to take null.
    await expect(ann.reducers.order({ shop: 'a', count: null })).rejects.toThrow('count');
  });

  it('is a column of a row whose columns are the parameters', async () => {
    const added = await ann.reducers.addColumns({ title: 'one' });
    expect(added).toMatchObject({ bookId: 1n, title: 'one', ...filled });
  });

  it('is left out at the end of an array, for a call by name', async () => {
    await db.call('order', ['one']);
    expect(await db.call('twice', [])).toBe(42);
    await expect(db.call('order', [])).rejects.toThrow('0 arguments given, 4 expected');
    await expect(db.call('twice', [1, 2])).rejects.toThrow('2 arguments given, 1 expected');
  });
});

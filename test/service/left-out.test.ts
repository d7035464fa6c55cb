import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describedDocument } from '../../src/cli/described-text.ts';
import { definitionFromSchema } from '../../src/codegen/schema-document.ts';
import { textsOf } from '../codegen/described.ts';
import { ask, type Mode, toolsIn } from './mcp-support.ts';
import { type Person, Running } from './running.ts';

const mode: Mode = { name: 'shelf', path: '/v1/database/shelf/mcp', database: {} };

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  expect(await running.publish('shelf', 'shelf', owner)).toMatchObject({ status: 200 });
});
afterAll(() => running.stop());

const titled = (title: string) =>
  running.rows('shelf', `SELECT copies, mood, labels FROM book WHERE title = '${title}'`);
const filled = [1, [1, []], ['new']];

describe('[ease 2.3] a row of a table in the arguments of a call', () => {
  it('lacks columns that are filled in: over HTTP', async () => {
    for (const [name, args] of [
      ['add_book', [{ title: 'h1' }]],
      ['add_book', { book: { title: 'h2' } }],
      ['add_books', [[{ title: 'h3' }], { title: 'h4' }]],
      [
        'order_books',
        { order: { first: { title: 'h5' }, by: 'Eve' }, wish: { one: { title: 'h6' } } },
      ],
    ] as const) {
      expect(await running.call('shelf', name, args)).toMatchObject({ status: 200 });
    }
    for (const title of ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']) {
      expect(await titled(title)).toEqual([filled]);
    }
    const ids = await running.rows('shelf', 'SELECT book_id FROM book ORDER BY book_id');
    expect(ids).toEqual([[1], [2], [3], [4], [5], [6]]);
  });

  it('lacks no other column, and as an array none', async () => {
    const { status, text } = await running.call('shelf', 'add_book', [{ copies: 2 }]);
    expect(status).toBe(400);
    expect(text).toBe(
      'invalid arguments for reducer add_book: [0] `book`: the field `title` is missing; ' +
        'add it, e.g. {"copies":2,"title":"text"}',
    );
    expect((await running.call('shelf', 'add_book', [['h7']])).status).toBe(400);
    const long = await running.call('shelf', 'add_big', [{}]);
    expect(long.text).toContain('the field `words` is missing');
  });

  it('lacks them for agents, who see which these are', async () => {
    const options = { mode, as: owner };
    const called = await ask(running, options, 'call', {
      reducer: 'add_book',
      args: [{ title: 'm1' }],
    });
    expect(called.content[0]?.text).toBe("reducer 'add_book' committed");
    expect(await titled('m1')).toEqual([filled]);
    const { content } = await ask(running, options, 'get_schema');
    const { types, tables } = JSON.parse(content[0]?.text ?? '');
    const named = (name: string) => (one: { name: string }) => one.name === name;
    expect(types.find(named('Book')).fields).toEqual({
      'book_id?': 'U64',
      title: 'String',
      'mood?': 'Mood',
      'copies?': 'U32',
      'labels?': 'String[]',
      note: 'String?',
      rating: 'U8?',
    });
    expect(tables.find(named('book'))).toMatchObject({
      auto_increment: ['book_id'],
      defaults: ['mood', 'copies', 'labels', 'rating'],
    });
    const wrong = await ask(running, options, 'call', { reducer: 'add_book', args: [{}] });
    expect(wrong.content[1]?.text).toContain('book: {book_id?: U64, title: String, mood?: ');
  });

  it('lacks them in tools that are made of reducers', async () => {
    const options = { mode, as: owner, features: 'typed-reducers' };
    const tool = (await toolsIn(running, options)).find(({ name }) => name === 'add_book');
    const schema = tool?.inputSchema as unknown as { $defs: Record<string, { required: [] }> };
    expect(schema.$defs.Book?.required).toEqual(['title', 'note', 'rating']);
    const { isError } = await ask(running, options, 'add_book', { book: { title: 'm2' } });
    expect(isError).toBe(false);
    expect(await titled('m2')).toEqual([filled]);
  });

  it('is described with what it can lack at the command line', async () => {
    const where = '/v1/database/shelf/schema?version=10';
    const { text } = await running.ask('GET', where, { as: owner });
    const described = describedDocument(text, undefined, undefined);
    expect(described).toContain('book_id  U64       primary key, auto-increment');
    expect(described).toContain('copies   U32       default');
    expect(described).toContain('Book = {book_id?: U64, title: String, mood?: Mood, ');
  });
});

describe('[ease 2.3] parameters with a default', () => {
  it('are left out over HTTP, by name and at the end of an array', async () => {
    for (const args of [['p1'], ['p1', 2], { shop: 'p1' }, { shop: 'p1', mood: 'calm' }]) {
      expect(await running.call('shelf', 'order', args)).toMatchObject({ status: 200 });
    }
    const stocked = [2, [0, []], ['new']];
    expect(await titled('p1')).toEqual([stocked, stocked, stocked, stocked]);
    expect(await running.call('shelf', 'order', ['p2', 7, 'wild'])).toMatchObject({ status: 200 });
    expect(await titled('p2')).toEqual([[7, [1, []], ['new']]]);
    expect(await running.call('shelf', 'twice', [])).toMatchObject({ status: 200, text: '42' });
    expect(await running.call('shelf', 'twice', { what: 4 })).toMatchObject({ text: '8' });
  });

  it('are the columns of a row as well', async () => {
    expect(await running.call('shelf', 'add_columns', { title: 'p3' })).toMatchObject({
      status: 200,
    });
    expect(await running.call('shelf', 'add_columns', [0, 'p3'])).toMatchObject({ status: 200 });
    expect(await titled('p3')).toEqual([filled, filled]);
  });

  it('are the only ones, and what is said to be written leaves them out', async () => {
    const { status, text } = await running.call('shelf', 'order', { count: 3 });
    expect(status).toBe(400);
    expect(text).toBe(
      'invalid arguments for reducer order: the parameter `shop` is missing; ' +
        'add it, e.g. {"count":3,"shop":"text"}',
    );
    expect((await running.call('shelf', 'order', [])).text).toContain('add it, e.g. ["text"]');
    expect((await running.call('shelf', 'add_columns', [])).text).toContain('e.g. [0,"text"]');
    expect((await running.call('shelf', 'order', ['p4', null])).status).toBe(400);
  });

  it('are left out by agents, who see which these are', async () => {
    const options = { mode, as: owner };
    const called = await ask(running, options, 'call', { reducer: 'order', args: ['p5'] });
    expect(called.content[0]?.text).toBe("reducer 'order' committed");
    const { content } = await ask(running, options, 'get_schema');
    const { reducers, procedures } = JSON.parse(content[0]?.text ?? '');
    const named = (name: string) => (one: { name: string }) => one.name === name;
    const params = { shop: 'String', 'count?': 'U64', 'mood?': 'Mood', by: 'BookOrder?' };
    expect(reducers.find(named('order')).params).toEqual(params);
    expect(procedures.find(named('twice')).params).toEqual({ 'what?': 'U32' });
    const wrong = await ask(running, options, 'call', { reducer: 'order', args: {} });
    expect(wrong.content[1]?.text).toContain('order(shop: String, count?: U64, mood?: ');
    const typed = { ...options, features: 'typed-reducers' };
    const tool = (await toolsIn(running, typed)).find(({ name }) => name === 'order');
    expect(tool?.inputSchema.required).toEqual(['shop']);
    expect(tool?.description).toContain('reducer order(shop: String, count?: U64, mood?: ');
    expect((await ask(running, typed, 'order', { shop: 'p6' })).isError).toBe(false);
  });

  it('are shown at the command line, and in bindings by a comment', async () => {
    const where = '/v1/database/shelf/schema?version=10';
    const { text } = await running.ask('GET', where, { as: owner });
    const described = describedDocument(text, undefined, undefined);
    expect(described).toContain('order(shop: String, count?: U64, mood?: Mood, by: BookOrder?)');
    expect(described).toContain('twice(what?: U32): U32');
    const files = textsOf(definitionFromSchema(text));
    expect(files['order_reducer.ts']).toContain(
      'have defaults: count, mood. */\nexport default {\n',
    );
    expect(files['twice_procedure.ts']).toContain(
      'have defaults: what. */\nexport const params = {',
    );
  });
});

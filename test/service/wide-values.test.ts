import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, hostWide } from './mcp-support.ts';
import { type Person, Running } from './running.ts';
import { SocketClient } from './socket-client.ts';
import { writtenFrom } from './written-module.ts';

let running: Running;
let owner: Person;

/** Each element of `list` takes no bytes, and 6,000 characters as JSON. */
const source = `
  import { schema, SenderError, t, table } from 'reducerdb/server';
  const unit = t.object('Unit', {});
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => ['unit' + at, unit]));
  const wide = t.object('Wide', many);
  const item = table({ public: true }, { id: t.u32().primaryKey(), list: t.array(wide) });
  const db = schema({ item });
  export default db;
  const element = Object.fromEntries(Object.keys(many).map((name) => [name, {}]));
  const elements = (count) => new Array(count).fill(element);
  export const add = db.reducer({ id: t.u32(), count: t.u32() }, (ctx, { id, count }) => {
    ctx.db.item.insert({ id, list: elements(count) });
  });
  export const give = db.reducer(
    { name: 'give', returns: t.array(wide) },
    { count: t.u32() },
    (ctx, { count }) => {
      ctx.db.item.insert({ id: 100 + count, list: [] });
      return elements(count);
    },
  );
`;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  const { status, text } = await running.upload('wide', await writtenFrom(source), owner);
  if (status !== 200) throw new Error(text);
});
afterAll(() => running.stop());

const tooLong = /^the value has more than 2\d{5} characters as JSON, too many for its bytes$/;

describe('values whose JSON is out of proportion to their bytes', () => {
  it('[values 4, http 10] come whole as the answer to a statement', async () => {
    expect(await running.call('wide', 'add', [1, 400])).toMatchObject({ status: 200 });
    const { text } = await running.sql('wide', 'SELECT * FROM item WHERE id = 1', owner);
    const [[id, list]] = JSON.parse(text)[0].rows;
    expect([id, list.length, list[0].length]).toEqual([1, 400, 500]);
  });

  it('[values 4] are not returned as JSON: the call is committed, and its caller told', async () => {
    expect(JSON.parse((await running.call('wide', 'give', [2])).text)).toHaveLength(2);
    const { status, text } = await running.call('wide', 'give', [400]);
    expect([status, text.replace(/^The call was committed, but (.*)\.$/, '$1')]).toEqual([
      500,
      expect.stringMatching(tooLong),
    ]);
    const { text: rows } = await running.sql('wide', 'SELECT id FROM item WHERE id = 500', owner);
    expect(JSON.parse(rows)[0].rows).toEqual([[500]]);
  });

  it('[values 4] are an error of an MCP tool', async () => {
    await running.call('wide', 'add', [2, 400]);
    const args = { database: 'wide', sql: 'SELECT * FROM item WHERE id = 2' };
    const { isError, content } = await ask(running, { mode: hostWide, as: owner }, 'sql', args);
    expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(tooLong)]);
  });

  it('[websocket 9, 11] close a connection that speaks JSON, with 1011', async () => {
    await running.call('wide', 'add', [3, 400]);
    const client = await SocketClient.open(running.service.url, 'wide', {
      protocols: ['v1.json.spacetimedb'],
    });
    const queryStrings = ['SELECT * FROM item WHERE id = 3'];
    client.send(JSON.stringify({ Subscribe: { query_strings: queryStrings, request_id: 1 } }));
    const { code, reason } = await client.ended;
    expect([code, reason]).toEqual([1011, expect.stringMatching(tooLong)]);
    // Others, and what else the database has, are as before.
    expect(await running.call('wide', 'add', [4, 1])).toMatchObject({ status: 200 });
  });
});

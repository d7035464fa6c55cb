import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, bob, contextOf, person } from '../../test/support/agent-host.ts';
import { present } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import { RpcError } from '../mcp-protocol/rpc-error.ts';
import type { ToolResult } from '../mcp-protocol/tool.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import { makeTools } from './tool-list.ts';

const shelfModule = `
import { SenderError, schema, t, table } from 'reducerdb/server';

const Size = t.enum('Size', { small: t.unit(), large: t.unit(), Other: t.string() });
const box = table(
  { public: true },
  {
    id: t.u64().primaryKey(),
    size: Size,
    owner: t.option(t.identity()),
    at: t.timestamp(),
    note: t.option(t.string()),
  },
);
const db = schema({ box });
export default db;

export const addBox = db.reducer(
  { returns: t.object('Made', { id: t.u64(), size: Size }) },
  { id: t.u64(), note: t.string() },
  (ctx, { id, note }) => {
    const size = { tag: 'small' };
    ctx.db.box.insert({ id, size, owner: ctx.sender, at: ctx.timestamp, note });
    return { id, size };
  },
);
export const addMany = db.reducer({ count: t.u32() }, (ctx, { count }) => {
  for (let id = 1000; id < 1000 + count; id += 1) {
    ctx.db.box.insert({
      id: BigInt(id), size: { tag: 'Other', value: 'x' }, owner: undefined, at: ctx.timestamp,
      note: undefined,
    });
  }
});
export const crash = db.reducer(() => {
  const missing = undefined;
  missing.property;
});
`;

let agents: AgentHost;
const tools = makeTools();

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('shelf', shelfModule);
  await agents.publish('library');
});
afterAll(() => agents.close());

interface Asked {
  readonly as?: RequestCaller;
  /** `undefined` = host-wide. */
  readonly database?: string | undefined;
}

async function ask(name: string, args: object | string, { as = ada, ...where }: Asked = {}) {
  const session = agents.session(as, 'database' in where ? where.database : 'shelf');
  const tool = present(
    tools(session).find((one) => one.name === name),
    name,
  );
  const given = parseJson(typeof args === 'string' ? args : JSON.stringify(args));
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  const result = (await tool.run(given, contextOf(session))) as ToolResult;
  const texts = result.content.map((one) => ('text' in one ? one.text : ''));
  return { isError: result.isError, texts };
}

/** The hint of a call of the wrong shape. */
async function hintFor(name: string, args: object, asked: Asked = {}): Promise<unknown> {
  try {
    await ask(name, args, asked);
    return 'no error';
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    expect(error.code).toBe(-32602);
    return (error.data as { hint: string }).hint;
  }
}

describe('call', () => {
  it('[ease 4.4] takes arguments by name, and answers with offset and value', async () => {
    const made = await ask('call', '{"reducer":"add_box","args":{"note":"a","id":1}}');
    expect(made).toEqual({
      isError: false,
      texts: [
        "reducer 'add_box' committed",
        expect.stringMatching(/^{"offset":\d+,"value":{"id":1,"size":"small"}}$/),
      ],
    });
  });

  it('[ease 4.6] shows the parameters when the arguments do not fit', async () => {
    const { texts } = await ask('call', { reducer: 'add_box', args: [1] });
    expect(texts[0]).toMatch(/^invalid arguments for reducer add_box: /);
    expect(texts[1]).toBe('add_box(id: U64, note: String)');
  });

  it('[ease 4.6] says which reducer was meant, as far as the caller may know', async () => {
    expect(await ask('call', { reducer: 'add_bx' })).toEqual({
      isError: true,
      texts: ['no such reducer', 'Did you mean `add_box`?'],
    });
    const limited = tokenFor([]);
    expect((await ask('call', { reducer: 'add_bx' }, { as: limited })).texts).toEqual([
      'no such reducer',
      'There is none that you may use.',
    ]);
  });

  it('[ease 4.7] says why a reducer crashed to those who may read the log', async () => {
    const fixed = "reducer 'crash' failed: The instance encountered a fatal error.";
    const own = await ask('call', { reducer: 'crash' });
    expect(own.texts).toEqual([
      fixed,
      expect.stringMatching(/^Uncaught TypeError: .*, at \S+\.ts:\d+:\d+$/),
    ]);
    expect((await ask('call', { reducer: 'crash' }, { as: bob })).texts).toEqual([fixed]);
  });
});

function tokenFor(reducers: readonly string[], more: object = {}): RequestCaller {
  const database = agents.host.database('shelf').identity;
  const capability = {
    ...{ database, by: ada.identity, tables: ['box'], reducers },
    ...{ readOnly: false, sqlWrites: false, ...more },
  };
  return person(0x11n, { capability });
}

describe('sql', () => {
  it('[ease 4.2] answers columns and rows in the plain form', async () => {
    await ask('call', '{"reducer":"add_box","args":[18446744073709551615,"b"]}');
    const sql = 'SELECT id, size, owner, at, note FROM box ORDER BY id DESC LIMIT 1';
    const { texts } = await ask('sql', { sql });
    const [result] = JSON.parse(texts[0] ?? '');
    expect(result).toEqual({
      columns: [
        { name: 'id', type: 'U64' },
        { name: 'size', type: 'small | large | other(String)' },
        { name: 'owner', type: 'Identity?' },
        { name: 'at', type: 'Timestamp' },
        { name: 'note', type: 'String?' },
      ],
      rows: [
        [
          '18446744073709551615',
          'small',
          expect.stringMatching(/^[0-9a-f]{64}$/),
          expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          'b',
        ],
      ],
      offset: expect.any(Number),
    });
    expect(texts).toHaveLength(1);
  });

  it('[ease 4.2] counts the rows of a write', async () => {
    const write = await ask('sql', { sql: "UPDATE box SET note = 'c' WHERE id = 1" });
    expect(JSON.parse(write.texts[0] ?? '')).toEqual([
      { columns: [], rows: [], offset: expect.any(Number), affected: 1 },
    ]);
  });

  it('[ease 4.3] pages by the row limit of a token, without an end to it', async () => {
    await ask('call', { reducer: 'add_many', args: [5] });
    const as = tokenFor([], { rowsMax: 2 });
    const sql = 'SELECT id FROM box WHERE id >= 1000 AND id < 2000 ORDER BY id';
    const seen: unknown[] = [];
    for (let args: object = { sql }; ; ) {
      const { texts } = await ask('sql', args, { as });
      const { rows } = JSON.parse(texts[0] ?? '')[0];
      expect(rows.length).toBeLessThanOrEqual(2);
      seen.push(...rows.flat());
      const [, cursor] = /`cursor`: "(.*)"/.exec(texts[1] ?? '') ?? [];
      if (cursor === undefined) break;
      args = { sql, cursor, max_rows: 100 };
    }
    expect(seen).toEqual([1000, 1001, 1002, 1003, 1004]);
  });

  it('[ease 4.6] says which table was meant behind the fixed text', async () => {
    expect((await ask('sql', { sql: 'SELECT * FROM boxx' })).texts).toEqual([
      'no such table: boxx',
      expect.stringContaining('Did you mean `box`?'),
    ]);
  });
});

describe('a `database` in a server for one database', () => {
  it('[ease 4.5] is accepted if it is that one', async () => {
    const identity = agents.host.database('shelf').identity.toString(16).padStart(64, '0');
    for (const database of ['shelf', identity, 7]) {
      const { isError } = await ask('sql', { sql: 'SELECT id FROM box', database });
      expect([database, isError]).toEqual([database, false]);
    }
  });

  it('[ease 4.5] is an error if it is another one, or none', async () => {
    for (const database of ['library', 'nowhere', 'Not A Name']) {
      expect(await ask('call', { reducer: 'add_box', args: [9, 'z'], database })).toEqual({
        isError: true,
        texts: ['this server is for `shelf` only; leave out `database`'],
      });
    }
    const { texts } = await ask('sql', { sql: 'x', database: 'library' }, { database: 'gone' });
    expect(texts).toEqual(['`gone` not found']);
  });
});

describe('arguments of the wrong shape', () => {
  it('[ease 4.6] come back as a call that works', async () => {
    const host = { database: undefined };
    const mistakes: [string, object, Asked, string][] = [
      ['sql', { query: 'SELECT id FROM box' }, {}, '{"sql":"SELECT id FROM box"}'],
      [
        'sql',
        { sql: 'SELECT id FROM box', max_rows: 3 },
        host,
        '{"database":"shelf","sql":"SELECT id FROM box","max_rows":3}',
      ],
      ['get_schema', {}, host, '{"database":"shelf"}'],
      ['get_schema', { db: 'library' }, host, '{"database":"library"}'],
      [
        'call',
        { reducer: 'add_box', args: '[77, "j"]' },
        {},
        '{"reducer":"add_box","args":[77,"j"]}',
      ],
      ['call', { name: 'add_box', args: [78, 'k'] }, {}, '{"reducer":"add_box","args":[78,"k"]}'],
      ['call', { reducer: 'add_many', args: 0 }, {}, '{"reducer":"add_many","args":[0]}'],
    ];
    for (const [name, args, asked, right] of mistakes) {
      expect(await hintFor(name, args, asked)).toBe(`call ${name} with ${right}`);
      expect([right, (await ask(name, right, asked)).isError]).toEqual([right, false]);
    }
  });

  it('[ease 4.6] that are very long are not repeated', async () => {
    const args = { reducer: 'add_box', args: 'x'.repeat(2_000) };
    expect(await hintFor('call', args)).toBe('call takes reducer');
  });
});

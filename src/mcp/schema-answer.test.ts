import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, bob, contextOf, person } from '../../test/support/agent-host.ts';
import { present } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import { limits } from '../limits.ts';
import type { ToolResult } from '../mcp-protocol/tool.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import { utf8Length } from '../values/utf8.ts';
import { makeTools } from './tool-list.ts';

const shopModule = `
import { schema, t, table, ScheduleAt } from 'reducerdb/server';

const Status = t.enum('Status', { pending: t.unit(), shipped: t.unit() });
const Secret = t.enum('Secret', { low: t.unit(), high: t.unit() });
const Note = t.enum('Note', { Text: t.string(), Hidden: t.unit() });
const Place = t.object('Place', { street: t.string(), notes: t.array(Note) });

/** What was bought. */
const order = table(
  { public: true, name: 'order' },
  {
    id: t.u64().primaryKey().autoInc(),
    code: t.string().unique(),
    /** Where it is
     * on its way. */
    status: Status,
    buyer: t.option(t.identity()),
    place: Place,
    placedAt: t.timestamp().index(),
    tags: t.array(t.string()),
  },
);
const vault = table({}, { id: t.u32().primaryKey(), level: Secret });
const timer = table(
  { scheduled: () => tick },
  { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() },
);

const db = schema({ order, vault, timer });
export default db;

export const tick = db.reducer({ row: timer.rowType }, () => {});
const orderParams = { code: t.string(), status: t.option(Status) };
/** Puts an order in. */
export const placeOrder = db.reducer(orderParams, (ctx, { code, status }) => {
  ctx.db.order.insert({
    id: 0n, code, status: status ?? { tag: 'pending' }, buyer: ctx.sender,
    place: { street: 'x', notes: [] }, placedAt: ctx.timestamp, tags: [],
  });
});
export const started = db.init(() => {});
`;

let agents: AgentHost;
const tools = makeTools();

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('shop', shopModule);
});
afterAll(() => agents.close());

async function ask(caller: RequestCaller, args: object = {}, target = 'shop') {
  const session = agents.session(caller, target, ['whoami']);
  const tool = present(
    tools(session).find(({ name }) => name === 'get_schema'),
    'the tool',
  );
  const given = parseJson(JSON.stringify(args));
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  const result = (await tool.run(given, contextOf(session))) as ToolResult;
  return { isError: result.isError, texts: result.content.map((one) => 'text' in one && one.text) };
}

async function schema(caller: RequestCaller, args: object = {}, target = 'shop') {
  const { texts } = await ask(caller, args, target);
  return JSON.parse(String(texts[0]));
}

describe('the answer of get_schema', () => {
  it('[ease 4.1] can be read without counting', async () => {
    await agents.call('shop', 'place_order', ['a', { none: [] }]);
    const { types, tables, reducers, schedules } = await schema(ada);
    expect(tables.find((one: { name: string }) => one.name === 'order')).toEqual({
      name: 'order',
      access: 'public',
      rows: 1,
      doc: 'What was bought.',
      columns: {
        id: 'U64',
        code: 'String',
        status: 'Status',
        buyer: 'Identity?',
        place: 'Place',
        placed_at: 'Timestamp',
        tags: 'String[]',
      },
      column_docs: { status: 'Where it is on its way.' },
      primary_key: 'id',
      auto_increment: ['id'],
      unique: [['code']],
      indexes: [['placed_at']],
    });
    expect(types).toEqual([
      { name: 'Status', variants: ['pending', 'shipped'] },
      { name: 'Place', fields: { street: 'String', notes: 'Note[]' } },
      { name: 'Secret', variants: ['low', 'high'] },
      { name: 'Timer', fields: { 'id?': 'U64', at: 'ScheduleAt' } },
      { name: 'Note', variants: { text: 'String', hidden: '()' } },
    ]);
    expect(reducers).toContainEqual({
      name: 'place_order',
      callers: 'anyone',
      doc: 'Puts an order in.',
      params: { code: 'String', status: 'Status?' },
    });
    expect(reducers.map((one: { callers: string }) => one.callers)).toEqual([
      'anyone',
      'nobody: runs when the database is created',
      'the owner and developers',
    ]);
    expect(schedules).toEqual([{ runs: 'tick', table: 'timer', at: 'at' }]);
  });

  it('[ease 4.1] has no keys, indexes and row counts of what the caller may not read', async () => {
    const { tables } = await schema(bob);
    expect(tables.find((one: { name: string }) => one.name === 'vault')).toEqual({
      name: 'vault',
      access: 'private',
      columns: { id: 'U32', level: 'Secret' },
    });
  });

  it('[ease 4.1] [ease 3.12] shows the length of vectors', async () => {
    await agents.publish(
      'texts',
      `import { schema, t, table } from 'reducerdb/server';
      const text = table({ public: true }, {
        id: t.u64().primaryKey(),
        meaning: t.vector(384).index('vector', { metric: 'cosine' }),
        before: t.vector(3).optional(),
        weights: t.array(t.f32()),
      });
      export default schema({ text });`,
    );
    const columns = { id: 'U64', meaning: 'F32[384]', before: 'F32[3]?', weights: 'F32[]' };
    for (const caller of [ada, bob]) {
      expect((await schema(caller, {}, 'texts')).tables).toMatchObject([{ columns }]);
    }
  });

  it('[ease 4.1] names no type of what a limited token may not see', async () => {
    const database = agents.host.database('shop').identity;
    const limited = person(0x11n, {
      capability: {
        database,
        by: ada.identity,
        tables: ['order'],
        reducers: [],
        readOnly: false,
        sqlWrites: false,
      },
    });
    const { texts } = await ask(limited);
    expect(texts.join()).toContain('Status');
    for (const hidden of ['Secret', 'vault', 'Timer', 'place_order', 'tick']) {
      expect(texts.join()).not.toContain(hidden);
    }
  });

  it('[ease 4.1] shows one table or one reducer with the types that it uses', async () => {
    const one = await schema(ada, { table: 'vault' });
    expect(one.tables).toHaveLength(1);
    expect(one.reducers).toEqual([]);
    expect(one.types).toEqual([{ name: 'Secret', variants: ['low', 'high'] }]);
    const other = await schema(ada, { reducer: 'placeOrder' });
    expect(other.reducers).toMatchObject([{ name: 'place_order' }]);
    expect(await ask(ada, { table: 'vualt' })).toEqual({
      isError: true,
      texts: ['no such table: vualt', 'Did you mean `vault`?'],
    });
    expect((await ask(ada, { reducer: 'zzzzzzzzzzz' })).texts).toEqual([
      'no such reducer',
      'There is `place_order`, `started`, `tick`.',
    ]);
    expect((await ask(ada, { format: 'xml' })).isError).toBe(true);
  });

  it('[ease 4.1] gives the document of the HTTP endpoint with `format`', async () => {
    const raw = await schema(ada, { format: 'raw' });
    expect(Object.keys(raw)).toContain('typespace');
  });

  it('[ease 4.1] takes at most 25 tokens for a column, and names alone beyond 8,000', async () => {
    const columns = Array.from({ length: 40 }, (_, at) => `column_${at}: t.string()`).join(', ');
    const names = Array.from({ length: 50 }, (_, at) => `table_${at}`);
    const text = (count: number) => {
      const declared = names.slice(0, count);
      const tables = declared.map((name) => `const ${name} = table({}, { ${columns} });`);
      return `import { schema, t, table } from 'reducerdb/server';
        ${tables.join('\n')}
        export default schema({ ${declared.join(', ')} });`;
    };
    await agents.publish('wide', text(20));
    const [whole] = (await ask(ada, {}, 'wide')).texts;
    expect(utf8Length(String(whole)) / 4 / (20 * 40)).toBeLessThan(25);
    await agents.publish('wider', text(50));
    const { texts } = await ask(ada, {}, 'wider');
    const overview = JSON.parse(String(texts[0]));
    expect(utf8Length(texts.join())).toBeLessThan(limits.agentSchemaBytesMax);
    expect(overview.tables[0]).toEqual({
      name: 'table_0',
      access: 'private',
      rows: 0,
      columns: 40,
    });
    expect(texts[1]).toContain('`table`');
    const one = await schema(ada, { table: 'table_7' }, 'wider');
    expect(Object.keys(one.tables[0].columns)).toHaveLength(40);
  });
});

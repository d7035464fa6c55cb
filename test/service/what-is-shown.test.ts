import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rowsOf } from '../../src/protocol/row-list.ts';
import { type Person, Running } from './running.ts';
import type { SocketClient } from './socket-client.ts';
import { Guest } from './socket-guest.ts';
import { writtenFrom } from './written-module.ts';

/**
 * What a module is made of, as far as each caller is told. Every name of something private has a
 * word in it that is found nowhere else, and so do the sources.
 */
const module = `
  import { schema, t, table } from 'reducerdb/server';
  /** hush-doc of the table */
  const hushTable = table(
    { indexes: [{ accessor: 'byHushColumn', algorithm: 'btree', columns: ['hushColumn', 'id'] }] },
    { id: t.u64().primaryKey().autoInc(), hushColumn: t.string().unique() },
  );
  const hushRow = t.object('HushArgument', { hushField: t.u32() });
  const bulletin = table({ public: true }, { id: t.u64().primaryKey().autoInc(), title: t.string() });
  const db = schema({ bulletin, hushTable });
  export default db;
  export const bulletinFilter = db.clientVisibilityFilter.sql(
    "SELECT bulletin.* FROM bulletin JOIN hush_table ON bulletin.id = hush_table.id",
  );
  const hidden = { public: false } as unknown as { readonly public: true };
  export const hushView = db.anonymousView(hidden, t.array(hushTable.rowType), (ctx) => {
    return [...ctx.db.hushTable.iter()];
  });
  export const post = db.reducer({ title: t.string() }, (ctx, { title }) => {
    if (title === 'hush-comment') return;
    ctx.db.bulletin.insert({ id: 0n, title });
    ctx.db.hushTable.insert({ id: 0n, hushColumn: title });
  });
  /** hush-doc of the reducer */
  export const hushReducer = db.reducer({ one: hushRow }, () => undefined);
`;

let running: Running;
let owner: Person;
const people = new Map<string, Person | undefined>();
const open: SocketClient[] = [];

const kinds = ['anonymous', 'stranger', 'reader', 'developer', 'admin', 'owner'] as const;
const tokens = {
  'a token without lists': {},
  'a token for the public table': { tables: ['bulletin'], reducers: ['post'] },
  'a token for the private table': { tables: ['hush_table'] },
};
const callers = [...kinds, ...Object.keys(tokens)];
/** Who sees all of the module, and who sees the private table alone. */
const publishers = ['developer', 'admin', 'owner'];

function systemTables(): readonly string[] {
  const all = ['table', 'column', 'sequence', 'index', 'constraint', 'module', 'scheduled'];
  const views = ['view', 'view_column', 'row_level_security', 'event_table'];
  const names = [...all, ...views, 'table_accessor', 'index_accessor', 'column_accessor'];
  return names.map((name) => `st_${name}`);
}

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  const text = new TextDecoder().decode(await writtenFrom(module));
  const said = /visibility: ?reducer\.cron [^,]*"private",/;
  expect(text).toMatch(said);
  const saying = 'visibility: name.startsWith("hush") ? "private" : "clientCallable",';
  const program = new TextEncoder().encode(text.replace(said, saying));
  const { status, text: answer } = await running.upload('board', program, owner);
  expect([status, status === 200 ? '' : answer]).toEqual([200, '']);
  await running.call('board', 'post', ['one'], owner);
  for (const kind of kinds) {
    const person = kind === 'owner' ? owner : await running.person();
    people.set(kind, kind === 'anonymous' ? undefined : person);
    const isRole = kind === 'reader' || kind === 'developer' || kind === 'admin';
    if (isRole) await running.grant('board', kind, person, owner);
  }
  for (const [name, limits] of Object.entries(tokens)) {
    people.set(name, await running.agent('board', limits, owner));
  }
}, 120_000);
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => running.stop());

async function schema(caller: string, version: 9 | 10): Promise<string> {
  const as = people.get(caller);
  const { status, text } = await running.ask(
    'GET',
    `/v1/database/board/schema?version=${version}`,
    { as },
  );
  expect(status).toBe(200);
  return text;
}

const hush = (text: string) => [...new Set(text.match(/hush[\w-]*|byHush\w*/gi))].sort();

/** The text of all rows of a table, an error's instead, over HTTP and by the tool. */
async function shown(caller: string, statement: string): Promise<string> {
  const as = people.get(caller);
  const { text } = await running.sql('board', statement, as);
  return `${text}\n${await running.tool('board', 'sql', { sql: statement }, as)}`;
}

describe.each(callers)('[rulings 2.3] the program, shown to %s', (caller) => {
  const isPublisher = publishers.includes(caller);

  it('is its hash, and its bytes to those who may publish', async () => {
    const as = people.get(caller);
    const bytes = 'SELECT octet_length(program_bytes) AS n FROM st_module';
    const { status } = await running.sql('board', bytes, as);
    const isNamed = caller.includes('table');
    expect(status).toBe(isNamed ? 400 : 200);
    if (isNamed) return;
    const [[length] = []] = await running.rows('board', bytes, as);
    expect(Number(length) > 0).toBe(isPublisher);
    for (const aggregate of ['MAX(program_bytes)', 'COUNT(DISTINCT program_bytes)']) {
      const same = `SELECT ${aggregate} AS n FROM st_module WHERE octet_length(program_bytes) > 0`;
      const { status: found, text } = await running.sql('board', same, as);
      if (found === 200 && !isPublisher) expect(text).not.toMatch(/[0-9a-f]{40}/);
    }
    const hash = 'SELECT program_hash FROM st_module';
    const rows = await running.rows('board', hash, as);
    expect(rows).toEqual(await running.rows('board', hash, owner));
  });

  it('gives nobody else its text, in any answer', async () => {
    const as = people.get(caller);
    const query = 'SELECT * FROM st_module';
    const inHex = Buffer.from('hush-comment').toString('hex');
    const inBase64 = Buffer.from('hush-comment').toString('base64').slice(0, 12);
    const answers = [
      await shown(caller, query),
      await shown(caller, `EXPLAIN ANALYZE ${query}`),
      await schema(caller, 9),
      await schema(caller, 10),
      (await running.ask('GET', '/v1/database/board', { as })).text,
    ].join('\n');
    if (isPublisher) expect(answers).toContain(inHex);
    else for (const text of ['hush-comment', inHex, inBase64]) expect(answers).not.toContain(text);
  });

  it.each(['compression=None', 'compression=None&dialect=full'])(
    'is the same to who watches it, with %s',
    async (query) => {
      const as = people.get(caller);
      const headers: Record<string, string> =
        as === undefined ? {} : { authorization: `Bearer ${as.token}` };
      const guest = await Guest.arrive(running.service.url, 'board', { query, headers });
      open.push(guest.client);
      guest.subscribe(1, 1, 'SELECT * FROM st_module');
      guest.send({ kind: 'oneOffQuery', requestId: 2, query: 'SELECT * FROM st_module' });
      const comment = Buffer.from('hush-comment').toString('latin1');
      const applied = await guest.next();
      const { result } = await guest.expect('oneOffQueryResult');
      const sets = [
        ...(applied.kind === 'subscribeApplied' ? applied.tables : []),
        ...(result.kind === 'ok' ? result.tables : []),
      ];
      const told = sets.flatMap(({ rows }) =>
        Array.from(rowsOf(rows), (row) => Buffer.from(row).toString('latin1')),
      );
      expect(told.some((row) => row.includes(comment))).toBe(isPublisher);
    },
  );
});

describe.each(callers)('[auth 8] private declarations, shown to %s', (caller) => {
  const seesTable = ['reader', ...publishers].includes(caller);

  it('stand in no system table for those who may not read them', async () => {
    for (const table of systemTables().filter((name) => name !== 'st_module')) {
      const text = (await shown(caller, `SELECT * FROM ${table}`)).replaceAll(
        // The name of the statement's own table is no finding.
        /no such table: `?\w+`?/g,
        '',
      );
      if (!seesTable) expect([table, hush(text)]).toEqual([table, []]);
    }
    const names = await shown(caller, 'SELECT table_name FROM st_table');
    if (seesTable) expect(hush(names)).toEqual(['hush_table', 'hush_view']);
  });

  it('stand in the schema as far as the interface says', async () => {
    const isWhole = !caller.startsWith('a token');
    for (const version of [9, 10] as const) {
      const text = await schema(caller, version);
      const ask = (args: object) => running.tool('board', 'get_schema', args, people.get(caller));
      const tool = await ask({ format: 'raw' });
      const plain = await ask({});
      for (const one of version === 9 ? [text, tool, plain] : [text]) {
        const found = hush(one).map((word) => word.toLowerCase());
        const has = (part: RegExp) => found.some((word) => part.test(word));
        const isListed = caller === 'a token for the private table';
        expect([caller, has(/hush_?column/)]).toEqual([caller, isWhole || isListed]);
        expect(has(/hush_?reducer|hush_?argument|hush_?field/)).toBe(publishers.includes(caller));
        expect(has(/hush_?view/)).toBe(seesTable);
        const hasIndexes =
          one === plain
            ? /"hush_table"[^}]*}[^{}]*"primary_key"/.test(one)
            : /btree/i.test(one) && has(/hush_table_.*(idx|key)/);
        expect(hasIndexes).toBe(seesTable || isListed);
        expect(/JOIN hush_table/.test(one)).toBe(seesTable);
      }
    }
  });

  it('come with the words of their author only for those who may use them', async () => {
    const where = '/v1/database/board/mcp';
    const body = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'prompts/get' },
      params: { name: 'explore_database', arguments: {} },
    });
    const headers = { 'content-type': 'application/json' };
    const { text } = await running.ask('POST', where, { as: people.get(caller), body, headers });
    const isListed = caller === 'a token for the private table';
    expect(/hush-doc of the table/.test(text)).toBe(seesTable || isListed);
    expect(/hush-doc of the reducer/.test(text)).toBe(publishers.includes(caller));
  });

  it('are not counted, neither by sequences nor by statistics', async () => {
    const as = people.get(caller);
    const statement = 'SELECT sequence_name, allocated FROM st_sequence ORDER BY sequence_name';
    const before = await shown(caller, statement);
    const ask = () =>
      running.toolAt('/v1/database/board/mcp?features=explain', 'table_statistics', {}, as);
    const statistics = await ask();
    await running.call('board', 'post', [`more for ${caller}`], owner);
    const plain = (text: string) => text.replaceAll(/(total_duration_micros|offset)\\?":\d+/g, '');
    const isChanged = plain(await shown(caller, statement)) !== plain(before);
    if (!caller.includes('table')) expect(isChanged).toBe(seesTable);
    if (seesTable || caller === 'a token for the private table') return;
    expect(hush(statistics)).toEqual([]);
  });
});

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { connect } from '../../src/client/index.ts';
import { encodeClientMessage } from '../../src/protocol/v1/client-message.ts';
import { openTestDatabase } from '../../src/testing/index.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import type * as house from '../fixtures/submodules/house.ts';
import { Sandbox } from './harness.ts';
import { type Person, Running } from './running.ts';
import { expectV1, SocketClient } from './socket-client.ts';
import { Guest } from './socket-guest.ts';
import { writtenFrom } from './written-module.ts';

const file = fileURLToPath(new URL('../fixtures/submodules/house.ts', import.meta.url));
const put = 'library.front_desk.put_item';
const items = 'SELECT label FROM library.front_desk.item ORDER BY label';

let running: Running;
let owner: Person;
let program: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  program = new Uint8Array((await buildModule(file)).program);
});
afterAll(() => running.stop());

let made = 0;
async function freshHouse(): Promise<string> {
  made += 1;
  const { status, text } = await running.upload(`house-${made}`, program, owner);
  expect([status, status === 200 ? '' : text]).toEqual([200, '']);
  return `house-${made}`;
}

/** The arguments of `put_item`, encoded: a kind is one byte. */
function itemArguments(label: string, kind: 0 | 1): Uint8Array {
  const writer = new BinaryWriter();
  writer.string(label);
  writer.u8(kind);
  return writer.finish();
}

describe('a module in a module', () => {
  it('[module-sdk 11, module-def 9] is called over HTTP by dotted names', async () => {
    const name = await freshHouse();
    const done = await running.call(name, put, ['lamp', { parcel: [] }]);
    expect([done.status, done.text]).toEqual([200, '1']);
    const byName = { title: 'Emma', kind: { name: 'novel', shelf: 2 } };
    expect(await running.call(name, 'library.shelve', byName)).toMatchObject({ status: 200 });
    expect((await running.call(name, 'library.count', [])).text).toBe('2');
    expect(await running.call(name, 'library.shelve', { ...byName, title: '' })).toMatchObject({
      status: 530,
      text: 'a book has a title',
    });
    for (const wrong of ['put_item', 'front_desk.put_item', 'library.put_item', 'library.', '.']) {
      expect((await running.call(name, wrong, [])).status, wrong).toBe(404);
    }
    const fault = await running.call(name, put, [5, 5]);
    expect([fault.status, fault.text]).toEqual([
      400,
      expect.stringContaining('invalid arguments for reducer library.front_desk.put_item'),
    ]);
  });

  it('[living 1.1, module-sdk 11] has schedules of its own', async () => {
    const bedroom = fileURLToPath(new URL('../fixtures/submodules/bedroom.ts', import.meta.url));
    const built = new Uint8Array((await buildModule(bedroom)).program);
    const { status, text } = await running.upload('bedroom', built, owner);
    expect([status, status === 200 ? '' : text]).toEqual([200, '']);
    expect((await running.call('bedroom', 'go_to_bed', [])).status).toBe(200);
    const rung = () => running.rows('bedroom', 'SELECT text FROM clock.rung');
    await expect.poll(rung).toEqual([['get up']]);
    expect((await running.call('bedroom', 'clock.set_alarm', ['again'])).status).toBe(200);
    await expect.poll(rung).toEqual([['get up'], ['again']]);
    const where = '/v1/database/bedroom/schedules';
    const { schedules } = JSON.parse((await running.ask('GET', where, { as: owner })).text);
    expect(schedules).toMatchObject([
      { name: 'clock.alarm', function: 'clock.ring', armed_rows: 0, runs: 2, failures: 0 },
    ]);
  });

  it('[module-sdk 11] is called by the module that mounts it, in one transaction', async () => {
    const name = await freshHouse();
    expect((await running.call(name, 'furnish', ['Emma'], owner)).status).toBe(200);
    expect(await running.rows(name, items)).toEqual([['Emma']]);
    expect((await running.messages(name, owner)).join('\n')).toContain('true 1');
    // The title is taken at the desk, so the book is not on the shelf either.
    await running.call(name, put, ['Persuasion', { letter: [] }]);
    expect((await running.call(name, 'furnish', ['Persuasion'])).status).toBe(530);
    expect(await running.rows(name, 'SELECT title FROM library.book')).toEqual([['Emma']]);
  });

  it('[module-def 9] has its names in SQL, quoted or not', async () => {
    const name = await freshHouse();
    await running.call(name, put, ['lamp', { parcel: [] }]);
    for (const table of ['library.front_desk.item', '"library"."front_desk"."item"']) {
      expect(await running.rows(name, `SELECT label FROM ${table}`)).toEqual([['lamp']]);
    }
    expect(await running.rows(name, 'SELECT label FROM library.front_desk.labelled')).toEqual([
      ['lamp'],
    ]);
    await running.call(name, 'library.shelve', ['Emma', { name: 'novel', shelf: 2 }]);
    const renamed = "UPDATE library.book SET title = 'Emma!' WHERE library.book.title = 'Emma'";
    expect((await running.sql(name, renamed, owner)).status).toBe(200);
    expect(await running.rows(name, 'SELECT title FROM library.my_books')).toEqual([['Emma!']]);
    const listed = "SELECT table_name FROM st_table WHERE table_name LIKE 'library.%'";
    const names = (await running.rows(name, listed, owner)).flat().sort();
    expect(names).toEqual([
      'library.book',
      'library.front_desk.drawer',
      'library.front_desk.item',
      'library.front_desk.labelled',
      'library.my_books',
    ]);
  });

  it.each(['v2.bsatn.spacetimedb', 'v3.bsatn.spacetimedb'])(
    '[module-def 9] is called and watched over WebSocket, %s',
    async (protocol) => {
      const name = await freshHouse();
      const protocols = [protocol];
      const guest = await Guest.arrive(running.service.url, name, { protocols });
      guest.subscribe(1, 1, 'SELECT * FROM library.front_desk.item');
      await guest.expect('subscribeApplied');
      const args = itemArguments('lamp', 1);
      guest.send({ kind: 'callReducer', requestId: 2, reducer: put, args });
      expect(await guest.expect('reducerResult')).toMatchObject({
        requestId: 2,
        outcome: { kind: 'ok' },
      });
      expect(await running.rows(name, items)).toEqual([['lamp']]);
      await guest.client.close();
    },
  );

  it.each(['v1.bsatn.spacetimedb', 'v1.json.spacetimedb'])(
    '[module-def 8] has numbers behind those of the root, %s',
    async (protocol) => {
      const name = await freshHouse();
      const protocols = [protocol];
      const one = await SocketClient.open(running.service.url, name, { protocols });
      const isText = protocol.startsWith('v1.json');
      if (isText) {
        await one.frame();
        const args = JSON.stringify(['lamp', { parcel: [] }]);
        const call = { reducer: put, args, request_id: 1, flags: 0 };
        one.send(JSON.stringify({ CallReducer: call }));
        const { TransactionUpdate: update } = JSON.parse(String((await one.frame()).bytes));
        expect(update.reducer_call).toMatchObject({ reducer_name: put, reducer_id: 4 });
        expect(JSON.parse(update.reducer_call.args)).toEqual(['lamp', { parcel: [] }]);
      } else {
        await expectV1(one, 'identityToken');
        const args = itemArguments('lamp', 1);
        const call = { kind: 'callReducer', requestId: 1, reducer: put, args } as const;
        one.send(encodeClientMessage({ ...call, notifySuccess: true }));
        const { call: told } = await expectV1(one, 'transactionUpdate');
        expect(told).toMatchObject({ reducer: put, reducerId: 4 });
      }
      expect(await running.rows(name, items)).toEqual([['lamp']]);
      await one.close();
    },
  );

  it('[client-sdk 8] is nested for clients that are typed by the module', async () => {
    const database = await freshHouse();
    const client = connect<typeof house>({ uri: running.service.url, database });
    await new Promise<void>((onApplied) => {
      client.subscribe([(q) => q.library.frontDesk.item, (q) => q.library.book], { onApplied });
    });
    const { library } = client.reducers;
    expect(await library.frontDesk.putItem({ label: 'lamp', kind: { tag: 'Parcel' } })).toBe(1n);
    await client.reducers.furnish({ title: 'Emma' });
    const refused = await library
      .shelve({ title: '', kind: { name: 'a', shelf: 1 } })
      .catch(String);
    expect(refused).toContain('a book has a title');
    expect([...client.db.library.frontDesk.item].map(({ label }) => label).sort()).toEqual([
      'Emma',
      'lamp',
    ]);
    expect(client.db.library.book.title.find('Emma')?.kind).toEqual({ name: 'novel', shelf: 3 });
    client.disconnect();
  });

  it('[mcp B2, module-def 9] is there for agents: schema, calls, typed tools', async () => {
    const name = await freshHouse();
    expect(await running.tool(name, 'get_schema', {}, owner)).toContain(put);
    const args = ['lamp', { parcel: [] }];
    expect(await running.tool(name, 'call', { reducer: put, args }, owner)).toBe(
      `reducer '${put}' committed`,
    );
    expect(await running.tool(name, 'sql', { sql: items }, owner)).toContain('lamp');
    const where = `/v1/database/${name}/mcp?features=typed-reducers`;
    const shelved = { title: 'Emma', kind: { name: 'novel', shelf: 2 } };
    expect(await running.toolAt(where, 'library.shelve', shelved, owner)).toContain('committed');
    expect(await running.rows(name, items)).toEqual([['Emma'], ['lamp']]);
  });

  it('[module-def 9] limited tokens list what is inside by full names, and see no more', async () => {
    const name = await freshHouse();
    const limits = { tables: ['library.front_desk.item'], reducers: [put] };
    const agent = await running.agent(name, limits, owner);
    expect((await running.call(name, put, ['lamp', { parcel: [] }], agent)).status).toBe(200);
    const shelved = ['Emma', { name: 'novel', shelf: 2 }];
    expect((await running.call(name, 'library.shelve', shelved, agent)).status).toBe(404);
    expect(await running.rows(name, items, agent)).toEqual([['lamp']]);
    expect((await running.sql(name, 'SELECT * FROM library.book', agent)).status).toBe(400);
    const where = `/v1/database/${name}/schema?version=10`;
    const { text } = await running.ask('GET', where, { as: agent });
    expect(text).toContain('"putItem"');
    for (const hidden of ['book', 'shelve', 'drawer', 'furnish', 'rooms', 'labelled']) {
      expect(text).not.toContain(hidden);
    }
    const outsider = await running.agent(name, { tables: ['room'], reducers: [] }, owner);
    const seen = await running.ask('GET', where, { as: outsider });
    expect(seen.text).not.toContain('library');
  });

  it('[module-def 9] keeps its rows when the program is updated, and after a restart', async () => {
    const name = await freshHouse();
    await running.call(name, put, ['lamp', { parcel: [] }]);
    expect((await running.upload(name, program, owner)).status).toBe(200);
    await running.pause();
    running = await Running.start({ dataDirectory: running.folder });
    expect(await running.rows(name, items)).toEqual([['lamp']]);
    expect((await running.call(name, put, ['rug', { letter: [] }])).text).toBe('2');
  });

  it('[module-sdk 11] runs in a test database', async () => {
    const db = await openTestDatabase({ module: file });
    expect(await db.call(put, { label: 'lamp', kind: { tag: 'parcel' } })).toBe(1n);
    expect(await db.query(items)).toEqual([{ label: 'lamp' }]);
    await db.close();
  });

  it('[cli 3.1, module-def 9] takes arguments of the command line by its types', async () => {
    const name = await freshHouse();
    const sandbox = await Sandbox.make();
    const run = (...words: string[]) =>
      sandbox.run(['call', '--server', running.service.url, '--anonymous', name, ...words]);
    expect(await run(put, 'lamp', '{"parcel":[]}')).toMatchObject({ code: 0 });
    expect(await running.rows(name, items)).toEqual([['lamp']]);
    const wrong = await run(put, 'lamp');
    expect(wrong.stderr).toContain(`${put}(label: String, kind: letter | parcel)`);
    sandbox.remove();
  });
});

describe('what a submodule cannot have', () => {
  const refusal = async (inner: string, more = ''): Promise<string> => {
    const text = await writtenFrom(`
      import { Router, schema, SyncResponse, t, table } from 'reducerdb/server';
      const line = table({ public: true }, { text: t.string() });
      const lines = schema({ line });
      ${inner}
      const db = schema({ line, lines: { default: lines, inner: typeof inner === 'undefined' ? 0 : inner ${more} } });
      export default db;
    `);
    const answer = await running.upload(`refused-${made++}`, text, owner);
    return answer.status === 200 ? '' : answer.text;
  };

  it('[module-sdk 11, module-def 6.2] lifecycle reducers', async () => {
    expect(await refusal('const inner = lines.init(() => {});')).toContain(
      'lifecycle event Init is not permitted in submodule under namespace `lines`',
    );
  });

  it('[module-sdk 11, living 2.9] but procedures, which go by their full names', async () => {
    const inner = `const inner = lines.procedure(t.u64(), (ctx) => {
      ctx.withTx((tx) => tx.db.line.insert({ text: 'a' }));
      return ctx.read(({ db: tables }) => tables.line.count());
    });`;
    expect(await refusal(inner)).toBe('');
    const { status, text } = await running.call(`refused-${made - 1}`, 'lines.inner', []);
    expect([status, text]).toEqual([200, '1']);
    const where = `refused-${made - 1}`;
    expect(await running.rows(where, 'SELECT COUNT(*) AS n FROM lines.line')).toEqual([[1]]);
  });

  it('[module-sdk 11] routes are ignored, and the log says so', async () => {
    const handler = "const inner = lines.httpHandler(() => new SyncResponse('x'));";
    const router = ", routes: lines.httpRouter(new Router().get('/a', inner))";
    expect(await refusal(handler, router)).toBe('');
    const said = await running.messages(`refused-${made - 1}`, owner);
    expect(said.join('\n')).toContain(
      "The submodule under namespace 'lines' registers HTTP routes",
    );
    const { status } = await running.ask('GET', `/v1/database/refused-${made - 1}/route/a`);
    expect(status).toBe(404);
  });

  it('[module-sdk 11] row filters of tables that are not its own', async () => {
    const filter = (text: string) =>
      refusal(`const inner = lines.clientVisibilityFilter.sql('${text}');`);
    expect(await filter('SELECT * FROM line')).toContain(
      'Submodule `lines` can filter its own tables only. Write their full names, such as lines.NAME.',
    );
    expect(await filter('SELECT * FROM lines.line')).toBe('');
  });
});

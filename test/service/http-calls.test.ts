import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openInn } from './inn.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

let running: Running;
let owner: Person;
let stranger: Person;

beforeAll(async () => {
  ({ running, owner, stranger } = await openInn());
});
afterAll(() => running.stop());

describe('calling a reducer', () => {
  it('[http 9.2, 2.2] that commits is an empty 200 with its duration', async () => {
    const { status, text, headers } = await running.call('inn', 'add_person', ['Ann'], stranger);
    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
    expect(headers.get('spacetime-energy-used')).toMatch(/^\d+$/);
    const rows = await running.rows('inn', "SELECT name, guest FROM person WHERE name = 'Ann'");
    expect(rows).toEqual([['Ann', [`0x${stranger.identity}`]]]);
  });

  it('[http 9.3] takes arguments by name', async () => {
    expect((await running.call('inn', 'add_person', { name: 'Bea' })).status).toBe(200);
  });

  it('[http 9.2] that refuses is a 530 with its words, and leaves nothing', async () => {
    const { status, text } = await running.call('inn', 'refuse', ['no room']);
    expect({ status, text }).toEqual({ status: 530, text: 'no room' });
    expect(await running.rows('inn', "SELECT id FROM visit WHERE what = 'never seen'")).toEqual([]);
  });

  it('[http 9.2] that crashes is a 530 that says nothing more; the log does', async () => {
    const { status, text } = await running.call('inn', 'crash', []);
    expect({ status, text }).toEqual({
      status: 530,
      text: 'The instance encountered a fatal error.',
    });
    const logs = await running.ask('GET', '/v1/database/inn/logs', { as: owner });
    const panic = logs.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .find(({ level }) => level === 'Panic');
    expect(panic.message).toContain('the cellar is on fire');
    expect(JSON.stringify(panic.trace)).toContain('src/index.ts:');
  });

  it('[ease 5.4] that crashes tells those on this machine why who may read the log', async () => {
    const crash = (as: Person, more: Record<string, string> = {}) => {
      const headers = { 'content-type': 'application/json', ...more };
      return running.ask('POST', '/v1/database/inn/call/crash', { as, body: '[]', headers });
    };
    const fatal = 'The instance encountered a fatal error.';
    const { status, text } = await crash(owner);
    expect(status).toBe(530);
    expect(text).toMatch(
      /^The instance encountered a fatal error\.\nhint: Uncaught Error: the cellar is on fire, at src\/index\.ts:\d+:\d+$/,
    );
    expect((await crash(stranger)).text).toBe(fatal);
    expect((await crash(owner, { 'x-forwarded-for': '127.0.0.1' })).text).toBe(fatal);
  });

  it.each([
    ['nothing', [], 404, /^No such procedure\nhint: There is `/],
    ['AddPerson', ['x'], 404, /^No such procedure\nhint: Did you mean `add_person`\?$/],
    ['set_up', [], 400, /^can't directly call special Init lifecycle reducer$/],
    ['arrive', [], 400, /^can't directly call special OnConnect lifecycle reducer$/],
    ['leave', [], 400, /^can't directly call special OnDisconnect lifecycle reducer$/],
    ['add_person', [], 400, /^invalid arguments for reducer add_person: /],
    ['add_person', [1], 400, /^invalid arguments for reducer add_person: /],
    ['add_person', ['a', 'b'], 400, /^invalid arguments for reducer add_person: /],
    ['add_person', { nom: 'x' }, 400, /^invalid arguments for reducer add_person: /],
  ])('[http 9.2] %s(%j) is a %i', async (name, args, status, text) => {
    const answer = await running.call('inn', name, args);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
  });

  it('[http 9.4] keeps every digit of wide numbers, in and out', async () => {
    const max = (bits: bigint) => (1n << bits) - 1n;
    const args = `[${max(64n)}, -${max(100n)}, "0x${max(256n).toString(16)}", "0001feff", null, 0.1]`;
    expect((await running.call('inn', 'add_wide', args)).status).toBe(200);
    const { text } = await running.sql(
      'inn',
      'SELECT big, huge, widest, bytes, maybe, ratio FROM wide',
    );
    expect(text).toContain(
      `"rows":[[${max(64n)},-${max(100n)},"0x${max(256n).toString(16)}","0001feff",[1,[]],0.1]]`,
    );
  });

  it('[http 9.1] runs the hooks around it, with the caller known to the module', async () => {
    await running.call('inn', 'count_visit', [], owner);
    expect(
      await running.rows('inn', "SELECT what FROM visit WHERE what = 'visit by localhost'"),
    ).not.toHaveLength(0);
    const banned = await running.person();
    expect((await running.call('inn', 'ban_me', [], banned)).status).toBe(200);
    expect(await running.call('inn', 'count_visit', [], banned)).toMatchObject({
      status: 403,
      text: 'you are banned',
    });
    expect(await running.call('inn', 'nothing', [], banned)).toMatchObject({ status: 403 });
    expect(await running.sql('inn', 'SELECT * FROM visit', banned)).toMatchObject({
      status: 403,
      text: 'you are banned',
    });
  });

  it('[http 9.2] that nobody knows, or with wrong arguments, is told to the log', async () => {
    await running.call('inn', 'nothing_at_all', []);
    await running.call('inn', 'add_person', [1]);
    const lines = (await running.messages('inn', owner)).join('\n');
    expect(lines).toContain(
      'Error: External attempt to call nonexistent reducer "nothing_at_all" failed. ',
    );
    expect(lines).toContain(
      'Error: External attempt to call nonexistent procedure "nothing_at_all" failed. ',
    );
    expect(lines).toMatch(
      /Error: External attempt to call reducer "add_person" failed, invalid arguments\.\n./,
    );
  });

  it.each<[name: string, args: unknown[], status: number, hasRun: boolean]>([
    ['count_visit', [], 200, true],
    ['refuse', ['no'], 530, true],
    ['crash', [], 530, true],
    ['nothing', [], 404, false],
    ['add_person', [], 400, false],
    ['set_up', [], 400, false],
  ])('[http 2.2] by %s(%j), a %i, says what it took: %s', async (name, args, status, hasRun) => {
    const answer = await running.call('inn', name, args);
    expect(answer.status).toBe(status);
    expect(answer.headers.has('spacetime-energy-used')).toBe(hasRun);
    expect(answer.headers.has('spacetime-execution-duration-micros')).toBe(hasRun);
  });

  it('[http 9.2] that takes too long is a 402, which says in a header why', async () => {
    const slow = await Running.start({ budget: { callMillisMax: 1_000 } });
    const as = await slow.person();
    const module = await written({
      tables: {},
      exports: `
      export const spin = db.reducer(() => { for (;;); });
    `,
    });
    expect((await slow.upload('slow', module, as)).status).toBe(200);
    const { status, text, headers } = await slow.call('slow', 'spin', []);
    expect(status).toBe(402);
    expect(text).toMatch(/^Module energy budget exhausted\.\nhint: .*1000 ms/);
    expect(headers.get('spacetime-energy-used')).toMatch(/^\d+$/);
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
    expect(decodeURI(headers.get('reducerdb-error-hint') ?? '')).toContain('1000 ms');
    expect((await slow.call('slow', 'which', [])).text).toBe('one');
    const logs = await slow.ask('GET', '/v1/database/slow/logs', { as });
    const [line] = logs.text.split('\n').filter((text) => text.includes('"function":"spin"'));
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 'Error',
      message: 'The call ran longer than 1000 ms and was stopped.',
    });
    await slow.stop();
  });

  it.each([
    ['{"name":"a","name":"b"}', /./],
    ['{"name":"a","more":1}', /./],
    [
      '{"more":1}',
      /there is no parameter `more`; (?:did you mean `name`\? )?the parameters are `name`/,
    ],
    ['{}', /./],
    ['"a"', /./],
    ['["a",]', /^Failed to parse/],
    ['[["a"]]', /\[0\] `name`: a list is not a string; e\.g\. "text"/],
    ['[null]', /\[0\] `name`: null is not a string; e\.g\. "text"/],
  ])('[http 9.3] with the arguments %s is a 400', async (args, text) => {
    const answer = await running.call('inn', 'add_person', args);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(text);
    expect(answer.text).toMatch(/^(invalid arguments for reducer add_person: |Failed to parse)/);
  });

  it.each([
    ['[1,2,"z","00",null,0]', 'a u256 that is no number'],
    ['["1.0",2,"0x3","00",null,0]', 'a fraction as a string'],
    ['[1.5,2,"0x3","00",null,0]', 'an integer with a fraction'],
    ['[-1,2,"0x3","00",null,0]', 'below zero'],
    ['[18446744073709551616,2,"0x3","00",null,0]', 'over 64 bits'],
    ['[1,2,"0x3","0g",null,0]', 'bytes that are not hex'],
    ['[1,2,"0x3","00",7,0]', 'a bare value of another type for an option'],
    ['[1,2,"0x3","00",null,"0"]', 'a float as a string'],
  ])('[http 9.3] does not take %s: %s', async (args) => {
    const answer = await running.call('inn', 'add_wide', args);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/^invalid arguments for reducer add_wide: /);
  });

  it.each([
    '[1,-2,"0x3","00ff",{"some":"a"},0.5]',
    '[1,-2,"0x3",[0,255],{"0":"a"},1]',
    '[1,-2,"0x3","00ff",["some","a"],1e3]',
    '[1,-2,"0x3","00ff",[0,"a"],-0.0]',
    '[1,-2,"0x3","00ff",{"none":[]},0]',
    '[1,-2,"0x3","00ff",{"none":{}},0]',
    '[1,-2,"0x3","00ff",null,0]',
    '{"ratio":1,"maybe":null,"bytes":"","widest":"0x0","huge":0,"big":0}',
  ])('[http 9.3] takes %s', async (args) => {
    expect((await running.call('inn', 'add_wide', args)).status).toBe(200);
  });

  it('[ease 2.1] calls by the name that the module gave, too', async () => {
    expect((await running.call('inn', 'addPerson', ['by its other name'])).status).toBe(200);
  });

  it.each([
    ['1.1', '["9007199254740993","-2",3,"00ff",null,0]'],
    ['1.3', '[1,-2,"3","00ff","bare","-Infinity"]'],
    ['1.5', '{"RATIO":1,"bytes":"","widest":"0x0","huge":0,"big":0}'],
  ])('[ease %s] takes %s', async (_, args) => {
    expect((await running.call('inn', 'add_wide', args)).status).toBe(200);
  });

  it('[http 9.4] writes sums with their tag, bytes as hex, no number as null', async () => {
    const floats = await written({
      tables: { odd: '{ public: true }, { id: t.u8().primaryKey(), n: t.f64() }' },
      exports: `export const fill = db.reducer((ctx) => {
        [NaN, Infinity, -Infinity, 0.5].forEach((n, id) => ctx.db.odd.insert({ id, n }));
      });`,
    });
    await running.upload('floats', floats, owner);
    await running.call('floats', 'fill', []);
    expect(await running.rows('floats', 'SELECT n FROM odd ORDER BY id')).toEqual([
      [null],
      [null],
      [null],
      [0.5],
    ]);
  });

  it('[http 9.1] goes on when the client has gone', async () => {
    const slow = `export const slow = db.reducer((ctx) => {
      for (let at = 0; at < 300_000_000; at += 1);
      ctx.db.item.insert({ id: 1 });
    });`;
    const table = '{ public: true }, { id: t.u32().primaryKey() }';
    await running.upload('slow', await written({ tables: { item: table }, exports: slow }), owner);
    const sent = fetch(`${running.service.url}/v1/database/slow/call/slow`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '[]',
      signal: AbortSignal.timeout(50),
    });
    await expect(sent).rejects.toThrow();
    const ids = () => running.rows('slow', 'SELECT id FROM item');
    await expect.poll(ids, { timeout: 10_000 }).toEqual([[1]]);
  });

  it('[durability 2.1, W3, D3] waits for the disk when asked to, SQL unless told not to', async () => {
    const { handle } = running.service.host.database('inn');
    const [calls, queries] = [vi.spyOn(handle, 'call'), vi.spyOn(handle, 'query')];
    for (const query of ['', '?confirmed=true', '?confirmed=false']) {
      await running.call('inn', `count_visit${query}`, []);
      await running.ask('POST', `/v1/database/inn/sql${query}`, { body: 'SELECT id FROM visit' });
    }
    await running.tool('inn', 'call', { reducer: 'count_visit' });
    await running.tool('inn', 'sql', { sql: 'SELECT id FROM visit' });
    const confirmed = {
      calls: calls.mock.calls.map(([call]) => call.confirmed),
      queries: queries.mock.calls.map(([query]) => query.confirmed),
    };
    for (const spy of [calls, queries]) spy.mockRestore();
    expect(confirmed).toEqual({
      calls: [false, true, false, false],
      queries: [true, true, false, true],
    });
  });

  it('[http 15, durability W3] that was answered with 200 is seen by the next one, whoever asks', async () => {
    for (let at = 0; at < 20; at += 1) {
      await running.call('inn', 'add_person', [`Next${at}`], owner);
      const seen = await running.rows('inn', `SELECT name FROM person WHERE name = 'Next${at}'`);
      expect(seen).toEqual([[`Next${at}`]]);
    }
  });
});

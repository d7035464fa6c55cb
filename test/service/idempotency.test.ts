import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeTurns } from '../support/share.ts';
import { type Person, Running } from './running.ts';
import { type Program, written } from './written-module.ts';

const tables = { tally: '{ public: true }, { name: t.string().primaryKey(), count: t.u32() }' };
const moduleOf = (returns: string, value: string) =>
  written({
    tables,
    exports: `
      export const add = db.reducer({ returns: ${returns} }, { name: t.string() }, (ctx, { name }) => {
        const row = ctx.db.tally.name.find(name);
        if (row === null || row === undefined) ctx.db.tally.insert({ name, count: 1 });
        else ctx.db.tally.name.update({ name, count: row.count + 1 });
        const count = (row?.count ?? 0) + 1;
        return ${value};
      });
      export const long = db.reducer({ returns: t.string() }, { length: t.u32() }, (ctx, { length }) => {
        ctx.db.tally.insert({ name: 'long', count: length });
        return 'x'.repeat(length);
      });
      export const wait = db.procedure(t.u32(), () => 1);`,
  });

let numbers: Program;
let texts: Program;
beforeAll(async () => {
  numbers = await moduleOf('t.u32()', 'count');
  texts = await moduleOf('t.string()', 'String(count)');
});

describe.each(['thread', 'process'] as const)('calls with a key in a %s', (isolation) => {
  let running: Running;
  let owner: Person;
  let ann: Person;
  let count = 0;

  beforeAll(async () => {
    running = await Running.start({ isolation: { everywhere: isolation } });
    owner = await running.person();
    ann = await running.person();
  });
  afterAll(() => running.stop());

  const upload = async (name: string, program: Program) => {
    const { status, text } = await running.upload(name, program, owner);
    if (status !== 200) throw new Error(text);
  };
  const fresh = async () => {
    const name = `keyed-${count++}`;
    await upload(name, numbers);
    return name;
  };
  const keyed = async (
    database: string,
    key: string,
    args: unknown,
    { as = ann, reducer = 'add' }: { as?: Person | 'nobody'; reducer?: string } = {},
  ): Promise<readonly [number, string]> => {
    const { status, text } = await running.ask('POST', `/v1/database/${database}/call/${reducer}`, {
      as: as === 'nobody' ? undefined : as,
      body: JSON.stringify(args),
      headers: {
        'content-type': 'application/json',
        'idempotency-key': Buffer.from(key).toString('latin1'),
      },
    });
    return [status, text];
  };
  const tallies = (database: string) => running.rows(database, 'SELECT name, count FROM tally');

  it('[ease 4.11] run once over HTTP and MCP together, and give the value again', async () => {
    const database = await fresh();
    expect(await keyed(database, 'ü-1', ['a'])).toEqual([200, '1']);
    expect(await keyed(database, 'ü-1', { name: 'a' })).toEqual([200, '1']);
    const call = { reducer: 'add', args: ['a'], idempotency_key: 'ü-1' };
    expect(await running.tool(database, 'call', call, ann)).toBe("reducer 'add' committed");
    expect(await tallies(database)).toEqual([['a', 1]]);
    const other = { ...call, idempotency_key: 'other' };
    await running.tool(database, 'call', other, ann);
    await running.tool(database, 'call', other, ann);
    expect(await tallies(database)).toEqual([['a', 2]]);
  });

  it('[ease 4.11] are a 422 with other arguments', async () => {
    const database = await fresh();
    await keyed(database, 'k', ['a']);
    const words =
      'The idempotency key "k" belongs to a call of add with other arguments; nothing was done. ' +
      'Use a new key for each new call';
    expect(await keyed(database, 'k', ['b'])).toEqual([422, words]);
    const call = { reducer: 'add', args: ['b'], idempotency_key: 'k' };
    expect(await running.tool(database, 'call', call, ann)).toBe(words);
    expect(await tallies(database)).toEqual([['a', 1]]);
  });

  it('[ease 4.11] need a key of 1 to 128 bytes, a token, and a reducer', async () => {
    const database = await fresh();
    const form = 'An idempotency key has 1 to 128 bytes, without control characters';
    expect(await keyed(database, 'x'.repeat(129), ['a'])).toEqual([400, form]);
    expect(await keyed(database, '', ['a'])).toEqual([400, form]);
    expect((await keyed(database, 'x'.repeat(128), ['a']))[0]).toBe(200);
    const [status, text] = await keyed(database, 'k', ['a'], { as: 'nobody' });
    expect([status, text.startsWith('An idempotency key needs a caller with a token')]).toEqual([
      400,
      true,
    ]);
    expect(await keyed(database, 'k', [], { reducer: 'wait' })).toEqual([
      400,
      'A procedure cannot be called with an idempotency key: only outcomes of reducers are kept',
    ]);
  });

  it('[ease 4.11] keep values up to 64 KiB, and change nothing beyond', async () => {
    const database = await fresh();
    // Four bytes are the length of the text.
    const most = 64 * 1024 - 4;
    const [status, text] = await keyed(database, 'k', [most + 1], { reducer: 'long' });
    expect([status, text]).toEqual([
      422,
      'long returned 65537 bytes, and at most 65536 are kept under an idempotency key; nothing ' +
        'was changed. Call without a key',
    ]);
    expect(await tallies(database)).toEqual([]);
    const first = await keyed(database, 'k', [most], { reducer: 'long' });
    expect(first).toEqual([200, JSON.stringify('x'.repeat(most))]);
    expect(await keyed(database, 'k', [most], { reducer: 'long' })).toEqual(first);
  });

  it('[ease 4.11] give the value after a publish, unless its type is another one', async () => {
    const database = await fresh();
    await keyed(database, 'k', ['a']);
    await upload(database, texts);
    const [status, text] = await keyed(database, 'k', ['a']);
    expect([status, text.includes('the type that add returns has changed since')]).toEqual([
      422,
      true,
    ]);
    await upload(database, numbers);
    expect(await keyed(database, 'k', ['a'])).toEqual([200, '1']);
    expect(await tallies(database)).toEqual([['a', 1]]);
  });

  it('[ease 4.11] are refused to who has lost the right to call', async () => {
    const database = await fresh();
    const can = await running.agent(database, { reducers: ['add'] }, owner);
    const cannot = await running.agent(database, { reducers: ['long'] }, owner);
    const first = await keyed(database, 'k', ['a'], { as: can });
    expect(first).toEqual([200, '1']);
    const [status] = await keyed(database, 'k', ['a'], { as: cannot });
    expect(status).toBe(404);
  });

  it('[ease 4.11] can be sent by pages', async () => {
    const { headers } = await running.ask('OPTIONS', '/v1/database/x/call/add');
    expect(headers.get('access-control-allow-headers')?.split(',')).toContain('idempotency-key');
  });

  it('[ease 4.11] are answered after a restart', async () => {
    const database = await fresh();
    await keyed(database, 'k', ['a']);
    await running.pause();
    const dataDirectory = running.folder;
    running = await Running.start({ dataDirectory, isolation: { everywhere: isolation } });
    expect(await keyed(database, 'k', ['a'])).toEqual([200, '1']);
    expect((await keyed(database, 'k', ['b']))[0]).toBe(422);
    expect(await tallies(database)).toEqual([['a', 1]]);
  });

  takeTurns(isolation);
});

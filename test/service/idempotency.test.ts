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

  beforeAll(async () => {
    running = await Running.start({ isolation: { everywhere: isolation } });
    owner = await running.person();
    ann = await running.person();
    await upload(numbers);
  });
  afterAll(() => running.stop());

  const upload = async (program: Program) => {
    const { status, text } = await running.upload('keyed', program, owner);
    if (status !== 200) throw new Error(text);
  };
  /** Calls over HTTP. Each test has keys and names of its own. */
  const keyed = async (
    key: string,
    args: unknown,
    { as = ann, reducer = 'add' }: { as?: Person | 'nobody'; reducer?: string } = {},
  ): Promise<readonly [number, string]> => {
    const { status, text } = await running.ask('POST', `/v1/database/keyed/call/${reducer}`, {
      as: as === 'nobody' ? undefined : as,
      body: JSON.stringify(args),
      headers: {
        'content-type': 'application/json',
        'idempotency-key': Buffer.from(key).toString('latin1'),
      },
    });
    return [status, text];
  };
  const tool = (args: object) => running.tool('keyed', 'call', { reducer: 'add', ...args }, ann);
  const countOf = async (name: string) => {
    const [row] = await running.rows('keyed', `SELECT count FROM tally WHERE name = '${name}'`);
    return row?.[0];
  };

  it('[ease 4.11] run once over HTTP and MCP together, and give the value again', async () => {
    expect(await keyed('ü-1', ['a'])).toEqual([200, '1']);
    expect(await keyed('ü-1', { name: 'a' })).toEqual([200, '1']);
    expect(await tool({ args: ['a'], idempotency_key: 'ü-1' })).toBe("reducer 'add' committed");
    expect(await countOf('a')).toBe(1);
    await tool({ args: ['a'], idempotency_key: 'other' });
    await tool({ args: ['a'], idempotency_key: 'other' });
    expect(await countOf('a')).toBe(2);
  });

  it('[ease 4.11] are a 422 with other arguments', async () => {
    await keyed('b', ['b']);
    const words =
      'The idempotency key "b" belongs to a call of add with other arguments; nothing was done. ' +
      'Use a new key for each new call';
    expect(await keyed('b', ['not b'])).toEqual([422, words]);
    expect(await tool({ args: ['not b'], idempotency_key: 'b' })).toBe(words);
    expect([await countOf('b'), await countOf('not b')]).toEqual([1, undefined]);
  });

  it('[ease 4.11] need a key of 1 to 128 bytes, a token, and a reducer', async () => {
    const form = 'An idempotency key has 1 to 128 bytes, without control characters';
    expect(await keyed('x'.repeat(129), ['c'])).toEqual([400, form]);
    expect(await keyed('', ['c'])).toEqual([400, form]);
    expect((await keyed('x'.repeat(128), ['c']))[0]).toBe(200);
    expect(await keyed('c', ['c'], { as: 'nobody' })).toEqual([
      400,
      'An idempotency key needs a caller with a token: without one, each request has a new ' +
        'identity',
    ]);
    expect(await keyed('c', [], { reducer: 'wait' })).toEqual([
      400,
      'A procedure cannot be called with an idempotency key: only outcomes of reducers are kept',
    ]);
  });

  it('[ease 4.11] keep values up to 64 KiB, and change nothing beyond', async () => {
    // Four bytes are the length of the text.
    const most = 64 * 1024 - 4;
    const [status, text] = await keyed('d', [most + 1], { reducer: 'long' });
    expect([status, text]).toEqual([
      422,
      'long returned 65537 bytes, and at most 65536 are kept under an idempotency key; nothing ' +
        'was changed. Call without a key',
    ]);
    expect(await countOf('long')).toBeUndefined();
    const first = await keyed('d', [most], { reducer: 'long' });
    expect(first).toEqual([200, JSON.stringify('x'.repeat(most))]);
    expect(await keyed('d', [most], { reducer: 'long' })).toEqual(first);
  });

  it('[ease 4.11] are refused to a token that must not make them', async () => {
    const can = await running.agent('keyed', { reducers: ['add'] }, owner);
    const cannot = await running.agent('keyed', { reducers: ['long'] }, owner);
    expect(await keyed('e', ['e'], { as: can })).toEqual([200, '1']);
    expect((await keyed('e', ['e'], { as: cannot }))[0]).toBe(404);
    expect(await countOf('e')).toBe(1);
  });

  it('[ease 4.11] can be sent by pages', async () => {
    const { headers } = await running.ask('OPTIONS', '/v1/database/keyed/call/add');
    expect(headers.get('access-control-allow-headers')?.split(',')).toContain('idempotency-key');
  });

  it('[ease 4.11] give the value after a publish, unless its type is another one', async () => {
    await keyed('f', ['f']);
    await upload(texts);
    const [status, text] = await keyed('f', ['f']);
    expect([status, text.includes('the type that add returns has changed since')]).toEqual([
      422,
      true,
    ]);
    await upload(numbers);
    expect(await keyed('f', ['f'])).toEqual([200, '1']);
    expect(await countOf('f')).toBe(1);
  });

  it('[ease 4.11] are answered after a restart', async () => {
    await keyed('g', ['g']);
    await running.pause();
    const dataDirectory = running.folder;
    running = await Running.start({ dataDirectory, isolation: { everywhere: isolation } });
    expect(await keyed('g', ['g'])).toEqual([200, '1']);
    expect((await keyed('g', ['not g']))[0]).toBe(422);
    expect(await countOf('g')).toBe(1);
  });

  takeTurns(isolation);
});

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  CallError,
  type Client,
  type ConnectOptions,
  connect,
  InternalError,
  isCallError,
  SenderError,
} from '../../src/client/index.ts';
import { type ClientMessage, encodeClientMessage } from '../../src/protocol/v1/client-message.ts';
import { CallFailed, openTestDatabase } from '../../src/testing/index.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import type * as market from '../client/market.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { type Person, program, Running } from './running.ts';
import { expectV1, SocketClient } from './socket-client.ts';
import { encoded, Guest } from './socket-guest.ts';
import { written } from './written-module.ts';

const file = 'test/client/market.ts';
let running: Running;
let owner: Person;
let count = 0;
const clients: Client<typeof market>[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => running.stop());

/** A database of its own for a test, with two purses. */
async function freshMarket(): Promise<string> {
  const name = `market-${count}`;
  count += 1;
  const { status, text } = await running.publish(name, file, owner);
  if (status !== 200) throw new Error(text);
  await running.call(name, 'fill', ['ada', 10]);
  await running.call(name, 'fill', ['bob', 0]);
  return name;
}

function open(database: string, options: Partial<ConnectOptions> = {}): Client<typeof market> {
  const client = connect<typeof market>({ uri: running.service.url, database, ...options });
  clients.push(client);
  return client;
}

const purses = async (database: string) =>
  (await running.rows(database, 'SELECT owner_name, gold FROM purse')).sort();
const untouched = [
  ['ada', 10],
  ['bob', 0],
];
const fatal = 'The instance encountered a fatal error.';
const trade = { from: 'ada', to: 'bob', gold: 4 };
const tooDear = { ...trade, gold: 14 };

describe('what reducers return', () => {
  it('[client-sdk 14] resolves a call, after its rows are in the cache', async () => {
    const client = open(await freshMarket());
    await client.subscribe((q) => [q.purse]).applied;
    const seen: string[] = [];
    client.db.purse.onUpdate(({ event }, _old, { ownerName, gold }) => {
      seen.push(`${event.tag} ${ownerName} ${gold}`);
    });
    const receipt: bigint = await client.reducers.trade(trade);
    expect(receipt).toBe(1n);
    expect(seen.sort()).toEqual(['Reducer ada 6', 'Reducer bob 4']);
    expect(client.db.purse.ownerName.find('bob')?.gold).toBe(4);
    expect(await client.reducers.trade.result(trade)).toEqual({ ok: true, value: 2n });
    expect(await client.reducers.lastReceipt()).toEqual({
      tradeNo: 2n,
      leftOver: 0,
      note: undefined,
    });
    expect(await client.reducers.gold({ of: 'eve' })).toBeUndefined();
    expect(await client.reducers.gold({ of: 'ada' })).toBe(2);
    expect(await client.reducers.tradeTwice({ ...trade, gold: 1 })).toEqual([3n, 4n]);
    expect(await client.reducers.fill({ ownerName: 'eve', gold: 1 })).toBeUndefined();
  });

  it('[client-sdk 14, module-sdk 6.1] rolls everything back and rejects with the typed value', async () => {
    const database = await freshMarket();
    const client = open(database);
    const error = await client.reducers.trade(tooDear).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallError);
    expect(error).toBeInstanceOf(SenderError);
    expect(isCallError(error, client.reducers.fill)).toBe(false);
    expect(isCallError(error, client.reducers.tradeTwice)).toBe(false);
    expect(isCallError(new Error('x'), client.reducers.trade)).toBe(false);
    if (!isCallError(error, client.reducers.trade)) throw new Error('it is of this reducer');
    expect(error).toMatchObject({ code: 'reducer.refused', message: 'TooPoor', reducer: 'trade' });
    expect(error.error).toEqual({ tag: 'TooPoor', value: { missing: 4, ownerName: 'ada' } });
    const result = await client.reducers.trade.result({ ...trade, to: 'eve' });
    expect(result).toMatchObject({ ok: false, error: { error: { tag: 'NoPurse', value: 'eve' } } });
    expect(await client.reducers.close.result()).toMatchObject({ error: { message: 'Closed' } });
    expect(await purses(database)).toEqual(untouched);
  });

  it('[client-sdk 14] a refusal of a reducer that was called passes through its caller', async () => {
    const database = await freshMarket();
    const client = open(database);
    const twice = { ...trade, gold: 6 };
    const error = await client.reducers.tradeTwice(twice).catch((thrown: unknown) => thrown);
    expect(isCallError(error, client.reducers.tradeTwice) && error.error).toEqual({
      tag: 'TooPoor',
      value: { missing: 2, ownerName: 'ada' },
    });
    expect(await purses(database)).toEqual(untouched);
  });

  it('[client-sdk 14, module-sdk 6.1] words where a value is declared, and a value where none is', async () => {
    const client = open(await freshMarket());
    const words = await client.reducers.askGuard.result();
    expect(words).toMatchObject({ ok: false, error: { message: 'the guard says no' } });
    expect(words.ok ? undefined : words.error).toBeInstanceOf(InternalError);
    const value = await client.reducers.askClerk.result();
    expect(value).toMatchObject({
      ok: false,
      error: { code: 'reducer.refused', message: 'Closed' },
    });
    expect(value.ok ? undefined : value.error).not.toBeInstanceOf(CallError);
  });

  it('[client-sdk 14] a value of another type fails the call; the log names it', async () => {
    const database = await freshMarket();
    const client = open(database);
    const { miscount, forget, later, mistake, boast } = client.reducers;
    for (const call of [miscount, forget, later, mistake, boast]) {
      const result = await call.result();
      expect(result).toMatchObject({ ok: false, error: { code: 'call.failed', message: fatal } });
    }
    expect(await purses(database)).toEqual(untouched);
    expect(
      (await running.messages(database, owner)).filter((line) => !line.startsWith('Info')),
    ).toEqual([
      'Panic: Uncaught TypeError: reducer `miscount` must return U64; the value: expected a bigint ' +
        '(u64), got the number 5',
      'Panic: Uncaught TypeError: reducer `forget` must return Receipt; the value: expected an ' +
        'object, got undefined',
      expect.stringMatching(/reducer `later` must return Receipt; .*: a promise/),
      expect.stringMatching(/reducer `mistake` must throw TradeError; the value: .*TooRich/),
      expect.stringContaining('Panic: reducer boast returned a value of 5242884 bytes, more than'),
    ]);
  });

  it('[client-sdk 14] settles with a retry and a timeout like any call', async () => {
    const client = open(await freshMarket());
    const options = { retry: true, timeoutMillis: 10_000 };
    expect(await client.reducers.trade(trade, options)).toBe(1n);
    const wrong = { ...trade, gold: -1 };
    await expect(client.reducers.trade(wrong)).rejects.toThrow('trade.gold');
  });

  it('[client-sdk 14] serves them again after a restart, from the log', async () => {
    const own = await Running.start();
    try {
      const person = await own.person();
      await own.publish('market', file, person);
      await own.call('market', 'fill', ['ada', 10]);
      await own.call('market', 'fill', ['bob', 0]);
      expect((await own.call('market', 'trade', ['ada', 'bob', 1])).text).toBe('1');
      await own.pause();
      const again = await Running.start({ dataDirectory: own.folder });
      try {
        expect((await again.call('market', 'trade', ['ada', 'bob', 1])).text).toBe('2');
        const refused = await again.call('market', 'trade', ['ada', 'bob', 10]);
        expect(refused).toMatchObject({ status: 530 });
        expect(JSON.parse(refused.text)).toEqual({ tooPoor: { missing: 2, owner_name: 'ada' } });
        expect((await again.rows('market', 'SELECT gold FROM purse')).sort()).toEqual([[2], [8]]);
      } finally {
        await again.pause();
      }
    } finally {
      await own.stop();
    }
  });

  it('[migrations 2] publishing other types of values keeps data and clients', async () => {
    const tables = { deal: '{ public: true }, { no: t.u64().primaryKey().autoInc() }' };
    const changing = (returns: string, body: string) =>
      written({
        tables,
        exports: `export const next = db.reducer({ returns: ${returns} }, {}, (ctx) => {
          ctx.db.deal.insert({ no: 0n });
          return ${body};
        });`,
      });
    const publish = async (bytes: Awaited<ReturnType<typeof changing>>) => {
      expect(await running.upload('changing', bytes, owner)).toMatchObject({ status: 200 });
    };
    await publish(await changing('t.u64()', 'ctx.db.deal.count()'));
    const guest = await Guest.arrive(running.service.url, 'changing', {});
    const { reducers } = open('changing');
    const { next } = reducers as unknown as { next(): Promise<unknown> };
    expect(await next()).toBe(1n);
    await publish(await changing('t.string()', "'no. ' + ctx.db.deal.count()"));
    expect((await running.call('changing', 'next', [])).text).toBe('"no. 2"');
    await expect(next()).rejects.toThrow(InternalError);
    guest.call(1, 'next');
    const { outcome } = await guest.expect('reducerResult');
    expect(outcome.kind === 'ok' && new BinaryReader(outcome.returned).string()).toBe('no. 4');
    await guest.client.close();
  });
});

describe('what reducers return, on the wire', () => {
  for (const version of ['v2', 'v3']) {
    it(`[client-sdk 14, websocket 7] ${version}: bytes of the declared types`, async () => {
      const database = await freshMarket();
      const protocols = [`${version}.bsatn.spacetimedb`];
      const guest = await Guest.arrive(running.service.url, database, { protocols });
      guest.call(1, 'trade', 'ada', 'bob', 4);
      const { outcome } = await guest.expect('reducerResult');
      expect(outcome.kind === 'ok' && new BinaryReader(outcome.returned).u64()).toBe(1n);
      guest.call(2, 'trade', 'ada', 'eve', 4);
      const { outcome: refused } = await guest.expect('reducerResult');
      if (refused.kind !== 'err') throw new Error(refused.kind);
      const reader = new BinaryReader(refused.error);
      expect([reader.u8(), reader.string(), reader.remaining]).toEqual([1, 'eve', 0]);
      guest.call(3, 'ask_guard');
      expect((await guest.expect('reducerResult')).outcome).toEqual({
        kind: 'internalError',
        message: 'the guard says no',
      });
      guest.call(4, 'fill', 'eve', 4);
      expect((await guest.expect('reducerResult')).outcome).toMatchObject({
        returned: new Uint8Array(0),
      });
      await guest.client.close();
    });
  }

  it('[client-sdk 14] v1: there is no place for values; a refusal has its words', async () => {
    const database = await freshMarket();
    const protocols = ['v1.bsatn.spacetimedb'];
    const one = await SocketClient.open(running.service.url, database, { protocols });
    await expectV1(one, 'identityToken');
    const call = (requestId: number, reducer: string, ...args: (string | number)[]) => {
      const bytes = encoded(args);
      const message: ClientMessage = {
        kind: 'callReducer',
        requestId,
        reducer,
        args: bytes,
        notifySuccess: true,
      };
      one.send(encodeClientMessage(message));
    };
    call(1, 'trade', 'ada', 'bob', 4);
    expect((await expectV1(one, 'transactionUpdate')).status).toMatchObject({ kind: 'committed' });
    call(2, 'trade', 'ada', 'bob', 40);
    expect(await expectV1(one, 'transactionUpdate')).toMatchObject({
      status: { kind: 'failed', message: 'TooPoor' },
      call: { requestId: 2 },
    });
    await one.close();
  });
});

describe('what reducers return, elsewhere', () => {
  it('[client-sdk 14] HTTP: 200 with the JSON of the value, 530 with that of the error', async () => {
    const database = await freshMarket();
    const done = await running.call(database, 'trade', trade);
    expect([done.status, done.text]).toEqual([200, '1']);
    expect(done.headers.get('content-type')).toContain('application/json');
    expect((await running.call(database, 'receipt', [])).text).toBe(
      '{"trade_no":1,"left_over":0,"note":{"none":{}}}',
    );
    const refused = await running.call(database, 'trade', tooDear);
    expect(refused.headers.get('content-type')).toContain('application/json');
    expect([refused.status, refused.text]).toEqual([
      530,
      '{"tooPoor":{"missing":8,"owner_name":"ada"}}',
    ]);
    expect(await running.call(database, 'ask_guard', [])).toMatchObject({
      status: 530,
      text: 'the guard says no',
    });
    expect(await running.call(database, 'miscount', [])).toMatchObject({
      status: 530,
      text: fatal,
    });
    expect(await running.call(database, 'fill', ['eve', 1])).toMatchObject({
      status: 200,
      text: '',
    });
  });

  it('[client-sdk 14] the schema of version 10 has the types', async () => {
    const database = await freshMarket();
    const { text } = await running.ask('GET', `/v1/database/${database}/schema?version=10`);
    const sections: Record<string, unknown>[] = JSON.parse(text).sections;
    const reducers = sections.find((section) => 'Reducers' in section)?.Reducers;
    expect(reducers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          source_name: 'trade',
          ok_return_type: { U64: [] },
          err_return_type: { Ref: expect.any(Number) },
        }),
        expect.objectContaining({
          source_name: 'fill',
          ok_return_type: { Product: { elements: [] } },
          err_return_type: { String: [] },
        }),
      ]),
    );
  });

  it('[client-sdk 14] MCP: the value, or the error, as JSON behind the words', async () => {
    const database = await freshMarket();
    const tool = async (reducer: string, args: unknown[]) => {
      const params = { name: 'call', arguments: { reducer, args } };
      const { text } = await running.ask('POST', `/v1/database/${database}/mcp`, {
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
        headers: { 'content-type': 'application/json' },
      });
      const { result } = JSON.parse(text);
      return [result.isError, ...result.content.map((one: { text: string }) => one.text)];
    };
    const done = [
      false,
      "reducer 'trade' committed",
      expect.stringMatching(/^{"offset":\d+,"value":1}$/),
    ];
    expect(await tool('trade', ['ada', 'bob', 4])).toEqual(done);
    expect(await tool('trade', ['ada', 'eve', 4])).toEqual([
      true,
      'reducer \'trade\' failed: {"noPurse":"eve"}',
    ]);
    expect((await tool('fill', ['eve', 1])).slice(0, 2)).toEqual([
      false,
      "reducer 'fill' committed",
    ]);
  });
});

describe('what reducers return, in a test database', () => {
  it('[client-sdk 14] a call gives the value, or fails with that of the error', async () => {
    const db = await openTestDatabase({ module: file });
    try {
      expect(await db.call('fill', ['ada', 10])).toBeUndefined();
      await db.call('fill', ['bob', 0]);
      const no = await db.call<bigint>('trade', trade);
      expect(no + 1n).toBe(2n);
      expect(await db.call('receipt')).toEqual({ trade_no: 1n, left_over: 0, note: undefined });
      const error = await db.call('trade', tooDear).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CallFailed);
      expect(error).toMatchObject({
        code: 'reducer.refusedWithValue',
        message: 'TooPoor',
        error: { tag: 'tooPoor', value: { missing: 8, owner_name: 'ada' } },
      });
      await expect(db.call('ask_guard')).rejects.toMatchObject({
        code: 'reducer.refusedWithoutValue',
        message: 'the guard says no',
        error: undefined,
      });
    } finally {
      await db.close();
    }
  });
});

describe('what reducers return, on the command line', () => {
  let sandbox: Sandbox;
  let service: RunningService;
  beforeAll(async () => {
    sandbox = await Sandbox.make();
    service = await sandbox.start();
  });
  afterAll(async () => {
    await service.stop();
    sandbox.remove();
  });

  it('[client-sdk 14] `call` prints the value, or ends with the error', async () => {
    const built = path.join(sandbox.folder, 'market.js');
    writeFileSync(built, await program(file));
    await sandbox.ok(['publish', 'market', '--js-path', built]);
    expect(await sandbox.ok(['call', 'market', 'fill', 'ada', '10'])).toBe('');
    await sandbox.ok(['call', 'market', 'fill', 'bob', '0']);
    expect(await sandbox.ok(['call', 'market', 'trade', 'ada', 'bob', '4'])).toBe('1\n');
    const { code, stderr } = await sandbox.run(['call', 'market', 'trade', 'ada', 'bob', '9']);
    expect(code).toBe(1);
    expect(stderr).toContain('{"tooPoor":{"missing":3,"owner_name":"ada"}}');
  });
});

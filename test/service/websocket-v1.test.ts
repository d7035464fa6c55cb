import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rowsOf } from '../../src/protocol/row-list.ts';
import { type ClientMessage, encodeClientMessage } from '../../src/protocol/v1/client-message.ts';
import { decodeServerMessage, type TableUpdate } from '../../src/protocol/v1/server-message.ts';
import { type Person, Running } from './running.ts';
import { bodyOf, expectText, expectV1, type OpenOptions, SocketClient } from './socket-client.ts';
import { encoded, personOf } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;
const open: SocketClient[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => running.stop());

/** A database of its own for each test, so that ids can be told. */
let databases = 0;
async function freshTavern(): Promise<string> {
  databases += 1;
  const name = `tavern-${databases}`;
  const { status, text } = await running.upload(name, await tavern(), owner);
  if (status !== 200) throw new Error(text);
  return name;
}

async function arrive(
  database: string,
  format: 'bsatn' | 'json',
  options: OpenOptions = {},
): Promise<SocketClient> {
  const protocols = [`v1.${format}.spacetimedb`];
  const client = await SocketClient.open(running.service.url, database, { protocols, ...options });
  open.push(client);
  return client;
}

function readable(tables: readonly TableUpdate[]): unknown {
  return tables.map(({ table, rowCount, updates }) => [
    table,
    Number(rowCount),
    ...updates.map((update) =>
      update.kind === 'plain'
        ? [
            ...Array.from(rowsOf(update.deletes), (row) => `-${personOf(row)}`),
            ...Array.from(rowsOf(update.inserts), (row) => `+${personOf(row)}`),
          ]
        : update.kind,
    ),
  ]);
}

describe('the WebSocket door in version 1, binary', () => {
  const send = (client: SocketClient, ...messages: ClientMessage[]) => {
    for (const message of messages) client.send(encodeClientMessage(message));
  };
  const call = (
    requestId: number,
    reducer: string,
    args: readonly (string | number)[] = [],
    notifySuccess = true,
  ): ClientMessage => {
    return { kind: 'callReducer', requestId, reducer, args: encoded(args), notifySuccess };
  };
  const subscribeMulti = (requestId: number, queryId: number, ...queries: string[]) =>
    ({ kind: 'subscribeMulti', requestId, queryId, queries }) as const;
  const everybody = 'SELECT * FROM person';

  it.each([false, true])('[websocket 8] tells a caller in full, light: %s', async (isLight) => {
    const database = await freshTavern();
    const query = `compression=None&light=${isLight}`;
    const one = await arrive(database, 'bsatn', { query });
    const first = await expectV1(one, 'identityToken');
    expect(one.responseHeaders['spacetime-identity-token']).toBe(first.token);
    const other = await arrive(database, 'bsatn');
    await expectV1(other, 'identityToken');
    for (const client of [one, other]) {
      send(client, subscribeMulti(1, 0, everybody));
      const { requestId, queryId, tables } = await expectV1(client, 'subscribeMultiApplied');
      expect([requestId, queryId, readable(tables)]).toEqual([1, 0, [['person', 0]]]);
    }
    send(one, call(7, 'add', [1, 'ada', 2]));
    const full = await expectV1(one, 'transactionUpdate');
    expect(full).toMatchObject({
      callerIdentity: first.identity,
      callerConnectionId: first.connectionId,
      call: { reducer: 'add', requestId: 7, args: encoded([1, 'ada', 2]) },
    });
    const { status } = full;
    expect(status.kind === 'committed' && readable(status.tables)).toEqual([
      ['person', 1, ['+1 ada']],
    ]);
    const light = await expectV1(other, 'transactionUpdateLight');
    expect([light.requestId, readable(light.tables)]).toEqual([7, [['person', 1, ['+1 ada']]]]);
    send(one, call(8, 'rename', [1, 'bob']));
    await expectV1(one, 'transactionUpdate');
    const renamed = await expectV1(other, 'transactionUpdateLight');
    expect(readable(renamed.tables)).toEqual([['person', 2, ['-1 ada', '+1 bob']]]);
  });

  it('[websocket 8] a caller that wants no success is told like others, of no failure', async () => {
    const one = await arrive(await freshTavern(), 'bsatn');
    await expectV1(one, 'identityToken');
    send(one, subscribeMulti(1, 0, everybody));
    await expectV1(one, 'subscribeMultiApplied');
    send(one, call(2, 'add', [1, 'ada', 2], false));
    expect(await expectV1(one, 'transactionUpdateLight')).toMatchObject({ requestId: 2 });
    send(one, call(3, 'rename', [99, 'x'], false), call(4, 'nothing', [], false));
    send(one, call(5, 'nothing'));
    const { call: told, status } = await expectV1(one, 'transactionUpdate');
    expect([told.requestId, status]).toEqual([5, { kind: 'committed', tables: [] }]);
  });

  it('[websocket 8] tells failures, and what could not be run without a request id', async () => {
    const one = await arrive(await freshTavern(), 'bsatn');
    await expectV1(one, 'identityToken');
    send(one, call(1, 'rename', [9, 'x']), call(2, 'no_such', [3]), call(3, 'add'));
    const failed = await expectV1(one, 'transactionUpdate');
    expect(failed).toMatchObject({
      status: { kind: 'failed', message: 'nobody has the id 9' },
      call: { requestId: 1, args: encoded([9, 'x']) },
    });
    const unknown = await expectV1(one, 'transactionUpdate');
    expect(unknown).toMatchObject({
      status: { kind: 'failed', message: 'no such reducer' },
      call: { reducer: 'no_such', reducerId: 0xffff_ffff, requestId: 0, args: new Uint8Array(0) },
    });
    const invalid = await expectV1(one, 'transactionUpdate');
    expect(invalid).toMatchObject({
      status: { message: expect.stringContaining('invalid arguments for reducer add') },
      call: { requestId: 0 },
    });
    expect(invalid.call.reducerId).toBeLessThan(100);
  });

  it('[websocket 8] tells rows of a query held twice once', async () => {
    const database = await freshTavern();
    await running.call(database, 'fill', [0, 2]);
    const one = await arrive(database, 'bsatn');
    await expectV1(one, 'identityToken');
    send(one, subscribeMulti(1, 1, everybody, 'SELECT * FROM person WHERE id = 0'));
    const first = await expectV1(one, 'subscribeMultiApplied');
    expect(readable(first.tables)).toEqual([
      ['person', 3, ['+0 guest 0', '+1 guest 1'], ['+0 guest 0']],
    ]);
    send(one, { kind: 'subscribeSingle', requestId: 2, queryId: 2, query: everybody });
    const second = await expectV1(one, 'subscribeApplied');
    expect(second).toMatchObject({ requestId: 2, queryId: 2, rows: { table: 'person' } });
    expect(readable([second.rows])).toEqual([['person', 0]]);
    await running.call(database, 'add', [5, 'eve', 1]);
    const update = await expectV1(one, 'transactionUpdateLight');
    expect(readable(update.tables)).toEqual([['person', 1, ['+5 eve']]]);
    send(one, { kind: 'unsubscribeMulti', requestId: 3, queryId: 1 });
    const dropped = await expectV1(one, 'unsubscribeMultiApplied');
    expect(readable(dropped.tables)).toEqual([['person', 1, ['-0 guest 0']]]);
    send(one, { kind: 'unsubscribe', requestId: 4, queryId: 2 });
    const rest = await expectV1(one, 'unsubscribeApplied');
    expect(readable([rest.rows])).toEqual([['person', 3, ['-0 guest 0', '-1 guest 1', '-5 eve']]]);
    await running.call(database, 'add', [6, 'x', 1]);
    expect(await one.isQuiet()).toBe(true);
  });

  it('[websocket 8] replaces what the oldest message has subscribed to', async () => {
    const database = await freshTavern();
    await running.call(database, 'fill', [0, 2]);
    const one = await arrive(database, 'bsatn');
    await expectV1(one, 'identityToken');
    const first = 'SELECT * FROM person WHERE id = 0';
    send(one, { kind: 'subscribe', requestId: 1, queries: [first] });
    const { tables } = await expectV1(one, 'initialSubscription');
    expect(readable(tables)).toEqual([['person', 1, ['+0 guest 0']]]);
    send(one, { kind: 'subscribe', requestId: 2, queries: ['SELECT * FROM person WHERE id = 1'] });
    const replaced = await expectV1(one, 'initialSubscription');
    expect(readable(replaced.tables)).toEqual([['person', 1, ['+1 guest 1']]]);
    await running.call(database, 'rename', [0, 'x']);
    await running.call(database, 'rename', [1, 'y']);
    const update = await expectV1(one, 'transactionUpdateLight');
    expect(readable(update.tables)).toEqual([['person', 2, ['-1 guest 1', '+1 y']]]);
    send(one, { kind: 'subscribe', requestId: 3, queries: ['SELECT'] });
    const error = await expectV1(one, 'subscriptionError');
    expect([error.requestId, error.queryId]).toEqual([3, undefined]);
  });

  it('[websocket 8] refuses event tables and names what failed', async () => {
    const one = await arrive(await freshTavern(), 'bsatn');
    await expectV1(one, 'identityToken');
    send(one, subscribeMulti(1, 4, 'SELECT * FROM ring'));
    const error = await expectV1(one, 'subscriptionError');
    expect([error.requestId, error.queryId]).toEqual([1, 4]);
    expect(error.error).toContain('Subscribing to event tables requires WebSocket v2.');
    send(one, { kind: 'subscribeSingle', requestId: 2, queryId: 5, query: 'SELECT * FROM *' });
    const star = await expectV1(one, 'subscriptionError');
    expect(star).toMatchObject({ requestId: 2, queryId: 5 });
    expect(star.error).toMatch(/, executing: `SELECT \* FROM \*`$/);
    send(one, { kind: 'unsubscribe', requestId: 3, queryId: 77 });
    const missing = await expectV1(one, 'subscriptionError');
    expect(missing.requestId).toBe(3);
  });

  it('[websocket 8] answers one-off queries by message id, and refuses an unknown procedure', async () => {
    const database = await freshTavern();
    await running.call(database, 'fill', [0, 2]);
    const one = await arrive(database, 'bsatn');
    await expectV1(one, 'identityToken');
    const messageId = Uint8Array.of(1, 2, 3);
    send(one, { kind: 'oneOffQuery', messageId, query: 'SELECT * FROM person WHERE id = 1' });
    const { tables, ...answer } = await expectV1(one, 'oneOffQueryResponse');
    expect(answer).toMatchObject({ error: undefined });
    expect([...answer.messageId]).toEqual([1, 2, 3]);
    expect(tables.map(({ rows }) => Array.from(rowsOf(rows), personOf))).toEqual([['1 guest 1']]);
    send(one, { kind: 'oneOffQuery', messageId, query: 'SELECT * FROM nowhere' });
    const failed = await expectV1(one, 'oneOffQueryResponse');
    expect(failed.error).toContain('no such table: `nowhere`');
    send(one, { kind: 'callProcedure', procedure: 'p', args: new Uint8Array(0), requestId: 3 });
    const { status, requestId } = await expectV1(one, 'procedureResult');
    expect([status, requestId]).toEqual([
      { kind: 'internalError', message: 'No such procedure' },
      3,
    ]);
  });

  it.each([
    ['Brotli', 1],
    // Clients that ask in this way undo it in no order.
    ['Gzip', 0],
    ['None', 0],
  ])('[websocket 4] compresses long messages with %s', async (compression, tag) => {
    const database = await freshTavern();
    await running.call(database, 'fill', [0, 200]);
    const one = await arrive(database, 'bsatn', { query: `compression=${compression}` });
    expect((await one.frame()).bytes[0]).toBe(0);
    send(one, subscribeMulti(1, 0, everybody));
    const frame = await one.frame();
    expect(frame.bytes[0]).toBe(tag);
    const message = decodeServerMessage(bodyOf(frame));
    expect(message.kind === 'subscribeMultiApplied' && message.tables[0]?.rowCount).toBe(200n);
  });

  it('[websocket 11] closes with 1011 on what is no message', async () => {
    const one = await arrive(await freshTavern(), 'bsatn');
    one.send(Uint8Array.of(200));
    expect(await one.ended).toMatchObject({ code: 1011 });
  });

  it('[websocket 2] reads text frames, too', async () => {
    const one = await arrive(await freshTavern(), 'bsatn');
    await expectV1(one, 'identityToken');
    const args = JSON.stringify([4, 'dan', 2]);
    one.send(JSON.stringify({ CallReducer: { reducer: 'add', args, request_id: 5, flags: 0 } }));
    const { call: told, status } = await expectV1(one, 'transactionUpdate');
    expect(status.kind).toBe('committed');
    expect(told).toMatchObject({ requestId: 5, args: encoded([4, 'dan', 2]) });
  });
});

describe('the WebSocket door in version 1, text', () => {
  const send = (client: SocketClient, message: unknown) => client.send(JSON.stringify(message));

  it('[websocket 9] tells in JSON', async () => {
    const database = await freshTavern();
    await running.call(database, 'add', [1, 'ada', 2]);
    const one = await arrive(database, 'json');
    const other = await arrive(database, 'json');
    const query = 'SELECT * FROM person';
    send(one, { Subscribe: { query_strings: [query], request_id: 3 } });
    const first = await expectText(one, 'IdentityToken');
    expect(first).toMatchObject({ identity: { __identity__: expect.stringMatching(/^0xc200/) } });
    const initial = await expectText(one, 'InitialSubscription');
    const row = JSON.stringify([1, 'ada', 2]);
    expect(initial).toMatchObject({
      request_id: 3,
      database_update: {
        tables: [{ table_name: 'person', num_rows: 1, updates: [{ deletes: [], inserts: [row] }] }],
      },
    });
    await expectText(other, 'IdentityToken');
    const id = { request_id: 4, query_id: { id: 9 } };
    send(other, { SubscribeMulti: { query_strings: [query], ...id } });
    expect(await expectText(other, 'SubscribeMultiApplied')).toMatchObject(id);
    const args = '{"id":2,"name":"bob","seat":1}';
    send(one, { CallReducer: { reducer: 'add', args, request_id: 5, flags: 0 } });
    const full = await expectText(one, 'TransactionUpdate');
    const updates = [{ deletes: [], inserts: ['[2,"bob",1]'] }];
    const tables = [{ table_name: 'person', num_rows: 1, updates }];
    expect(full).toMatchObject({
      status: { Committed: { tables } },
      reducer_call: { reducer_name: 'add', args, request_id: 5 },
    });
    expect(await expectText(other, 'TransactionUpdateLight')).toMatchObject({
      request_id: 5,
      update: { tables },
    });
  });

  it('[websocket 9] tells failures of arguments and of queries', async () => {
    const one = await arrive(await freshTavern(), 'json');
    await expectText(one, 'IdentityToken');
    for (const args of ['[1', '[1]', '["x","y",1]']) {
      send(one, { CallReducer: { reducer: 'add', args, request_id: 5, flags: 0 } });
      const { status, reducer_call: told } = (await expectText(one, 'TransactionUpdate')) as {
        status: { Failed: string };
        reducer_call: { request_id: number };
      };
      expect(status.Failed).toContain('invalid arguments for reducer add: ');
      expect(told.request_id).toBe(0);
    }
    send(one, { OneOffQuery: { message_id: '0102', query_string: 'SELECT * FROM nowhere' } });
    expect(await expectText(one, 'OneOffQueryResponse')).toMatchObject({
      message_id: '0102',
      error: { some: expect.stringContaining('no such table') },
    });
  });

  it('[websocket 9] goes on over a publish that changes parameters', async () => {
    const database = await freshTavern();
    const one = await arrive(database, 'json');
    await expectText(one, 'IdentityToken');
    await running.upload(database, await tavern('two'), owner);
    send(one, { CallReducer: { reducer: 'which', args: '[]', request_id: 1, flags: 0 } });
    expect(await expectText(one, 'TransactionUpdate')).toMatchObject({ status: { Failed: 'two' } });
  });

  it('[websocket 11] closes with 1011 on what is no message', async () => {
    const database = await freshTavern();
    for (const message of ['{', '{"Nothing":{}}', '[]', Buffer.from([0x22, 0xff, 0x22])]) {
      const one = await arrive(database, 'json');
      await expectText(one, 'IdentityToken');
      one.socket.send(message, { binary: false });
      expect((await one.ended).code).toBe(1011);
    }
  });
});

describe('a long text of a client in version 1', () => {
  const call = (request_id: number, args: string) =>
    JSON.stringify({ CallReducer: { reducer: 'add', args, request_id, flags: 0 } });
  /** Arguments whose text is read in many slices. */
  const long = (id: number) => `[${id},"${'\\"'.repeat(500_000)}",1]`;

  it('[websocket 9] is answered in its turn, also before the client is let in', async () => {
    const client = await arrive(await freshTavern(), 'json');
    client.send(call(1, long(1)));
    client.send(call(2, '[1,"late",1]'));
    await expectText(client, 'IdentityToken');
    client.send(call(3, long(2)));
    client.send(call(4, '[2,"late",1]'));
    client.send(call(5, `[3,"x",1${' '.repeat(50_000)}`));
    client.send(call(6, '[3,"y",1]'));
    const ends: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      const { status, reducer_call } = (await expectText(client, 'TransactionUpdate')) as {
        status: object;
        reducer_call: { request_id: number };
      };
      ends.push(`${Object.keys(status)[0]} ${reducer_call.request_id}`);
    }
    // A call that nothing ran of has no id in its answer.
    const wanted = [
      'Committed 1',
      'Failed 2',
      'Committed 3',
      'Failed 4',
      'Failed 0',
      'Committed 6',
    ];
    expect(ends).toEqual(wanted);
  });

  it('[websocket 11] that is malformed closes behind what came before', async () => {
    const database = await freshTavern();
    const client = await arrive(database, 'json');
    await expectText(client, 'IdentityToken');
    client.send(call(1, long(1)));
    client.send(`{"CallReducer":${' '.repeat(50_000)}x}`);
    expect(await client.ended).toMatchObject({ code: 1011 });
    const { text } = await running.sql(database, 'SELECT COUNT(*) AS n FROM person');
    expect(text).toContain('[[1]]');
  });
});

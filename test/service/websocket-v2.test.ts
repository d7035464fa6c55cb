import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deriveIdentity } from '../../src/auth/identity.ts';
import { rowListCount } from '../../src/protocol/row-list.ts';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { someOf } from '../support/share.ts';
import { type Person, Running } from './running.ts';
import { bodyOf, type OpenOptions, SocketClient } from './socket-client.ts';
import { encoded, Guest, readable, tablesIn } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;
const open: SocketClient[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await publish('tavern');
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => running.stop());

async function publish(name: string): Promise<void> {
  const { status, text } = await running.upload(name, await tavern(), owner);
  if (status !== 200) throw new Error(text);
}

/** A client that was let in, and its messages from then on. */
async function client(options: OpenOptions & { database?: string } = {}): Promise<Guest> {
  const guest = await Guest.arrive(running.service.url, options.database ?? 'tavern', options);
  open.push(guest.client);
  return guest;
}

describe.each(someOf(['v2', 'v3'], 2))('the WebSocket door in %s', (version) => {
  const protocols = [`${version}.bsatn.spacetimedb`];
  const database = `tavern-${version}`;
  const guest = (options: OpenOptions = {}) => client({ protocols, database, ...options });
  beforeAll(() => publish(database));

  it('[websocket 3, interface 4.2, 6] says first who the client is, in the answer and in the message', async () => {
    const one = await guest({
      query: 'compression=None&connection_id=000000000000000000000000000000ff',
    });
    const { first, client: socket } = one;
    expect(socket.protocol).toBe(protocols[0]);
    expect(first?.connectionId).toBe(0xffn);
    expect(socket.responseHeaders['spacetime-identity']).toBe(identityToHex(first?.identity ?? 0n));
    expect(socket.responseHeaders['spacetime-identity-token']).toBe(first?.token);
    expect(socket.responseHeaders['sec-websocket-extensions']).toBeUndefined();
  });

  it('[websocket 1] keeps the identity of a token, in the header or the query', async () => {
    const person = await running.person();
    const headers = { authorization: `Bearer ${person.token}` };
    const one = await guest({ headers, query: 'compression=None&token=nonsense' });
    expect(identityToHex(one.first?.identity ?? 0n)).toBe(person.identity);
    expect(one.first?.token).toBe(person.token);
    const { text } = await running.ask('POST', '/v1/identity/websocket-token', { as: person });
    const { token } = JSON.parse(text);
    const other = await guest({ query: `compression=None&token=${token}` });
    expect(identityToHex(other.first?.identity ?? 0n)).toBe(person.identity);
    expect(other.first?.token).toBe(token);
  });

  it('[websocket 7] tells the caller of its own changes with the outcome', async () => {
    const one = await guest();
    const other = await guest();
    one.subscribe(1, 0, 'SELECT * FROM person');
    await one.expect('subscribeApplied');
    other.subscribe(1, 7, 'SELECT * FROM person WHERE seat = 3');
    await other.expect('subscribeApplied');
    one.call(2, 'add', 1, 'ada', 3);
    const { requestId, outcome, timestamp } = await one.expect('reducerResult');
    expect(requestId).toBe(2);
    expect(Number(timestamp / 1000n)).toBeGreaterThan(Date.now() - 10_000);
    expect(outcome).toMatchObject({ kind: 'ok', returned: new Uint8Array(0) });
    expect(outcome.kind === 'ok' && readable(outcome.querySets)).toEqual([
      [0, ['person', ['+1 ada']]],
    ]);
    const update = await other.expect('transactionUpdate');
    expect(readable(update.querySets)).toEqual([[7, ['person', ['+1 ada']]]]);
    one.call(3, 'rename', 1, 'bob');
    await one.expect('reducerResult');
    const renamed = await other.expect('transactionUpdate');
    expect(readable(renamed.querySets)).toEqual([[7, ['person', ['-1 ada', '+1 bob']]]]);
    one.call(4, 'add', 2, 'cyd', 4);
    await one.expect('reducerResult');
    one.call(5, 'remove', 1);
    await one.expect('reducerResult');
    const removed = await other.expect('transactionUpdate');
    expect(readable(removed.querySets)).toEqual([[7, ['person', ['-1 bob']]]]);
    expect(await other.client.isQuiet()).toBe(true);
  });

  it('[subscriptions 5] orders sets by id and tables by name, and repeats no empty ones', async () => {
    const one = await guest();
    one.subscribe(1, 9, 'SELECT * FROM seat', 'SELECT * FROM person WHERE id = 90');
    one.subscribe(2, 4, 'SELECT * FROM person WHERE id > 80', 'SELECT * FROM person WHERE id = 90');
    one.subscribe(3, 5, 'SELECT * FROM person WHERE id = 1000');
    for (let at = 0; at < 3; at += 1) await one.expect('subscribeApplied');
    await running.call(database, 'add', [90, 'eve', 1]);
    const { querySets } = await one.expect('transactionUpdate');
    expect(readable(querySets)).toEqual([
      [4, ['person', ['+90 eve'], ['+90 eve']]],
      [9, ['person', ['+90 eve']]],
    ]);
  });

  it('[websocket 7] gives initial rows, and the rows of a set that goes', async () => {
    const one = await guest();
    await running.call(database, 'fill', [200, 3]);
    one.subscribe(1, 0, 'SELECT * FROM person WHERE id >= 200 AND id < 300');
    const applied = await one.expect('subscribeApplied');
    const rows = [['person', '200 guest 200', '201 guest 201', '202 guest 202']];
    expect(tablesIn(applied)).toEqual(rows);
    one.send({ kind: 'unsubscribe', requestId: 2, querySetId: 0, sendDroppedRows: true });
    const dropped = await one.expect('unsubscribeApplied');
    expect(dropped).toMatchObject({ requestId: 2, querySetId: 0 });
    expect(tablesIn({ ...applied, tables: dropped.tables ?? [] })).toEqual(rows);
    await running.call(database, 'remove', [200]);
    expect(await one.client.isQuiet()).toBe(true);
    one.subscribe(3, 0, 'SELECT * FROM person WHERE id = 201');
    await one.expect('subscribeApplied');
    one.send({ kind: 'unsubscribe', requestId: 4, querySetId: 0, sendDroppedRows: false });
    expect((await one.expect('unsubscribeApplied')).tables).toBeUndefined();
  });

  it('[websocket 7] sends events of event tables', async () => {
    const one = await guest();
    one.subscribe(1, 0, 'SELECT * FROM ring');
    expect(await one.expect('subscribeApplied')).toMatchObject({ tables: [] });
    await running.call(database, 'ring_it', ['ding']);
    const { querySets } = await one.expect('transactionUpdate');
    expect(readable(querySets)).toEqual([[0, ['ring', ['!ding']]]]);
  });

  it('[websocket 7] tells each failure to its caller alone, and stays open', async () => {
    const one = await guest();
    const watcher = await guest();
    watcher.subscribe(1, 0, 'SELECT * FROM person');
    await watcher.expect('subscribeApplied');
    const outcomes: unknown[] = [];
    const ask = async (reducer: string, ...args: (string | number)[]) => {
      one.call(outcomes.length, reducer, ...args);
      outcomes.push((await one.expect('reducerResult')).outcome);
    };
    await ask('rename', 12345, 'x');
    await ask('crash');
    await ask('no_such');
    await ask('on_connect');
    await ask('add');
    const [refused, crashed, unknown, lifecycle, invalid] = outcomes as {
      kind: string;
      error?: Uint8Array;
      message?: string;
    }[];
    expect(refused?.kind).toBe('err');
    expect(new BinaryReader(refused?.error ?? new Uint8Array(0)).string()).toBe(
      'nobody has the id 12345',
    );
    const internal = (message: unknown) => ({ kind: 'internalError', message });
    expect(crashed).toEqual(internal('The instance encountered a fatal error.'));
    expect(unknown).toEqual(internal('no such reducer'));
    expect(lifecycle).toEqual(internal("can't directly call special OnConnect lifecycle reducer"));
    expect(invalid).toEqual(
      internal(expect.stringContaining('invalid arguments for reducer add: ')),
    );
    expect(await watcher.client.isQuiet()).toBe(true);
  });

  it('[subscriptions 8] refuses bad sets as a whole', async () => {
    const one = await guest();
    const refusal = async (requestId: number, querySetId: number, ...queries: string[]) => {
      one.subscribe(requestId, querySetId, ...queries);
      const error = await one.expect('subscriptionError');
      expect(error).toMatchObject({ requestId, querySetId });
      return error.error;
    };
    expect(await refusal(1, 3, 'SELECT * FROM person', 'SELECT * FROM secret')).toBe(
      'no such table: `secret`. If the table exists, it may be marked private., ' +
        'executing: `SELECT * FROM secret`',
    );
    expect(await refusal(2, 3, ' ')).toBe('SubscriptionError: Empty string, executing: ``');
    one.subscribe(3, 3, 'SELECT * FROM person WHERE id = 0');
    await one.expect('subscribeApplied');
    expect(await refusal(4, 3, 'SELECT * FROM seat')).toMatch(
      /^Subscription with id QuerySetId \{ id: 3 \} already exists for client: /,
    );
    one.send({ kind: 'unsubscribe', requestId: 5, querySetId: 44, sendDroppedRows: true });
    const { error } = await one.expect('subscriptionError');
    expect(error).toMatch(/^Subscription not found: /);
  });

  it('[websocket 7] answers one-off queries with exactly one table', async () => {
    const one = await guest();
    one.send({ kind: 'oneOffQuery', requestId: 1, query: 'SELECT * FROM person WHERE id = 4444' });
    const { result } = await one.expect('oneOffQueryResult');
    expect(result).toMatchObject({ kind: 'ok', tables: [{ table: 'person' }] });
    one.send({ kind: 'oneOffQuery', requestId: 2, query: '' });
    expect(await one.expect('oneOffQueryResult')).toMatchObject({
      requestId: 2,
      result: { kind: 'err', error: 'Empty SQL query' },
    });
    for (const query of ['SELECT * FROM *', 'SELECT * FROM secret', 'SELECT name FROM person']) {
      one.send({ kind: 'oneOffQuery', requestId: 3, query });
      const failed = await one.expect('oneOffQueryResult');
      const error = failed.result.kind === 'err' ? failed.result.error : 'executing';
      expect(error).not.toContain('executing');
    }
  });

  it('[subscriptions 16] answers joins that cannot be watched', async () => {
    const one = await guest();
    await running.call(database, 'furnish', [77, true]);
    await running.call(database, 'add', [77, 'window', 77]);
    const three =
      'SELECT p.* FROM person p JOIN seat s ON p.id = s.id JOIN person q ON q.id = s.id ' +
      'WHERE p.id = 77';
    one.subscribe(1, 1, three);
    expect((await one.expect('subscriptionError')).error).toContain('number of tables');
    one.send({ kind: 'oneOffQuery', requestId: 2, query: three });
    const { result } = await one.expect('oneOffQueryResult');
    const rows = result.kind === 'ok' ? result.tables.map((one) => rowListCount(one.rows)) : result;
    expect(rows).toEqual([1]);
  });

  it('[websocket 7] accepts a set without queries', async () => {
    const one = await guest();
    one.subscribe(1, 8);
    expect(await one.expect('subscribeApplied')).toMatchObject({ querySetId: 8, tables: [] });
    one.send({ kind: 'unsubscribe', requestId: 2, querySetId: 8, sendDroppedRows: true });
    expect(await one.expect('unsubscribeApplied')).toMatchObject({ querySetId: 8, tables: [] });
    one.send({ kind: 'unsubscribe', requestId: 3, querySetId: 8, sendDroppedRows: true });
    expect((await one.expect('subscriptionError')).error).toMatch(/^Client not found: /);
  });

  it('[websocket 7] ignores what follows the arguments of a call', async () => {
    const one = await guest();
    one.call(1, 'remove', 123_456, 'and more');
    expect((await one.expect('reducerResult')).outcome.kind).toBe('ok');
  });

  it('[websocket 7] answers the call of a procedure that does not exist', async () => {
    const one = await guest();
    const args = new Uint8Array(0);
    one.send({ kind: 'callProcedure', requestId: 8, procedure: 'anything', args });
    expect(await one.expect('procedureResult')).toEqual({
      kind: 'procedureResult',
      status: { kind: 'internalError', message: 'No such procedure' },
      timestamp: 0n,
      durationMicros: 0n,
      requestId: 8,
    });
  });

  it('[websocket 10] answers what is sent at once in order, after the first message', async () => {
    const socket = SocketClient.begin(running.service.url, database, { protocols });
    open.push(socket);
    const reader = new Guest(socket);
    await new Promise((resolve) => socket.socket.once('open', resolve));
    reader.subscribe(0, 0, 'SELECT * FROM person WHERE id >= 600');
    for (let id = 600; id < 700; id += 1) reader.call(id, 'add', id, 'x', 1);
    await reader.expect('initialConnection');
    await reader.expect('subscribeApplied');
    for (let id = 600; id < 700; id += 1) {
      const { requestId, outcome } = await reader.expect('reducerResult');
      expect(requestId).toBe(id);
      expect(outcome.kind === 'ok' && readable(outcome.querySets)).toEqual([
        [0, ['person', [`+${id} x`]]],
      ]);
    }
  });

  it('[websocket 3] runs the lifecycle reducers around a connection', async () => {
    const query = 'compression=None&connection_id=00000000000000000000000000abcdef';
    const one = await guest({ query });
    const visits = () =>
      running.rows(database, `SELECT kind FROM visit WHERE connection = ${0xabcdef}`);
    expect(await visits()).toEqual([['came']]);
    await one.client.close();
    await expect.poll(visits).toEqual([['came'], ['left']]);
    expect(await running.rows(database, 'SELECT * FROM st_client', owner)).toHaveLength(1);
  });

  it('[websocket 10] tells at once without confirmation, and the same with it', async () => {
    for (const confirmed of [true, false]) {
      const one = await guest({ query: `compression=None&confirmed=${confirmed}` });
      one.call(1, 'nothing');
      expect((await one.expect('reducerResult')).outcome.kind).toBe('ok');
    }
  });

  it.each([
    ['Brotli', 1],
    ['Gzip', 2],
    ['None', 0],
  ])('[websocket 4] compresses long bodies with %s, in order', async (name, tag) => {
    const one = await guest({ query: `compression=${name}` });
    one.subscribe(1, 0, 'SELECT * FROM person WHERE id >= 1000');
    await one.expect('subscribeApplied');
    await running.call(database, 'fill', [1000, 500]);
    await running.call(database, 'remove', [1000]);
    const grown = await one.client.frame();
    expect(grown.bytes[0]).toBe(tag);
    const shrunk = await one.client.frame();
    expect(shrunk.bytes[0]).toBe(0);
    expect(bodyOf(grown).length).toBeGreaterThan(5_000);
    for (let id = 1001; id < 1500; id += 1) await running.call(database, 'remove', [id]);
  });
});

describe('frames of version 3', () => {
  const protocols = ['v3.bsatn.spacetimedb'];

  it('[websocket 6] hold several messages both ways', async () => {
    const one = await client({ protocols });
    const messages = Array.from({ length: 50 }, (_, requestId) =>
      encodeClientMessage({
        kind: 'callReducer',
        requestId,
        reducer: 'nothing',
        args: encoded([]),
      }),
    );
    const before = one.client.frames.length;
    one.client.send(Buffer.concat(messages));
    for (let at = 0; at < 50; at += 1) {
      expect((await one.expect('reducerResult')).requestId).toBe(at);
    }
    expect(one.client.frames.length - before).toBeLessThan(10);
  });

  it('[websocket 6] execute what comes before a fault', async () => {
    const one = await client({ protocols });
    const call = { kind: 'callReducer', requestId: 1, reducer: 'add' } as const;
    const good = encodeClientMessage({ ...call, args: encoded([5000, 'good', 1]) });
    one.client.send(Buffer.concat([good, Uint8Array.of(77)]));
    expect(await one.client.ended).toEqual({
      code: 1011,
      reason: 'unknown tag 0x4d for sum type ClientMessage',
    });
    expect(await running.rows('tavern', 'SELECT name FROM person WHERE id = 5000')).toEqual([
      ['good'],
    ]);
  });

  it('[websocket 6] hold at least one message', async () => {
    const one = await client({ protocols });
    one.client.send(new Uint8Array(0));
    expect(await one.client.ended).toEqual({
      code: 1011,
      reason: 'v3 websocket binary payload must contain at least one v2 client message',
    });
  });
});

describe('what closes a connection', () => {
  it.each([
    ['v2', Uint8Array.of(9), 'unknown tag 0x9 for sum type ClientMessage'],
    ['v2', 'text', 'v2 websocket does not support text messages'],
    ['v3', 'text', 'v3 websocket does not support text messages'],
    ['v2', Buffer.from('030000000007', 'hex'), 'invalid call reducer flag 7'],
    ['v2', Buffer.from('040000000001', 'hex'), 'invalid call procedure flag 1'],
  ])('[websocket 11] in %s, a message that is none: 1011', async (version, message, reason) => {
    const one = await client({ protocols: [`${version}.bsatn.spacetimedb`] });
    one.client.send(message);
    expect(await one.client.ended).toEqual({ code: 1011, reason });
  });

  it('[websocket 3] a refusing client_connected: no close frame, no message', async () => {
    const claims = { iss: 'localhost', sub: 'stranger', aud: ['spacetimedb'] };
    const { token } = await running.service.tokens.reissue(
      {
        identity: callerIdentity(deriveIdentity(claims.iss, claims.sub)),
        issuer: claims.iss,
        subject: claims.sub,
        audiences: claims.aud,
        tokenId: 'none',
        issuedAt: 0,
        expiresAt: undefined,
        isStandIn: false,
        payload: JSON.stringify(claims),
      },
      60,
    );
    const query = `token=${token}`;
    const socket = await SocketClient.open(running.service.url, 'tavern', { query });
    expect(await socket.ended).toEqual({ code: 1006, reason: '' });
    expect(socket.frames).toEqual([]);
  });

  it('[websocket 11] the database goes: 1001', async () => {
    await publish('short-lived');
    const one = await client({ database: 'short-lived' });
    await running.ask('DELETE', '/v1/database/short-lived', { as: owner });
    expect(await one.client.ended).toEqual({ code: 1001, reason: 'module exited' });
  });

  it('[subscriptions 13, migrations 12.3, 12.4, living 5.9] an update that breaks clients: 1001; any other leaves them', async () => {
    await publish('changing');
    const one = await client({ database: 'changing' });
    one.subscribe(1, 0, 'SELECT * FROM seat');
    await one.expect('subscribeApplied');
    await running.upload('changing', await tavern('two'), owner);
    one.call(2, 'which');
    const { outcome } = await one.expect('reducerResult');
    const error = outcome.kind === 'err' ? new BinaryReader(outcome.error).string() : '';
    expect(error).toBe('two');
    await running.call('changing', 'furnish', [1, true]);
    await one.expect('transactionUpdate');
    const breaking = await tavern('three', 'size: t.u8().default(1),');
    const plan = JSON.parse((await running.plan('changing', breaking, owner)).text);
    const { token } = plan.AutoMigrate;
    const query = `&policy=BreakClients&token=${token}`;
    const { status, text } = await running.upload('changing', breaking, owner, query);
    expect(text).toContain('Success');
    expect(status).toBe(200);
    expect(await one.client.ended).toEqual({ code: 1001, reason: 'schema changed' });
    const next = await client({ database: 'changing' });
    next.subscribe(1, 0, 'SELECT * FROM seat');
    await next.expect('subscribeApplied');
  });

  it('[websocket 7] a call over budget: its caller is told, then all connections end', async () => {
    const other = await Running.start({ budget: { callMillisMax: 1_000 } });
    try {
      const person = await other.person();
      await other.upload('spinning', await tavern(), person);
      const one = await Guest.arrive(other.service.url, 'spinning', {});
      const two = await Guest.arrive(other.service.url, 'spinning', {});
      one.call(1, 'spin');
      const { outcome } = await one.expect('reducerResult');
      expect(outcome).toMatchObject({ kind: 'internalError' });
      for (const { client: socket } of [one, two]) {
        expect(await socket.ended).toEqual({ code: 1001, reason: 'module exited' });
      }
      const again = await Guest.arrive(other.service.url, 'spinning', {});
      again.call(2, 'nothing');
      expect((await again.expect('reducerResult')).outcome.kind).toBe('ok');
      await again.client.close();
    } finally {
      await other.stop();
    }
  });

  it('[durability P7] a service that stops: what was asked is answered, then 1001', async () => {
    const other = await Running.start();
    const person = await other.person();
    await other.upload('stopping', await tavern(), person);
    const one = await Guest.arrive(other.service.url, 'stopping', {});
    for (let id = 0; id < 200; id += 1) one.call(id, 'add', id, 'x', 1);
    await one.expect('reducerResult');
    await other.stop();
    const { code, reason } = await one.client.ended;
    expect({ code, reason }).toEqual({ code: 1001, reason: 'module exited' });
    expect(one.client.frames.length).toBeGreaterThan(1);
  });
});

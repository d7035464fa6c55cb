import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeClientMessage } from '../../src/protocol/v1/client-message.ts';
import { someOf } from '../support/share.ts';
import { notesModule } from './notes-module.ts';
import { type Agent, type Person, Running } from './running.ts';
import { expectV1, SocketClient } from './socket-client.ts';
import { Guest } from './socket-guest.ts';
import { writtenFrom } from './written-module.ts';

let running: Running;
let owner: Person;
let friend: Person;

beforeAll(async () => {
  running = await Running.start();
  [owner, friend] = await Promise.all([running.person(), running.person()]);
  const program = await writtenFrom(notesModule);
  for (const name of ['notes', 'others']) await running.upload(name, program, owner);
  const rows = "(1, 'one'), (2, 'two'), (3, 'three')";
  await running.sql('notes', `INSERT INTO secret (id, text) VALUES ${rows}`, owner);
}, 90_000);
afterAll(() => running.stop());

const limited = (limits: object, as = owner) => running.agent('notes', limits, as);

const bearer = (person: Person) => ({ authorization: `Bearer ${person.token}` });

const versions = ['v2', 'v3'] as const;

function connect(as: Person, version: string = 'v2', database = 'notes'): Promise<Guest> {
  const protocols = [`${version}.bsatn.spacetimedb`];
  return Guest.arrive(running.service.url, database, { protocols, headers: bearer(as) });
}

/** How many rows each table of the set has, or why there is no set. */
async function subscribed(guest: Guest, id: number, ...queries: string[]): Promise<unknown> {
  guest.subscribe(id, id, ...queries);
  const answer = await guest.next();
  if (answer.kind === 'subscriptionError') return answer.error;
  if (answer.kind !== 'subscribeApplied') return answer.kind;
  return Object.fromEntries(answer.tables.map(({ table, rows }) => [table, countOf(rows)]));
}

const countOf = (rows: { readonly data: Uint8Array }) => rows.data.length > 0;

async function called(guest: Guest, reducer: string, id: number): Promise<string> {
  guest.call(1, reducer, id);
  const { outcome } = await guest.expect('reducerResult');
  return 'message' in outcome ? `${outcome.kind}: ${outcome.message}` : outcome.kind;
}

const noTable = (name: string) =>
  `no such table: \`${name}\`. If the table exists, it may be marked private.`;

describe.each(someOf(versions, 2))('a limited token over a WebSocket of version %s', (version) => {
  it('subscribes to the tables that it names, and to no other', async () => {
    const guest = await connect(await limited({ tables: ['secret'] }), version);
    expect(await subscribed(guest, 1, 'SELECT * FROM secret')).toEqual({ secret: true });
    expect(await subscribed(guest, 2, 'SELECT * FROM note')).toContain(noTable('note'));
    expect(await subscribed(guest, 3, 'SELECT * FROM st_table')).toContain(noTable('st_table'));
    expect(await subscribed(guest, 4, 'SELECT * FROM secret_texts')).toContain(
      noTable('secret_texts'),
    );
    expect(await subscribed(guest, 5, 'SELECT * FROM *')).toEqual({ secret: true });
    await guest.client.close();
  });

  it('reads views that it names, though it may not read what they are made of', async () => {
    const guest = await connect(await limited({ tables: ['secretTexts'] }), version);
    expect(await subscribed(guest, 1, 'SELECT * FROM *')).toEqual({ secret_texts: true });
    expect(await subscribed(guest, 2, 'SELECT * FROM secret')).toContain(noTable('secret'));
    await guest.client.close();
  });

  it('asks once for what it may subscribe to', async () => {
    const guest = await connect(await limited({ tables: ['secret'], max_rows: 2 }), version);
    const ask = async (query: string) => {
      guest.send({ kind: 'oneOffQuery', requestId: 1, query });
      const { result } = await guest.expect('oneOffQueryResult');
      return result.kind === 'ok' ? 'ok' : result.error;
    };
    expect(await ask('SELECT * FROM secret WHERE id < 3')).toBe('ok');
    expect(await ask('SELECT * FROM note')).toContain(noTable('note'));
    expect(await ask('SELECT * FROM secret')).toBe(
      'The result has more than 2 rows; narrow the WHERE clauses',
    );
    await guest.client.close();
  });

  it('begins with no more rows than it says, all queries of a set together', async () => {
    const guest = await connect(await limited({ tables: ['secret'], max_rows: 2 }), version);
    const few = 'SELECT * FROM secret WHERE id < 3';
    const tooMany = 'The result has more than 2 rows; narrow the WHERE clauses';
    expect(await subscribed(guest, 1, 'SELECT * FROM secret')).toBe(tooMany);
    expect(await subscribed(guest, 1, few)).toEqual({ secret: true });
    const both = [few, 'SELECT * FROM secret WHERE id = 3'];
    expect(await subscribed(guest, 2, ...both)).toBe(tooMany);
    await guest.client.close();
  });

  it('calls the reducers that it names', async () => {
    const guest = await connect(await limited({ reducers: ['drop_note'] }), version);
    expect(await called(guest, 'drop_note', 1)).toMatch(/^ok/);
    expect(await called(guest, 'add_note', 1)).toContain('no such reducer');
    const reader = await connect(await limited({ read_only: true }), version);
    expect(await called(reader, 'drop_note', 1)).toContain('no such reducer');
    for (const one of [guest, reader]) await one.client.close();
  });
});

describe('a limited token over a WebSocket of version 1', () => {
  it('subscribes and calls within its limits', async () => {
    const agent = await limited({ tables: ['secret'], reducers: ['drop_note'], max_rows: 2 });
    const protocols = ['v1.bsatn.spacetimedb'];
    const given = { protocols, headers: bearer(agent) };
    const client = await SocketClient.open(running.service.url, 'notes', given);
    await expectV1(client, 'identityToken');
    const ask = (query: string) => {
      const message = { kind: 'subscribeSingle', query, requestId: 1, queryId: 1 } as const;
      client.send(encodeClientMessage(message));
      return expectV1(client, 'subscriptionError');
    };
    expect((await ask('SELECT * FROM note')).error).toContain(noTable('note'));
    expect((await ask('SELECT * FROM secret')).error).toContain('more than 2 rows');
    const args = new Uint8Array(4);
    const call = { kind: 'callReducer', reducer: 'add_note', args, requestId: 2 } as const;
    client.send(encodeClientMessage({ ...call, notifySuccess: true }));
    const { status } = await expectV1(client, 'transactionUpdate');
    expect(status).toMatchObject({ kind: 'failed' });
    await client.close();
  });
});

describe('a connection ends', () => {
  const ended = async (guest: Guest) => guest.client.ended;

  it('with 1008 when its token is revoked, also one that was made from it', async () => {
    const agent = await limited({ tables: ['secret'] });
    const other = await limited({ tables: ['secret'] });
    const short = await shortLived(agent);
    const guests = [await connect(agent), await connect(short, 'v3')];
    const left = await connect(other);
    const where = `/v1/database/notes/tokens/${agent.id}`;
    expect((await running.ask('DELETE', where, { as: owner })).status).toBe(200);
    for (const guest of guests) {
      expect(await ended(guest)).toEqual({ code: 1008, reason: 'token revoked' });
    }
    expect(await subscribed(left, 1, 'SELECT * FROM secret')).toEqual({ secret: true });
    await left.client.close();
  });

  it('with 1008 when whoever has the token gives it up', async () => {
    const person = await running.person();
    const short = await shortLived(person);
    const guests = [await connect(person), await connect(short)];
    const standIn = await running.ask('POST', '/v1/identity/revoke', { as: short });
    expect([standIn.status, standIn.text]).toEqual([
      400,
      'This token stands for another; give up that one',
    ]);
    expect((await running.ask('POST', '/v1/identity/revoke', { as: person })).status).toBe(200);
    for (const guest of guests) {
      expect(await ended(guest)).toEqual({ code: 1008, reason: 'token revoked' });
    }
  });

  it('with 1008 when the maker of the token may less than before', async () => {
    await running.grant('notes', 'admin', friend, owner);
    const guest = await connect(await limited({ tables: ['secret'] }, friend));
    await running.grant('notes', 'developer', friend, owner);
    expect(await ended(guest)).toEqual({ code: 1008, reason: 'token revoked' });
    await running.revoke('notes', friend, owner);
  });

  it('with 1008 when a role is taken away, not when one is given', async () => {
    const guest = await connect(friend);
    await running.grant('notes', 'reader', friend, owner);
    expect(await subscribed(guest, 1, 'SELECT * FROM note')).toEqual({});
    const reader = await connect(friend);
    expect(await subscribed(reader, 1, 'SELECT * FROM secret')).toEqual({ secret: true });
    await running.grant('others', 'admin', friend, owner);
    await running.revoke('notes', friend, owner);
    expect(await ended(reader)).toEqual({ code: 1008, reason: 'role revoked' });
    expect(await subscribed(guest, 2, 'SELECT * FROM note')).toEqual({});
    await guest.client.close();
  });

  it('with 1008 when its limited token expires', async () => {
    const agent = await limited({ tables: ['secret'], expires_seconds: 4 });
    const guest = await connect(await shortLived(agent));
    expect(await ended(guest)).toEqual({ code: 1008, reason: 'token expired' });
    const late = await running.sql('notes', 'SELECT * FROM secret', agent);
    expect([late.status, late.text]).toEqual([401, 'Invalid token: ExpiredSignature']);
  });
});

it('a limited token opens no connection to another database', async () => {
  const agent = await limited({});
  const client = SocketClient.begin(running.service.url, 'others', { headers: bearer(agent) });
  const refusal = await new Promise<Error>((resolve) => client.socket.once('error', resolve));
  expect(refusal.message).toBe('Unexpected server response: 403');
});

async function shortLived(person: Person | Agent): Promise<Person> {
  const answer = await running.ask('POST', '/v1/identity/websocket-token', { as: person });
  return { ...person, token: JSON.parse(answer.text).token };
}

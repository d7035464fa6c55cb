import { afterEach, beforeEach, expect, it } from 'vitest';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { tavern } from '../service/tavern-module.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  follows,
  kill,
  readsCopy,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { RecordingSocket } from '../support/recording-socket.ts';

let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let identity: DatabaseIdentity;
let database: string;
let owner: Caller;

beforeEach(async () => {
  ({ services, a, b, owner, identity } = await startPair('tavern', await tavern()));
  database = identityToHex(identity);
  await readsCopy(b, identity);
});
afterEach(() => services.close());

async function call(at: ClusterService, reducer: string, args: unknown): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const where = `/v1/database/${database}/call/${reducer}`;
  const { status } = await ask(at, 'POST', where, {
    ...{ as: owner, body: JSON.stringify(args), headers },
  });
  return status;
}

async function sql(at: ClusterService, statement: string): Promise<string> {
  const { text } = await ask(at, 'POST', `/v1/database/${database}/sql`, {
    ...{ as: owner, body: statement },
  });
  return text;
}

const open = (at: ClusterService, query = '') =>
  RecordingSocket.open({ url: at.url, database, as: owner, query });

function added(id: number, name: string, seat: number): Uint8Array {
  const writer = new BinaryWriter();
  writer.u32(id);
  writer.string(name);
  writer.u32(seat);
  return writer.finish();
}

const everything = ['SELECT * FROM person', 'SELECT * FROM seat', 'SELECT * FROM ring'];
const joined = ['SELECT person.* FROM seat JOIN person ON seat.id = person.seat'];

it('[replication 10.7, 11.1, 11.2] a client at a follower gets the bytes that one at the leader gets', async () => {
  const [near, far] = [await open(a), await open(b)];
  expect(far.isRelayed).toBe(false);
  for (const one of [near, far]) {
    await one.subscribe(everything);
    await one.subscribe(joined);
  }
  await call(a, 'add', [1, 'ada', 1]);
  await call(b, 'furnish', [1, true]);
  await call(a, 'ringIt', ['la']);
  await call(b, 'rename', [1, 'amy']);
  await call(a, 'fill', [10, 20]);
  await call(a, 'remove', [11]);
  await until(() => near.updates.length >= 6 && far.updates.length >= near.updates.length);
  expect(far.updates).toEqual(near.updates);
  const outcome = await far.outcomeOf(far.call('add', added(2, 'bob', 1)));
  expect(outcome).toMatchObject({
    kind: 'reducerResult',
    outcome: { kind: 'ok', querySets: [{ tables: [{ table: 'person' }] }, {}] },
  });
  // The changes of its own call came with the outcome alone, and others got them as an update.
  await until(() => near.updates.length === 7);
  await call(a, 'rename', [2, 'ben']);
  await until(() => near.updates.length === 8 && far.updates.length === 7);
  expect(far.updates[6]).toEqual(near.updates[7]);
  const refused = await far.outcomeOf(far.call('crash', new Uint8Array(0)));
  expect(refused).toMatchObject({ kind: 'reducerResult', outcome: { kind: 'internalError' } });
  // The leader disconnects it once.
  near.close();
  far.close();
  const visits = `SELECT kind FROM visit WHERE kind = 'left'`;
  const left = async () => (await sql(a, visits)).match(/"left"/g)?.length ?? 0;
  await until(async () => (await left()) >= 2);
});

it('[replication 11.1] a client can ask for the leader, and reads no copy then', async () => {
  const relayed = await open(b, '&consistency=leader');
  expect(relayed.isRelayed).toBe(true);
  await relayed.subscribe(everything);
  await call(a, 'add', [1, 'ada', 1]);
  await until(() => relayed.updates.length === 1);
  await expect(open(b, '&consistency=soon')).rejects.toThrow('400');
});

it('[replication 11.3, 11.8] a client goes on where its host becomes the leader', async () => {
  const far = await open(b);
  await far.subscribe(everything);
  await call(a, 'add', [1, 'ada', 1]);
  await until(() => far.updates.length === 1);
  await kill(a, identity);
  await until(() => roleAt(b, identity) === 'leader');
  expect(await call(b, 'add', [2, 'bob', 1])).toBe(200);
  await until(() => far.updates.length === 2 || far.isClosed);
  expect(far.isClosed).toBe(false);
  const outcome = await far.outcomeOf(far.call('add', added(3, 'cyd', 1)));
  expect(outcome).toMatchObject({ kind: 'reducerResult' });
});

it('[replication 11.2, 11.3] clients of both followers see one history, and each call has one outcome', async () => {
  const c = await services.start('c');
  await follows(c, a, identity);
  await readsCopy(c, identity);
  const watching = [await open(b), await open(c)];
  const caller = await open(c);
  for (const one of [...watching, caller]) {
    await one.subscribe(everything);
    expect(one.isRelayed).toBe(false);
  }
  const sent: number[] = [];
  const send = (id: number): void => {
    sent.push(caller.call('add', added(id, `guest ${id}`, 1)));
  };
  for (let id = 1; id <= 10; id++) send(id);
  await until(() => watching.every(({ updates }) => updates.length > 0));
  for (let id = 11; id <= 30; id++) send(id);
  await kill(a, identity);
  for (let id = 31; id <= 40; id++) send(id);
  const outcomes = await Promise.all(sent.map((id) => caller.outcomeOf(id)));
  const leads = (at: ClusterService): boolean => roleAt(at, identity) === 'leader';
  await until(() => leads(b) || leads(c));
  const led = leads(b) ? b : c;
  await until(async () => (await call(led, 'add', [99, 'the last', 1])) === 200);
  const last = Buffer.from('the last').toString('hex');
  await until(() => watching.every(({ updates }) => updates.at(-1)?.includes(last)));
  expect(watching[0]?.updates).toEqual(watching[1]?.updates);
  // Each outcome came once, in the order of the calls, and what is said to be committed is there.
  const answers = caller.messages.flatMap((one) => (one.kind === 'reducerResult' ? [one] : []));
  expect(answers.map(({ requestId }) => requestId)).toEqual(sent);
  const ids = JSON.parse(await sql(led, 'SELECT id FROM person'))[0].rows.flat() as number[];
  outcomes.forEach((answer, at) => {
    const isDone = answer.kind === 'reducerResult' && answer.outcome.kind === 'ok';
    if (isDone) expect(ids).toContain(at + 1);
  });
  // Every commit of a call came with its outcome, or as an update: none is missing, none is twice.
  const seen = ids.map((id) => {
    const row = Buffer.from(added(id, id === 99 ? 'the last' : `guest ${id}`, 1)).toString('hex');
    return watching.map(({ updates }) => updates.filter((one) => one.includes(row)).length);
  });
  expect(seen).toEqual(ids.map(() => [1, 1]));
  expect(watching.map(({ isClosed }) => isClosed)).toEqual([false, false]);
});

it('[replication 9.10, 11.8] a reset ends clients of copies, which come back', async () => {
  const far = await open(b);
  await far.subscribe(everything);
  await call(a, 'add', [1, 'ada', 1]);
  await until(() => far.updates.length === 1);
  const where = `/v1/database/${database}?host_type=Js&clear=true`;
  const { text } = await ask(a, 'PUT', where, { as: owner, body: await tavern() });
  expect(text).toContain('"Success"');
  expect((await far.closed)[0]).toBe(1012);
  await until(async () => (await call(b, 'add', [2, 'bob', 1])) === 200);
  await readsCopy(b, identity);
  const again = await open(b);
  expect(again.isRelayed).toBe(false);
  await again.subscribe(everything);
  await call(a, 'rename', [2, 'ben']);
  await until(() => again.updates.length === 1);
  expect(await sql(b, 'SELECT name FROM person')).toContain('ben');
});

import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { tavern } from '../service/tavern-module.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
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
  ({ services, a, b, owner, identity } = await startPair('tavern', await tavern(), {
    placement: 'worker',
  }));
  database = identityToHex(identity);
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
  const where = `/v1/database/${database}/sql`;
  return (await ask(at, 'POST', where, { as: owner, body: statement })).text;
}

/** What the module has noted of a connection. */
async function visits(at: ClusterService, { messages: [first] }: RecordingSocket) {
  if (first?.kind !== 'initialConnection')
    throw new Error('the first message names the connection');
  const text = await sql(at, `SELECT kind FROM visit WHERE connection = ${first.connectionId}`);
  return JSON.parse(text)[0].rows.flat() as string[];
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

async function move(from: ClusterService, to: ClusterService): Promise<void> {
  await until(async () => {
    const moved = from.part.operations?.move(identity, to.name).then(
      () => true,
      () => false,
    );
    return (await moved) === true;
  });
  await until(() => roleAt(to, identity) === 'leader');
}

const everything = ['SELECT * FROM person', 'SELECT * FROM seat', 'SELECT * FROM ring'];
const joined = ['SELECT person.* FROM seat JOIN person ON seat.id = person.seat'];

/**
 * A host that is busy tells the next leader of its clients too late, or has its copy too late: then
 * they end, which is right. So it is tried again, until one has stayed.
 */
const patience = 600_000;

it('[replication 11.8, 12.8] clients of a host that gives its database away go on from its copy', {
  timeout: patience,
}, async () => {
  for (let round = 1; ; round++) {
    await readsCopy(b, identity);
    const [near, next] = [await open(a), await open(b)];
    for (const one of [near, next]) {
      await one.subscribe(everything);
      await one.subscribe(['SELECT * FROM person WHERE seat = 2']);
    }
    const [joins, told] = [await open(a), await open(a, '&confirmed=false')];
    await joins.subscribe(joined);
    await told.subscribe(everything);
    const others = [joins, told, await open(a, '&consistency=leader')];
    others.push(await open(b, '&consistency=leader'));
    await call(a, 'add', [100 + round, 'ada', 1]);
    await until(() => near.updates.length === 1 && next.updates.length === 1);
    await move(a, b);
    // Those that cannot go on exactly where they were, or want the leader, come back.
    for (const one of others) expect((await one.closed)[0]).toBe(1012);
    const tried = near.call('add', added(round, 'bob', 2));
    const outcome = await near.outcomeOf(tried).catch(() => undefined);
    if (outcome === undefined) {
      expect((await near.closed)[0]).toBe(1012);
      next.close();
      await readsCopy(a, identity);
      await move(b, a);
      continue;
    }
    expect(outcome).toMatchObject({
      kind: 'reducerResult',
      outcome: { kind: 'ok', querySets: [{ tables: [{ table: 'person' }] }, {}] },
    });
    await call(b, 'rename', [round, 'ben']);
    await call(a, 'remove', [100 + round]);
    await until(() => near.updates.length >= 3 && next.updates.length >= 4);
    expect(near.updates).toEqual([next.updates[0], ...next.updates.slice(2)]);
    expect([near.isClosed, next.isClosed]).toEqual([false, false]);
    // The new leader has it in its client table, as it was, and disconnects each once.
    expect(await visits(b, near)).toEqual(['came']);
    near.close();
    for (const one of [...others, near]) {
      await until(async () => (await visits(b, one)).length > 1);
      expect(await visits(b, one)).toEqual(['came', 'left']);
    }
    return;
  }
});

it('[replication 11.8] clients of a deposed host see the history that counts, or are ended', {
  timeout: patience,
}, async () => {
  const last = Buffer.from('ben').toString('hex');
  for (let round = 1; ; round++) {
    await readsCopy(b, identity);
    const [near, caller, other] = [await open(a), await open(a), await open(b)];
    for (const one of [near, other]) await one.subscribe(everything);
    await call(a, 'add', [round, 'ada', 1]);
    await until(() => near.updates.length === 1 && other.updates.length === 1);
    // An append that is under way then, as of what is settled, would be waited for too long.
    await new Promise((resolve) => setTimeout(resolve, 2 * limits.settleMillis));
    services.engine.cut(a.name);
    await until(() => roleAt(b, identity) === 'leader');
    services.engine.heal(a.name);
    // It hears of it when it writes: nobody has seen that commit, which never was.
    const tried = caller.call('add', added(1_000 + round, 'nobody', 1));
    const outcome = await caller.outcomeOf(tried).catch(() => undefined);
    if (outcome === undefined) expect((await caller.closed)[0]).toBe(1012);
    await call(b, 'add', [100 + round, 'bob', 2]);
    await call(b, 'rename', [100 + round, 'ben']);
    await until(() => other.updates.at(-1)?.includes(last) === true);
    await until(() => near.updates.at(-1)?.includes(last) === true || near.isClosed);
    expect(near.updates).toEqual(other.updates.slice(0, near.updates.length));
    if (!near.isClosed) {
      expect(await visits(b, near)).toEqual(['came']);
      return;
    }
    expect((await near.closed)[0]).toBe(1012);
    for (const one of [caller, other]) one.close();
    await readsCopy(a, identity);
    await move(b, a);
  }
});

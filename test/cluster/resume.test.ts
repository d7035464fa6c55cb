import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Client, connect } from '../../src/client/index.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { tavern } from '../service/tavern-module.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  kill,
  until,
} from '../support/cluster-services.ts';
import { type PersonRows, SocketGate } from '../support/gated-socket.ts';

let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let identity: DatabaseIdentity;
let database: string;
let owner: Caller;
const clients: Client<unknown>[] = [];

beforeEach(async () => {
  ({ services, a, b, owner, identity } = await startPair('tavern', await tavern()));
  database = identityToHex(identity);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await services.close();
});

async function call(at: ClusterService, reducer: string, args: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const where = `/v1/database/${database}/call/${reducer}`;
  const asked = { as: owner, body: JSON.stringify(args), headers };
  await until(async () => (await ask(at, 'POST', where, asked)).status === 200);
}

/** A client with the rows of its queries, and what it was told of persons since. */
async function watching(uri: readonly string[], queries: readonly string[]) {
  const gate = new SocketGate();
  const { webSocket } = gate;
  const client = connect({ uri, database, token: owner.token, webSocket });
  clients.push(client);
  await client.subscribe(queries).applied;
  const told: string[] = [];
  const { person } = client.db as unknown as PersonRows;
  person.onInsert(({ event }, { id }) => told.push(`${event.tag} +${id}`));
  person.onDelete(({ event }, { id }) => told.push(`${event.tag} -${id}`));
  const ids = () => [...person].map(({ id }) => id).sort((one, other) => one - other);
  // It knows where it is once it was told the hosts, of which it knows one by its address.
  return { client, gate, told, ids };
}

it('[replication 11.4, 11.5] a client of the killed host goes on at the other one: commit by commit, or with one difference', async () => {
  await call(a, 'furnish', [1, true]);
  await call(a, 'add', [1, 'ada', 1]);
  const joined = 'SELECT person.* FROM seat JOIN person ON seat.id = person.seat';
  const rows = await watching([a.url, b.url], ['SELECT * FROM person']);
  const join = await watching([a.url, b.url], [joined]);
  const both = [rows, join];
  await call(a, 'add', [2, 'bob', 1]);
  for (const { ids } of both) await expect.poll(ids).toEqual([1, 2]);
  for (const { told, gate } of both) {
    expect(told.splice(0)).toEqual(['Transaction +2']);
    gate.shut();
  }
  // The first of these is acknowledged by the host that is lost then.
  await call(a, 'add', [3, 'cyd', 1]);
  await kill(a, identity);
  await call(b, 'remove', [1]);
  await call(b, 'add', [4, 'dan', 1]);
  for (const { gate } of both) gate.letIn();
  for (const { ids } of both) await expect.poll(ids, { timeout: 20_000 }).toEqual([2, 3, 4]);
  expect(rows.told).toEqual(['Transaction +3', 'Transaction -1', 'Transaction +4']);
  expect([...join.told].sort()).toEqual(['Reconnected +3', 'Reconnected +4', 'Reconnected -1']);
  expect(rows.gate.hosts.at(-1)).toBe(new URL(b.url).host);
  // They are live again.
  await call(b, 'add', [5, 'eve', 1]);
  for (const { ids } of both) await expect.poll(ids).toEqual([2, 3, 4, 5]);
  expect(rows.told.at(-1)).toBe('Transaction +5');
});

it('[replication 11.1, 11.5] a client at a follower goes on when its leader is lost', async () => {
  await call(a, 'add', [1, 'ada', 1]);
  // Through either host it is the same, and the one that follows serves it by itself.
  const { gate, told, ids } = await watching([b.url], ["SELECT * FROM person WHERE name <> 'bob'"]);
  await call(a, 'add', [2, 'cyd', 1]);
  await expect.poll(ids).toEqual([1, 2]);
  gate.shut();
  await call(a, 'add', [3, 'bob', 1]);
  await call(a, 'add', [4, 'dan', 1]);
  services.engine.cut('a');
  await call(b, 'add', [5, 'eve', 1]);
  gate.letIn();
  await expect.poll(ids, { timeout: 20_000 }).toEqual([1, 2, 4, 5]);
  expect(told).toEqual(['Transaction +2', 'Transaction +4', 'Transaction +5']);
  services.engine.heal('a');
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
import {
  connect,
  names,
  published,
  subscribe,
  type TavernClient,
} from '../support/tavern-client.ts';

let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let identity: DatabaseIdentity;
let database: string;
let ada: Caller;

beforeEach(async () => {
  ({ services, a, b, owner: ada, identity } = await startPair('tavern', await tavern()));
  database = identityToHex(identity);
});
afterEach(() => services.close());

async function add(at: ClusterService, id: number): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify([id, `guest${id}`, 1]);
  const { status } = await ask(at, 'POST', `/v1/database/${database}/call/add`, {
    ...{ as: ada, body, headers },
  });
  expect(status).toBe(200);
}

// Version 1 goes through one, beside the relays' own tests.
describe.each(published.filter(({ version }) => version === 2))('$title', (library) => {
  /** As a program does that connects again when it is told that it is disconnected. */
  async function come(at: ClusterService, token: string | undefined): Promise<TavernClient> {
    const client = await connect(library, { uri: at.url, database, token });
    await subscribe(client.conn);
    return client;
  }

  it('[replication 11.3, 11.7] goes through three fail-overs, and its rows are right after each', async () => {
    await readsCopy(b, identity);
    let client = await come(b, undefined);
    const rows: string[] = [];
    const follow = async (by: ClusterService): Promise<void> => {
      const id = rows.length + 1;
      await add(by, id);
      rows.push(`${id} guest${id}`);
      await expect.poll(() => names(client.conn)).toEqual(rows);
    };
    for (const [leader, next] of [
      [a, b],
      [b, a],
      [a, b],
    ] as const) {
      await follow(next);
      client.conn.reducers.rename?.({ id: rows.length, name: `guest${rows.length}` });
      // It can acknowledge nothing any more; the client is connected with the other one, and stays.
      services.engine.cut(leader.name);
      await until(() => roleAt(next, identity) === 'leader');
      await follow(next);
      services.engine.heal(leader.name);
      await until(() => leader.part.isLedElsewhere(identity));
      // The next round ends the other one, so it comes to this one.
      const { identity: before } = client;
      client.conn.disconnect();
      await client.gone;
      await readsCopy(leader, identity);
      client = await come(leader, client.token);
      expect([client.identity, names(client.conn)]).toEqual([before, rows]);
    }
    await follow(a);
    client.conn.disconnect();
    await client.gone;
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.ts';
import { type Person, Running } from './running.ts';
import type { OpenOptions, SocketClient } from './socket-client.ts';
import { Guest } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;
const open: SocketClient[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  const program = await tavern();
  for (const name of ['tavern', 'other']) {
    const { status, text } = await running.upload(name, program, owner);
    if (status !== 200) throw new Error(text);
  }
}, 180_000);
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => running.stop());

async function arrive(as: Person, options: OpenOptions = {}, database = 'tavern'): Promise<Guest> {
  const headers = { authorization: `Bearer ${as.token}` };
  const guest = await Guest.arrive(running.service.url, database, { headers, ...options });
  open.push(guest.client);
  return guest;
}

const get = async (path: string, as = owner) => {
  const { status, text } = await running.ask('GET', `/v1/database/tavern/${path}`, { as });
  return { status, body: status === 200 ? JSON.parse(text) : text };
};
const watch = async (guest: Guest, set: number, ...queries: string[]) => {
  guest.subscribe(set, set, ...queries);
  await guest.expect('subscribeApplied');
};
const atTable = 'SELECT * FROM person WHERE seat = 7';
const computed = 'SELECT name, row_number() OVER (ORDER BY id) AS place FROM person';

describe('[http 18.3] the clients that are connected', () => {
  it('are listed for the owner', async () => {
    const before = Date.now();
    const ada = await running.person();
    const guest = await arrive(ada);
    await arrive(ada, {}, 'other');
    await watch(guest, 1, atTable, 'SELECT * FROM seat');
    const { body } = await get('connections');
    expect(body).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        identity: ada.identity,
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        address: '127.0.0.1',
        protocol: 'v2.bsatn.spacetimedb',
        queued_bytes: 0,
        sent_bytes_per_second: expect.any(Number),
        queries: 2,
      },
    ]);
    expect(BigInt(`0x${body[0].id}`)).toBe(guest.first?.connectionId);
    expect(Date.parse(body[0].since)).toBeGreaterThanOrEqual(before);
    expect((await get('connections', ada)).body).toMatch(/: view connections$/);
  });

  it('are sent bytes, which are counted', async () => {
    const guest = await arrive(await running.person());
    await watch(guest, 1, 'SELECT * FROM person');
    await running.call('tavern', 'fill', [10_000, 500], owner);
    await guest.expect('transactionUpdate');
    await vi.waitFor(
      async () => {
        const { body } = await get('connections');
        expect(body[0].sent_bytes_per_second).toBeGreaterThan(100);
      },
      { timeout: 10_000, interval: 100 },
    );
  });

  it('are disconnected one by one', async () => {
    const [ada, bob] = [await running.person(), await running.person()];
    const [leaving, staying] = [await arrive(ada), await arrive(bob)];
    const { body } = await get('connections');
    const { id } = body.find(({ identity }: { identity: string }) => identity === ada.identity);
    const end = (which: string, as: Person) => {
      return running.ask('DELETE', `/v1/database/tavern/connections/${which}`, { as });
    };
    const refused = await end(id, ada);
    expect(refused.status).toBe(403);
    expect(refused.text).toMatch(/: disconnect clients$/);
    expect((await end(id, owner)).status).toBe(200);
    expect(await leaving.client.ended).toEqual({ code: 1008, reason: 'disconnected by the owner' });
    const left = (await get('connections')).body;
    expect(left.map(({ identity }: { identity: string }) => identity)).toEqual([bob.identity]);
    expect((await end(id, owner)).status).toBe(404);
    expect((await end('nonsense', owner)).status).toBe(404);
    await watch(staying, 1, 'SELECT * FROM seat');
    const lines = await running.ask('GET', '/v1/database/tavern/ledger', { as: owner });
    expect(JSON.parse(lines.text).entries).toContainEqual(
      expect.objectContaining({ what: 'disconnect client', identity: owner.identity }),
    );
  });
});

describe('[http 18.4] the queries that are watched', () => {
  it('are listed with what they cost, and why some are run again', async () => {
    const full = { query: 'compression=None&dialect=full' };
    const [one, other] = [await arrive(await running.person()), await arrive(owner, full)];
    await watch(one, 1, atTable);
    await watch(other, 1, atTable);
    await watch(other, 2, computed);
    for (let id = 1; id <= 3; id += 1) await running.call('tavern', 'add', [id, 'x', 7], owner);
    const { body } = await get('watches');
    const bySql = (sql: string) => body.find((each: { sql: string }) => each.sql === sql);
    expect(body).toHaveLength(2);
    expect(bySql(atTable)).toEqual({
      ...{ sql: atTable, subscribers: 2, kind: 'incremental', evaluations: expect.any(Number) },
      ...{ micros_mean: expect.any(Number), rows: null },
    });
    expect(bySql(atTable).evaluations).toBeGreaterThanOrEqual(3);
    expect(bySql(computed)).toEqual({
      ...{ sql: computed, subscribers: 1, kind: 'rerun', reason: expect.stringMatching(/\w/) },
      evaluations: 3,
      micros_mean: expect.any(Number),
      rows: (await running.rows('tavern', 'SELECT COUNT(*) AS n FROM person'))[0]?.[0],
    });
    expect(bySql(computed).micros_mean).toBeGreaterThan(0);
    expect((await get('watches', await running.person())).body).toMatch(/: view watches$/);
    for (const client of open.splice(0)) await client.close();
    await expect.poll(async () => (await get('watches')).body).toEqual([]);
  });

  it('are shown by the beginning of their texts, however long these are', async () => {
    const guest = await arrive(await running.person());
    const long = (at: number) => {
      const places = Array.from({ length: 1_000 }, (_, place) => `seat = ${place}`).join(' OR ');
      return `${atTable} AND (${places}) AND id < ${at}`;
    };
    await watch(guest, 1, atTable, long(1), long(2));
    const { body } = await get('watches');
    const texts = body.map(({ sql }: { sql: string }) => sql).sort();
    const start = `${long(1).slice(0, limits.watchTextCharactersMax - 1)}…`;
    expect(texts).toEqual([atTable, start, start]);
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { ServiceCluster } from './cluster-support.ts';
import { Sandbox } from './harness.ts';
import { Remote } from './remote.ts';
import { writtenFrom } from './written-module.ts';

const module = `
  import { schema, t, table } from 'reducerdb/server';
  const items = table({ public: true }, { id: t.u32().primaryKey().autoInc(), name: t.string() });
  const db = schema({ items }, { env: { KEY: t.secret().optional() } });
  export default db;
  export const add = db.reducer({ name: t.string() }, (ctx, { name }) => {
    ctx.db.items.insert({ id: 0, name });
  });
  export const key = db.procedure(t.string(), (ctx) => ctx.env.KEY ?? 'none');
`;

/** What a service says of a database to its owner. */
async function seen(owner: Remote, database: string) {
  const json = async (where: string) =>
    JSON.parse((await owner.ask('GET', `/v1/database/${database}${where}`)).text);
  const { database_identity: of, owner_identity: by } = await json('');
  return {
    identity: String(of.__identity__).replace(/^0x/, ''),
    ...{ by, names: await json('/names'), roles: await json('/grants') },
    tokens: await json('/tokens'),
    rows: await owner.rows(database, 'SELECT id, name FROM items ORDER BY id'),
    key: (await owner.call(database, 'key', [])).text,
  };
}

/** The bytes of each segment of the only log of a database, without the space behind them. */
function segmentsOf(folder: string, identity: string): Record<string, Buffer> {
  const logs = path.join(folder, 'databases', identity);
  const [log = ''] = readdirSync(logs).filter((name) => name.startsWith('log-'));
  const names = readdirSync(path.join(logs, log)).filter((name) => /^commit-.*\.log$/.test(name));
  return Object.fromEntries(
    names.map((name) => {
      const bytes = readFileSync(path.join(logs, log, name));
      return [name, bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1)];
    }),
  );
}

describe.skipIf(withoutPostgres !== undefined)('a folder of a single machine', () => {
  let cluster: ServiceCluster;
  let alone: Sandbox;
  let owner: Remote;
  let guest: Remote;
  const folder = () => path.join(alone.folder, 'data');
  const operator = () => ['--operator', owner.identity];

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    alone = await Sandbox.make();
    const first = await alone.start(['--data-dir', folder()]);
    owner = await Remote.of(first.url);
    guest = await Remote.of(first.url);
    const program = await writtenFrom(module);
    expect((await owner.upload('shop', program)).status).toBe(200);
    for (const name of ['lamp', 'chair']) await owner.call('shop', 'add', [name]);
    await owner.ask('POST', '/v1/database/shop/names', 'store');
    const role = JSON.stringify({ role: 'reader' });
    const granted = await owner.ask('PUT', `/v1/database/shop/grants/${guest.identity}`, role);
    expect(granted.status).toBe(200);
    const secret = JSON.stringify({ value: 'a word', secret: true });
    expect((await owner.ask('PUT', '/v1/database/shop/env/KEY', secret)).status).toBe(200);
    expect((await owner.upload('cellar', program)).status).toBe(200);
    await first.stop();
    // The log goes on behind a stop, and ends without one.
    const second = await alone.start(['--data-dir', folder()]);
    expect((await owner.call('shop', 'add', ['table'])).status).toBe(200);
    await second.stop('SIGKILL');
  });
  afterAll(async () => {
    await cluster?.close();
    alone?.remove();
  });

  it('[replication 16.3, 7.10] becomes databases of three hosts, and of one machine again', async () => {
    const single = await alone.start(['--data-dir', folder()]);
    const before = { shop: await seen(owner, 'shop'), cellar: await seen(owner, 'cellar') };
    expect(before.shop).toMatchObject({ key: '"a word"', rows: { length: 3 } });
    expect(JSON.stringify(before.shop.roles)).toContain(guest.identity);
    await single.stop();
    const log = segmentsOf(folder(), before.shop.identity);

    const a = await cluster.host('a', ['--data-dir', folder(), '--import', ...operator()]);
    expect(a.output).toMatch(/import: database 1 of 2, shop \([0-9a-f]{64}\): /);
    expect(a.output).toContain('import: the logs of 2 databases are in the cluster');
    expect(existsSync(path.join(folder(), 'import.json'))).toBe(false);
    const [b, c] = [await cluster.host('b', operator()), await cluster.host('c', operator())];
    for (const host of [a, b, c]) {
      const there = owner.at(host.url);
      await expect.poll(() => seen(there, 'shop')).toEqual(before.shop);
      expect(await seen(there, 'cellar')).toEqual(before.cellar);
    }
    expect((await owner.at(c.url).call('store', 'add', ['mirror'])).status).toBe(200);
    await a.stop('SIGKILL');
    const rows = [...before.shop.rows, [4, 'mirror']];
    await expect.poll(async () => (await seen(owner.at(b.url), 'shop')).rows).toEqual(rows);

    const env = { REDUCERDB_TOKEN: b.url.replace('//', `//${owner.token}@`) };
    const at = { env: { ...env, REDUCERDB_CLUSTER_SECRET: cluster.secret } };
    const back = path.join(alone.folder, 'back');
    const words = (name: string) => ['cluster', 'export', name, back, '--server', b.url];
    expect(await alone.ok(words('shop'), at)).toMatch(
      /shop: its log of .*, up to offset \d+, is in/,
    );
    await alone.ok(words('cellar'), at);
    const twice = await alone.run(words('cellar'), at);
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('has this database') });
    expect(await alone.ok(['audit', '--data-dir', folder()])).not.toContain('export');
    const copied = segmentsOf(back, before.shop.identity);
    for (const [name, bytes] of Object.entries(log)) {
      expect(copied[name]?.subarray(0, bytes.length).equals(bytes)).toBe(true);
    }
    const again = await alone.start(['--data-dir', back]);
    expect(await seen(owner, 'shop')).toEqual({ ...before.shop, rows });
    expect(await seen(owner, 'cellar')).toEqual(before.cellar);
    expect((await guest.call('shop', 'add', ['vase'])).status).toBe(200);
    await again.stop();
    expect(await alone.ok(['verify', '--data-dir', back])).not.toMatch(/damaged|forked|missing/);
  });
});

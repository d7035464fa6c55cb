import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { itemsModule } from './cli-support.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import type { Remote } from './remote.ts';
import { writtenFrom } from './written-module.ts';

/** `TEST_SLOWNESS`: the factor for a machine that runs other tests at the same time. */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);
const patiently = { timeout: 60_000 * slowness, interval: 250 };

describe.skipIf(withoutPostgres !== undefined)('a cluster whose engine was damaged', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;
  let owner: Remote;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    await cluster.appoint();
    [a, b] = [await cluster.host('a'), await cluster.host('b')];
    owner = await cluster.owner(a);
    expect((await owner.upload('shop', await writtenFrom(itemsModule()))).status).toBe(200);
    for (let at = 0; at < 20; at++) await add(a, `item ${at}`);
  }, 120_000 * slowness);
  afterAll(() => cluster?.close());

  const add = async ({ url }: RunningService, name: string): Promise<void> => {
    const { status, text } = await owner.at(url).call('shop', 'add', [name]);
    if (status !== 200) throw new Error(`${status} ${text}`);
  };
  const names = async ({ url }: RunningService): Promise<unknown[]> => {
    return (await owner.at(url).rows('shop', 'SELECT name FROM items')).flat();
  };
  /** What is there, each once: a call whose outcome was unknown was made again. */
  const found = (at: RunningService) => {
    return names(at).then((rows) => [...new Set(rows)].sort(), String);
  };
  const shop = async (at = b) => {
    const { databases } = JSON.parse(await cluster.ok(at, ['cluster', 'databases', '--json']));
    return databases.find((one: { names: string[] }) => one.names.includes('shop'));
  };
  const copies = async (at = b): Promise<{ host: string; role: string; offset: number }[]> =>
    (await shop(at))?.copies ?? [];
  /** Runs SQL on the entries of the log of shop. */
  const onLog = async (text: string, at = b): Promise<void> => {
    const { database } = await shop(at);
    const condition = `position(decode('${database}', 'hex') in log) > 0`;
    cluster.postgres.primary.run(text.replaceAll('$log', condition));
  };

  it('[replication 16.4] is found to be whole before', async () => {
    await expect.poll(async () => (await copies()).length, patiently).toBe(2);
    const { code, stdout } = await cluster.run(b, ['cluster', 'verify']);
    expect(stdout).toMatch(/\(registry\) +\| ok/);
    expect(stdout).toMatch(/ shop +\| ok +\| \d+ +\| /);
    expect(code).toBe(0);
    const whole = await cluster.ok(b, ['cluster', 'repair', 'shop', '--from', 'a', '--yes']);
    expect(whole).toMatch(/The log of shop lacks nothing: it has every commit up to \d+\./);
  });

  it('[replication 6.13, 16.4] says which entries are missing, and begins again behind them', async () => {
    await onLog('delete from reducerdb_entry where $log and seq between 5 and 6');
    const { code, stdout, stderr } = await cluster.run(a, ['cluster', 'verify', 'shop']);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/ shop +\| FAILED/)]);
    expect(stderr).toMatch(/shop, entry 5, behind commit \d+: entry 5 or more .* missing/);
    expect(stderr).toMatch(/reducerdb cluster repair shop --from [ab]/);
    const nobody = await cluster.run(a, ['cluster', 'repair', 'shop', '--from', 'z']);
    expect(nobody.stderr).toMatch(/No host is named z\. The hosts of the cluster are .*a.*b/);
    expect(nobody.stdout + nobody.stderr).not.toContain('Make the shared log');

    const done = await cluster.ok(b, ['cluster', 'repair', 'shop', '--from', 'a', '--yes']);
    expect(done).toMatch(/The log of shop begins with entry \d+, and has every commit up to \d+/);
    expect(await cluster.ok(b, ['cluster', 'verify', 'shop'])).toMatch(/ shop +\| ok +\| \d+ from/);
    await expect.poll(() => add(b, 'after').then(() => 'added', String), patiently).toBe('added');
    const all = [...Array.from({ length: 20 }, (_, at) => `item ${at}`), 'after'].sort();
    // Who led before the repair hears of it by what it is asked.
    await expect.poll(() => found(a), patiently).toEqual(all);
    // A host without anything of it begins there.
    const c = await cluster.host('c');
    const ends = async () => [...new Set((await copies()).map(({ offset }) => offset))];
    await expect.poll(async () => (await copies()).length, patiently).toBe(3);
    await expect.poll(async () => (await ends()).length, patiently).toBe(1);
    await expect
      .poll(() => cluster.run(a, ['cluster', 'move', 'shop', 'c']), patiently)
      .toMatchObject({ code: 0 });
    await expect.poll(() => found(c), patiently).toEqual(all);
    await add(c, 'at c');
    expect(await c.stop()).toBe(0);
  });

  it('[replication 6.9] has its lost end again from a host that had it', async () => {
    await expect.poll(() => add(a, 'again').then(() => 'added', String), patiently).toBe('added');
    await expect.poll(async () => (await shop()).leader, patiently).toMatch(/^[ab]$/);
    const { leader } = await shop();
    const [led, other] = leader === 'a' ? [a, b] : [b, a];
    for (let at = 0; at < 5; at++) {
      const late = () => add(led, `late ${at}`).then(() => 'added', String);
      await expect.poll(late, patiently).toBe('added');
    }
    const before = await names(led);
    const settled = async () =>
      (await shop(other)).copies.map((copy: { acknowledged: number }) => copy.acknowledged);
    await expect.poll(async () => new Set(await settled()).size, patiently).toBe(1);
    await led.stop('SIGKILL');
    const last = '(select max(seq) from reducerdb_entry where $log)';
    await onLog(`delete from reducerdb_entry where $log and seq > ${last} - 4`, other);
    const name = other === a ? 'a' : 'b';
    await expect
      .poll(async () => (await cluster.run(other, ['cluster', 'verify', 'shop'])).stderr, patiently)
      .toMatch(`${name} has commits up to`);
    const done = await cluster.ok(other, ['cluster', 'repair', 'shop', '--from', name, '--yes']);
    expect(done).toMatch(/Commits \d+ to \d+ are in the log of shop again\./);
    await expect
      .poll(() => add(other, 'repaired').then(() => 'added', String), patiently)
      .toBe('added');
    const all = [...new Set([...before, 'repaired'])].sort();
    await expect.poll(() => found(other), patiently).toEqual(all);
    expect(await cluster.ok(other, ['cluster', 'verify', 'shop'])).toMatch(/ shop +\| ok/);
  });
});

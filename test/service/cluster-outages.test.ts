import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { itemsModule } from './cli-support.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import type { Remote } from './remote.ts';
import { writtenFrom } from './written-module.ts';

describe.skipIf(withoutPostgres !== undefined)('hosts whose PostgreSQL is away', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;
  let owner: Remote;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    await cluster.appoint();
    a = await cluster.host('a');
    b = await cluster.host('b');
    owner = await cluster.owner(a);
    const made = await owner.upload('shop', await writtenFrom(itemsModule()));
    expect(made.status).toBe(200);
    await owner.at(b.url).call('shop', 'add', ['first']);
  });
  afterAll(() => cluster?.close());

  const ready = async ({ url }: RunningService) => {
    const answer = await fetch(`${url}/v1/ready`);
    return `${answer.status} ${await answer.text()}`;
  };
  const engineAt = async (host: RunningService) => {
    const { cluster: shown } = (await cluster.asOperator(host, '/v1/health?detail')) as {
      cluster: { engine: Record<string, unknown> };
    };
    return shown.engine;
  };
  const isReady = '200 {"ready":true}';
  const isAway = '503 {"ready":false,"reason":"engine"}';
  const names = async (query = '') => {
    const where = `/v1/database/shop/sql${query}`;
    const { status, text } = await owner.ask('POST', where, 'SELECT name FROM items');
    return status === 200 ? JSON.parse(text)[0].rows.flat().sort() : text;
  };

  it('[replication 5.9, 13.1, 15.1] without a standby no host is ready; calls wait, and are then refused as not done', async () => {
    const before = a.output.length;
    await cluster.postgres.standby.stop('SIGINT');
    // It was begun before anybody knew: it is acknowledged when the standby is back.
    const begun = owner.call('shop', 'add', ['begun']);
    await expect.poll(() => ready(a)).toBe(isAway);
    await expect.poll(() => ready(b)).toBe(isAway);
    await expect
      .poll(() => engineAt(b))
      .toMatchObject({
        ...{ reached: false, takes_commits: false },
        trouble: expect.stringContaining(
          'no standby acknowledges: synchronous_standby_names names standby',
        ),
      });
    expect(await cluster.ok(a, ['cluster', 'status'])).toMatch(/its trouble +\| no standby ack/);
    const refused = [
      owner.call('shop', 'add', ['never']),
      owner.at(b.url).call('shop', 'add', ['never']),
      owner.ask('POST', '/v1/database/shop/sql', 'SELECT name FROM items'),
      owner.upload('other', await writtenFrom(itemsModule())),
    ];
    for (const { status, text, headers } of await Promise.all(refused)) {
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
      expect(text).toMatch(/takes no commits.*database\.noEngine.*Nothing was done/s);
    }
    // What is not acknowledged is seen by those alone who do not ask for that.
    expect(await names('?confirmed=false')).toEqual(['begun', 'first']);
    await cluster.postgres.standby.start();
    expect((await begun).status).toBe(200);
    await expect.poll(() => ready(a)).toBe(isReady);
    await expect.poll(() => ready(b)).toBe(isReady);
    expect((await owner.call('shop', 'add', ['after'])).status).toBe(200);
    expect(await names()).toEqual(['after', 'begun', 'first']);
    expect(a.output).toMatch(/the engine of the cluster takes no commits: no standby acknowledges/);
    expect(a.output).toContain('the engine of the cluster takes commits');
    // Nobody has taken anything over, then or afterwards.
    expect(a.output.slice(before)).not.toMatch(/is led here|was led here/);
    expect(b.output).not.toMatch(/is led here|was led here/);
  });

  it('[replication 13.1] waiting calls go on as soon as the engine is back', async () => {
    await cluster.postgres.primary.stop('SIGQUIT');
    await expect.poll(() => ready(a)).toBe(isAway);
    const waiting = Promise.all(['x', 'y'].map((name) => owner.call('shop', 'add', [name])));
    await cluster.postgres.primary.start();
    expect((await waiting).map(({ status }) => status)).toEqual([200, 200]);
    expect(await names()).toEqual(['after', 'begun', 'first', 'x', 'y']);
    await expect.poll(() => ready(b)).toBe(isReady);
  });

  it('[replication 9.5, 13.1] a host that is stopped meanwhile ends at once, and says what it did not do', async () => {
    await cluster.postgres.standby.stop('SIGINT');
    const begun = owner.call('shop', 'add', ['under way']);
    await expect.poll(() => ready(a)).toBe(isAway);
    const stopping = performance.now();
    expect(await a.stop()).toBe(0);
    expect(performance.now() - stopping).toBeLessThan(limits.shutdownMillisMax / 2);
    const { status, text } = await begun;
    expect([status, text]).toEqual([503, expect.stringContaining('outcome: unknown')]);
    expect(a.output).toContain('1 database was not handed over, because the engine of the cluster');
    expect(a.output).not.toMatch(/^\s+at /m);
    await cluster.postgres.primary.stop('SIGQUIT');
    expect(await b.stop()).toBe(0);
    expect(performance.now() - stopping).toBeLessThan(limits.shutdownMillisMax);
    expect(b.output).not.toMatch(/^\s+at /m);
  });
});

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { s3Keys } from '../support/s3-server.ts';
import { itemsModule } from './cli-support.ts';
import { clusterKillRounds } from './cluster-kill-rounds.ts';
import { ServiceCluster, StoreEngine } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { writtenFrom } from './written-module.ts';

/** `TEST_SLOWNESS`: the factor for a machine that runs other tests at the same time. */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

describe('a cluster on an S3-compatible store', () => {
  let cluster: ServiceCluster<StoreEngine>;
  let hosts: readonly RunningService[];

  beforeAll(async () => {
    cluster = await ServiceCluster.on(await StoreEngine.start());
    await cluster.appoint();
    hosts = await Promise.all([cluster.host('a'), cluster.host('b')]);
  }, 120_000);
  afterAll(() => cluster?.close());
  const host = (at: number) => hosts[at] as RunningService;

  it('[replication 16.1, 14.11] says which, and that writes are back within 10 s, not 5', async () => {
    const status = await cluster.asOperator(host(0), '/v1/cluster');
    expect(status).toMatchObject({
      engine: { copies: 'external', history: expect.stringMatching(/^objects:[0-9a-f]{32}:1$/) },
      ...{ lease_seconds: limits.s3LeaseMillis / 1_000, fail_over_seconds_max: 10 },
    });
    expect(await cluster.ok(host(0), ['cluster', 'status'])).toContain(
      'writes are back within 10 s after the loss of a leader',
    );
    const health = JSON.stringify(await cluster.asOperator(host(1), '/v1/health?detail'));
    expect(health).toContain('"fail_over_seconds_max":10');
  });

  it('[replication 7.6] keys of the store are nowhere to be seen', async () => {
    const { pid } = host(0).child;
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    const shown = await cluster.ok(host(0), ['cluster', 'status', '--json']);
    for (const text of [line, shown, host(0).output, host(1).output]) {
      expect(text).not.toContain(s3Keys.secretAccessKey);
      expect(text).not.toContain(s3Keys.accessKeyId);
    }
  });

  it('[replication 16.1, 3.6] two databases are called, and moved, at once', async () => {
    const owner = await cluster.owner(host(0));
    const module = await writtenFrom(itemsModule());
    for (const name of ['one', 'two']) {
      const made = await owner.upload(name, module);
      expect([name, made.status, made.text]).toEqual([name, 200, expect.anything()]);
    }
    const names = Array.from({ length: 20 }, (_, at) => `item ${at}`);
    const add = async (database: string, at: number) => {
      const place = owner.at(host(at % 2).url);
      return (await place.call(database, 'add', [names[at]])).status;
    };
    const calls = names.flatMap((_, at) => [add('one', at), add('two', at)]);
    const moved = cluster.ok(host(0), ['cluster', 'move', 'two', 'b']);
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    await moved;
    for (const database of ['one', 'two']) {
      const rows = await owner.at(host(1).url).rows(database, 'SELECT name FROM items');
      expect(rows.flat().sort()).toEqual([...names].sort());
    }
  });

  it('[replication 16.4] a host tries its own store', async () => {
    const text = await cluster.ok(host(0), ['cluster', 'check', '--server', host(0).url]);
    expect(text).toMatch(/one writer +\| ok/);
    expect(text).toMatch(/fail-over +\| ok +\| within 10 s/);
  });
});

it('[replication 17.5, 14.11] a leader on a store that is killed takes nothing acknowledged along', async () => {
  const { acknowledged, kills, pauses, lost, wrong } = await clusterKillRounds(
    { kills: 2, pauses: 1 },
    async () => ServiceCluster.on(await StoreEngine.start()),
  );
  const told = (millis: readonly number[]) => millis.map(Math.round).join(', ');
  console.log(`writes back after kills: ${told(kills)} ms, after a pause: ${told(pauses)} ms`);
  expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
  expect(acknowledged).toBeGreaterThan(50);
  expect(Math.max(...kills, ...pauses)).toBeLessThan(10_000 * slowness);
}, 300_000);

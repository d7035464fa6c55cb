import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkEngine } from '../../src/cluster/check-engine.ts';
import { limits } from '../../src/limits.ts';
import type { LogName } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import type { EngineCapabilities, SharedLog } from '../../src/shared-log/shared-log.ts';
import { Sandbox } from '../service/harness.ts';
import { PostgresCluster, withoutPostgres } from '../support/postgres-cluster.ts';
import { S3Server, s3Keys } from '../support/s3-server.ts';

const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => {
    if (millis === 0) setImmediate(work);
    else setTimeout(work, millis).unref();
  },
};

/** An engine with two copies, but for what a test changes. */
function engineWith(change: (client: SharedLog) => Partial<SharedLog> = () => ({})) {
  const client = new MemoryEngine({ clock }).connect('check');
  const removed: LogName[] = [];
  const capabilities = async (): Promise<EngineCapabilities> => ({
    ...{ copies: 2, entryBytesMax: limits.entryBytesMax, history: 'memory:1:1' },
  });
  const engine: SharedLog = {
    append: (items) => client.append(items),
    read: (log, from, bytesMax) => client.read(log, from, bytesMax),
    wait: (log, from, signal) => client.wait(log, from, signal),
    confirm: (items) => client.confirm(items),
    truncate: (log, before) => client.truncate(log, before),
    create: (log, bytes) => client.create(log, bytes),
    remove: async (log) => {
      removed.push(log);
      await client.remove(log);
    },
    capabilities,
    ...change(client),
  };
  return { engine, removed, client };
}

async function failed(engine: SharedLog): Promise<Record<string, string>> {
  const { findings } = await checkEngine(engine, () => performance.now());
  const faults = findings.filter(({ isFine }) => !isFine);
  return Object.fromEntries(faults.map(({ check, detail }) => [check, detail]));
}

it('[replication 16.4] a sound engine passes, and nothing stays in it', async () => {
  const { engine, removed, client } = engineWith();
  const report = await checkEngine(engine, () => performance.now());
  expect(report.findings.map(({ check, isFine }) => [check, isFine])).toEqual([
    ...[
      ['copies', true],
      ['commit', true],
      ['one writer', true],
      ['no gaps', true],
    ],
  ]);
  expect(report.append?.p99).toBeGreaterThanOrEqual(report.append?.p50 ?? Number.NaN);
  expect(report.confirm?.p50).toBeGreaterThanOrEqual(0);
  const [log] = removed;
  if (log === undefined) throw new Error('it removed nothing');
  expect((await client.read(log, 0, limits.sharedReadBytesMax)).entries).toEqual([]);
});

it('[replication 16.4] an engine that lets two writers in, or loses entries, fails', async () => {
  const liar = engineWith(() => ({ append: async (items) => items.map(() => 'stored') }));
  expect(await failed(liar.engine)).toEqual({
    'one writer': 'of 200 writers of one entry, 200 stored it',
    'no gaps': '4 writers that raced left 1 entries of 42',
  });
  const forgetful = engineWith((client) => ({
    read: async (log, from, bytesMax) => {
      const { entries, first } = await client.read(log, from, bytesMax);
      return { first, entries: entries.filter(({ seq }) => seq !== 7) };
    },
  }));
  expect(Object.keys(await failed(forgetful.engine))).toEqual(['no gaps']);
});

it('[replication 16.4, 14.6] one that acknowledges nothing, or keeps one copy, is named', async () => {
  const stuck = engineWith(() => ({ create: async () => 'unknown' }));
  expect((await failed(stuck.engine)).commit).toContain('synchronous_standby_names');
  expect(stuck.removed).toHaveLength(1);
  const single = engineWith(() => ({
    capabilities: async () => ({ copies: 1, entryBytesMax: 1, history: 'memory:1:1' }),
  }));
  expect((await failed(single.engine)).copies).toContain('--cluster-allow-single');
});

describe('with an S3-compatible store', () => {
  let store: S3Server;
  let sandbox: Sandbox;
  beforeAll(async () => {
    store = await S3Server.start();
    sandbox = await Sandbox.make();
  });
  afterEach(() => {
    store.faults = {};
  });
  afterAll(async () => {
    sandbox?.remove();
    await store?.stop();
  });
  const address = (prefix = 'a') => `s3://bucket/${prefix}?endpoint=${store.endpoint}`;
  const environment = {
    REDUCERDB_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
    REDUCERDB_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
  };

  it('[replication 16.4, 14.11] `cluster check` probes it, and says that R3 does not hold', async () => {
    const checked = await sandbox.run(['cluster', 'check', address()], { env: environment });
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    const text = checked.stdout;
    expect(text).toMatch(/copies +\| ok +\| kept by the storage \(objects:[0-9a-f]{32}:1\)/);
    expect(text).toMatch(/probe +\| ok +\| one writer of each name/);
    expect(text).toMatch(/fail-over +\| ok +\| within 10 s after the loss of a leader, not 5/);
    expect(text).toMatch(/one writer +\| ok +\| of 200 writers of one entry, 1 stored it/);
    expect(text).toMatch(/no gaps +\| ok +\| 4 writers that raced left 42 entries of 42/);
    expect(text).toMatch(/append +\| +\| p50 \d+\.\d ms, p99 \d+\.\d ms/);
    expect([...store.objects.keys()]).toEqual(['a/engine']);
  });

  it('[replication 16.4, 14.10] it fails for one that ignores conditions, and without keys', async () => {
    store.faults.conditions = 'ignored';
    const bad = await sandbox.run(['cluster', 'check', address('b')], { env: environment });
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('`If-None-Match: *`')]);
    store.faults = {};
    const none = await sandbox.run(['cluster', 'check', address('b')]);
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining('set REDUCERDB_S3_ACCESS_KEY_ID'),
    ]);
    const file = path.join(sandbox.folder, 'keys.toml');
    const { accessKeyId, secretAccessKey } = s3Keys;
    const text = `access-key-id = "${accessKeyId}"\nsecret-access-key = "${secretAccessKey}"\n`;
    writeFileSync(file, text, { mode: 0o644 });
    const words = ['cluster', 'check', address(), '--keys-file', file];
    const open = await sandbox.run(words);
    expect([open.code, open.stderr]).toEqual([1, expect.stringContaining('chmod 600 it')]);
    chmodSync(file, 0o600);
    expect((await sandbox.run(words)).code).toBe(0);
    const secret = { ...environment, REDUCERDB_S3_SECRET_ACCESS_KEY: 'verysecret' };
    const shut = await sandbox.run(['cluster', 'check', address()], { env: secret });
    expect([shut.code, shut.stderr]).toEqual([1, expect.stringContaining('403')]);
    expect(shut.stderr + shut.stdout).not.toMatch(/verysecret|AKID/);
  });
});

describe.skipIf(withoutPostgres !== undefined)('with PostgreSQL', () => {
  let cluster: PostgresCluster;
  let sandbox: Sandbox;
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    sandbox = await Sandbox.make();
  });
  afterAll(async () => {
    sandbox?.remove();
    await cluster?.stop();
  });

  it('[cli 7.13] `cluster check` shows copies and latency, and leaves no entry', async () => {
    const text = await sandbox.ok(['cluster', 'check', cluster.address]);
    expect(text).toMatch(/copies +\| ok +\| 2 \(postgres:\d+:1\)/);
    expect(text).toMatch(/one writer +\| ok +\| of 200 writers of one entry, 1 stored it/);
    expect(text).toMatch(/append +\| +\| p50 \d+\.\d ms, p99 \d+\.\d ms/);
    expect(cluster.primary.run('select count(*) from reducerdb_entry')).toBe('0');
  });

  it('[replication 16.4, 14.6] it fails for a server without a standby, and for a bad address', async () => {
    cluster.primary.run("alter system set synchronous_standby_names = ''");
    cluster.primary.run('select pg_reload_conf()');
    const single = await sandbox.run(['cluster', 'check', cluster.address, '--json']);
    expect([single.code, single.stderr]).toEqual([
      1,
      expect.stringContaining('copies: PostgreSQL'),
    ]);
    expect(JSON.parse(single.stdout).findings[0]).toMatchObject({ check: 'copies', isFine: false });
    const bad = await sandbox.run(['cluster', 'check', 'mysql://u:secret@h/d']);
    expect([bad.code, bad.stderr.includes('secret')]).toEqual([2, false]);
    expect(bad.stderr).toContain('an engine at mysql:// is not supported');
    const none = await sandbox.run(['cluster', 'check']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('REDUCERDB_CLUSTER')]);
    const away = await sandbox.run(['cluster', 'check', 'postgres://u@127.0.0.1:1/d']);
    expect([away.code, away.stderr]).toEqual([1, expect.stringContaining('cannot be used')]);
  });
});

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { fingerprintOf, keyFilesIn, loadKeys } from '../../src/auth/keys.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { EnginePort } from '../../src/cluster/engine-port.ts';
import { readHostRecord } from '../../src/cluster/host-file.ts';
import { type JoinOptions, joinCluster } from '../../src/cluster/join-cluster.ts';
import { encodeRevision, type KeyRevision } from '../../src/cluster/key-revision.ts';
import { SealedBoxes } from '../../src/cluster/sealed-boxes.ts';
import { serveEngine } from '../../src/cluster/serve-engine.ts';
import { limits } from '../../src/limits.ts';
import { writeFileAtomically } from '../../src/node/atomic-file.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import type { EngineCapabilities } from '../../src/shared-log/shared-log.ts';

const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => void setTimeout(work, millis).unref(),
};
const folders: string[] = [];
const ends: (() => void)[] = [];
const secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');
let clients = 0;

function folder(): string {
  const made = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-join-'));
  folders.push(made);
  return made;
}

interface Fakes {
  readonly copies?: EngineCapabilities['copies'];
  readonly history?: string;
}

/** The simulated engine over a channel, as if PostgreSQL were behind a thread. */
function reachOf(engine: MemoryEngine, { copies = 2, history = 'memory:1:1' }: Fakes = {}) {
  const reach: JoinOptions['reach'] = async (_, onHistory) => {
    const { port1, port2 } = new MessageChannel();
    const name = `host ${clients++}`;
    const client = engine.connect(name);
    const sharedLog = Object.assign(Object.create(client), {
      capabilities: async () => ({ copies, history, entryBytesMax: limits.entryBytesMax }),
    });
    serveEngine(port2, {
      sharedLog,
      directory: engine.directory(name),
      time: async () => Date.now(),
      history: () => history,
    });
    const port = new EnginePort(onHistory);
    port.attach(port1);
    const close = async () => port1.close();
    ends.push(() => port1.close());
    return { engine: port, history: () => history, close };
  };
  return reach;
}

function join(
  dataDirectory: string,
  engine: MemoryEngine,
  more: Partial<JoinOptions> & Fakes = {},
) {
  return joinCluster({
    ...{
      dataDirectory,
      hasDatabases: false,
      keyFiles: keyFilesIn(path.join(dataDirectory, 'keys')),
    },
    ...{ secret, leaseMillis: 2_000, allowsSingle: false, report: () => undefined },
    reach: reachOf(engine, more),
    ...more,
  });
}

afterEach(() => {
  for (const end of ends.splice(0)) end();
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});

it('[replication 7.10] the first host draws the cluster, and folders keep who they are', async () => {
  const engine = new MemoryEngine({ clock });
  const [a, b] = [folder(), folder()];
  const [one, other] = await Promise.all([join(a, engine), join(b, engine)]);
  expect(other.cluster).toBe(one.cluster);
  expect(other.host).not.toBe(one.host);
  const again = await join(a, engine);
  expect([again.cluster, again.host]).toEqual([one.cluster, one.host]);
  expect(again.boot).not.toBe(one.boot);
});

it('[replication 7.10] a folder of another cluster, or of a single machine, is refused', async () => {
  const [engine, another] = [new MemoryEngine({ clock }), new MemoryEngine({ clock })];
  const own = folder();
  await join(own, engine);
  await expect(join(own, another)).rejects.toThrow('and the engine has no cluster');
  await join(folder(), another);
  await expect(join(own, another)).rejects.toThrow('and the engine has the cluster');
  await join(own, engine, { hasDatabases: true });
  const single = folder();
  const refused = join(single, engine, { hasDatabases: true });
  await expect(refused).rejects.toThrow('holds the databases of a single machine');
  writeFileSync(path.join(single, 'cluster.json'), '{}');
  await expect(join(single, engine)).rejects.toThrow('does not say who this host is');
});

it('[replication 3.4] a host remembers the past of its engine over a restart', async () => {
  const engine = new MemoryEngine({ clock });
  const own = folder();
  const lines: string[] = [];
  const report = ({ message }: { readonly message: string }) => void lines.push(message);
  await (await join(own, engine, { history: 'memory:1:1', report })).close();
  expect((await readHostRecord(own))?.history).toBe('memory:1:1');
  await (await join(own, engine, { history: 'memory:1:3', report })).close();
  expect(lines).toEqual(['the engine goes on in a newer past: memory:1:1 → memory:1:3']);
  expect((await readHostRecord(own))?.history).toBe('memory:1:3');
  let handed: string | undefined;
  const reach: JoinOptions['reach'] = (history, onHistory) => {
    handed = history;
    return reachOf(engine, { history: 'memory:1:3' })(history, onHistory);
  };
  await join(own, engine, { reach });
  expect(handed).toBe('memory:1:3');
});

it('[replication 7.7] a cluster secret has at least 32 bytes of base64', () => {
  for (const text of ['', 'short', randomBytes(31).toString('base64'), `${'#'.repeat(60)}`]) {
    expect(() => ClusterSecret.parse(text, 'REDUCERDB_CLUSTER_SECRET')).toThrow(
      /^REDUCERDB_CLUSTER_SECRET: the cluster secret must be at least 32 random bytes/,
    );
  }
  const bytes = randomBytes(32);
  const one = ClusterSecret.parse(`${bytes.toString('base64')}\n`, 'file');
  const other = ClusterSecret.parse(bytes.toString('base64url'), 'file');
  expect(one.derive('link')).toEqual(other.derive('link'));
  expect(one.derive('link')).not.toEqual(one.derive('boxes'));
});

it('[replication 7.6] a box opens with its secret and its name, unchanged, and not else', () => {
  const box = secret.seal('keys', Buffer.from('plain'));
  expect(Buffer.from(secret.open('keys', box) ?? []).toString()).toBe('plain');
  expect(Buffer.from(box).includes('plain')).toBe(false);
  expect(secret.open('others', box)).toBeUndefined();
  const another = ClusterSecret.parse(randomBytes(48).toString('base64'), 'test');
  expect(another.open('keys', box)).toBeUndefined();
  for (let at = 0; at < box.length; at++) {
    const changed = box.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect([at, secret.open('keys', changed)]).toEqual([at, undefined]);
    expect(secret.open('keys', box.subarray(0, at))).toBeUndefined();
  }
});

it('[replication 7.7] a host with another secret is refused', async () => {
  const engine = new MemoryEngine({ clock });
  await join(folder(), engine);
  const other = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');
  const refused = join(folder(), engine, { secret: other });
  await expect(refused).rejects.toThrow("The cluster secret of this host is not the cluster's");
});

it('[replication 7.6] hosts sign with one key, and decrypt with one', async () => {
  const engine = new MemoryEngine({ clock });
  const [a, b] = [folder(), folder()];
  await Promise.all([join(a, engine), join(b, engine)]);
  const c = folder();
  await join(c, engine);
  const keysOf = (one: string) => loadKeys(keyFilesIn(path.join(one, 'keys')), writeFileAtomically);
  const prints = await Promise.all(
    [a, b, c].map(async (one) => fingerprintOf((await keysOf(one)).publicKey)),
  );
  expect(new Set(prints).size).toBe(1);
  const secrets = [a, b, c].map((one) =>
    readFileSync(path.join(one, 'keys', 'secrets.1.key'), 'utf8'),
  );
  expect(new Set(secrets).size).toBe(1);
  // Reading the engine does not give the keys.
  const sealed = await engine.directory('thief').secretBox('signing-keys');
  expect(Buffer.from(sealed ?? []).toString('latin1')).not.toContain('PRIVATE');
  const boxes = new SealedBoxes(engine.directory('host'), secret);
  expect(Buffer.from((await boxes.get('signing-keys')) ?? []).toString()).toContain('PRIVATE');
});

it('[replication 7.6] a host with a signing key, or a key for secrets, of its own is refused', async () => {
  const engine = new MemoryEngine({ clock });
  await join(folder(), engine);
  const own = folder();
  await loadKeys(keyFilesIn(path.join(own, 'keys')), writeFileAtomically);
  await expect(join(own, engine)).rejects.toThrow(
    /signs tokens with the key SHA256:\S+ .* cluster/,
  );
  const other = folder();
  await join(other, engine);
  const file = path.join(other, 'keys', 'secrets.1.key');
  writeFileSync(file, randomBytes(32).toString('base64url'));
  chmodSync(file, 0o600);
  await expect(join(other, engine)).rejects.toThrow('encrypts secrets with another key');
});

it('[replication 14.6] an engine with one copy is refused, unless that is accepted', async () => {
  const engine = new MemoryEngine({ clock });
  const refused = join(folder(), engine, { copies: 1 });
  await expect(refused).rejects.toThrow(/synchronous_standby_names.*--cluster-allow-single/);
  const lines: string[] = [];
  const report = ({ message }: { readonly message: string }) => void lines.push(message);
  await join(folder(), engine, { copies: 1, allowsSingle: true, report });
  expect(lines.join()).toContain('keeps one copy');
  await join(folder(), engine, { copies: 'external' });
});

it('[replication 5.11, 16.2] how leaders are read is the same on all hosts, and shuts earlier versions out', async () => {
  const engine = new MemoryEngine({ clock });
  await join(folder(), engine, { isReadByLease: true });
  const refused = join(folder(), engine);
  await expect(refused).rejects.toThrow(/reads is engine here, and the cluster began with lease/);
  const other = join(folder(), engine, { isReadByLease: true, leaseMillis: 4_000 });
  await expect(other).rejects.toThrow('the cluster began with 2000 ms');
  const joined = await join(folder(), engine, { isReadByLease: true });
  // Such a version knows one name for the lease, does not find it, and does not start.
  const boxes = new SealedBoxes(joined.engine, secret);
  const settings = Buffer.from((await boxes.get('settings')) ?? []).toString('utf8');
  expect(JSON.parse(settings)).toEqual({ readLeaseMillis: 2_000 });
  const revision = joined.keys?.revision;
  const put = Buffer.from(encodeRevision(revision as KeyRevision)).toString('utf8');
  expect(JSON.parse(put)).not.toHaveProperty('leaseMillis');
  const usual = new MemoryEngine({ clock });
  await join(folder(), usual);
  const late = join(folder(), usual, { isReadByLease: true });
  await expect(late).rejects.toThrow(/reads is lease here, and the cluster began with engine/);
});

it('[replication 16.2] the lease is the same on all hosts', async () => {
  const engine = new MemoryEngine({ clock });
  await join(folder(), engine);
  const refused = join(folder(), engine, { leaseMillis: 4_000 });
  await expect(refused).rejects.toThrow('the cluster began with 2000 ms');
});

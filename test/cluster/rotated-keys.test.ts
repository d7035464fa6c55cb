import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { fingerprintOf, keyFilesIn, loadKeys, rotateKeys } from '../../src/auth/keys.ts';
import { readSecretKeys } from '../../src/auth/secret-keys.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { type JoinedHost, type JoinOptions, joinCluster } from '../../src/cluster/join-cluster.ts';
import type { KeyKeeper } from '../../src/cluster/key-keeper.ts';
import { KeyOrders } from '../../src/cluster/key-orders.ts';
import { LinkClient } from '../../src/cluster/link-client.ts';
import { LinkServer } from '../../src/cluster/link-server.ts';
import { LinkIdentity } from '../../src/cluster/link-tls.ts';
import { writeFileAtomically } from '../../src/node/atomic-file.ts';
import type { SeenHost } from '../../src/shared-log/directory.ts';
import type { HostId } from '../../src/shared-log/host-ids.ts';
import { clusterId } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';

const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => void setTimeout(work, millis).unref(),
};
const folders: string[] = [];
const ends: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-keys-'));
  folders.push(made);
  return made;
}

const drawn = () => randomBytes(32).toString('base64');
const secretOf = (...texts: readonly string[]) => ClusterSecret.parse(texts.join('\n'), 'test');

interface TestHost {
  readonly joined: JoinedHost;
  readonly keys: KeyKeeper;
  readonly data: string;
  readonly secret: ClusterSecret;
}

/** Hosts that know each other, and ask each other without a port between them. */
class Hosts {
  readonly engine = new MemoryEngine({ clock });
  readonly hosts: TestHost[] = [];
  readonly deaf = new Set<HostId>();
  /** True: what not all hosts have is not waited for. */
  isHasty = false;
  /** How often hosts answer before they are deaf, too. */
  answersLeft = Number.POSITIVE_INFINITY;

  async join(secret: ClusterSecret, data = folder(), more: Partial<JoinOptions> = {}) {
    const name = `host ${this.hosts.length}`;
    const client = Object.assign(
      Object.create(this.engine.connect(name)),
      this.engine.directory(name),
    );
    const directory = this.engine.directory(name);
    const engine = Object.assign(client, {
      secretBox: directory.secretBox.bind(directory),
      capabilities: async () => ({ copies: 2, history: 'memory:1:1', entryBytesMax: 2 ** 20 }),
    });
    const joined = await joinCluster({
      ...{ dataDirectory: data, hasDatabases: false, keyFiles: filesOf(data), secret },
      ...{ leaseMillis: 2_000, allowsSingle: false, report: () => undefined },
      reach: async () => ({ engine, history: () => 'memory:1:1', close: async () => undefined }),
      ...more,
    });
    if (joined.keys === undefined) throw new Error('a host shares keys');
    const host = { joined, keys: joined.keys, data, secret };
    this.hosts.push(host);
    return host;
  }

  orders({ joined, keys }: TestHost): KeyOrders {
    const rows = this.hosts.map(({ joined: { host } }, at) => {
      return { host, name: 'abc'[at] ?? '', address: String(at) } as SeenHost;
    });
    return new KeyOrders({
      ...{ me: joined.host, keeper: keys, membership: { hosts: rows, living: rows } },
      ...(this.isHasty && { millisMax: 1 }),
      client: {
        askHost: async (address, asked) => {
          const host = this.hosts[Number(address)];
          if (host === undefined || this.deaf.has(host.joined.host)) throw new Error('no answer');
          if (this.answersLeft-- <= 0) throw new Error('no answer');
          return host.keys.answer(asked);
        },
      },
    });
  }
}

function filesOf(data: string) {
  return keyFilesIn(path.join(data, 'keys'));
}

async function printsOf(data: string): Promise<string[]> {
  const { publicKey, oldKeys } = await loadKeys(filesOf(data), writeFileAtomically);
  return [publicKey, ...oldKeys.map(({ key }) => key)].map(fingerprintOf);
}

it('[replication 7.6] a rotated key is the one of every host, and the one before verifies', async () => {
  const text = drawn();
  const hosts = new Hosts();
  const a = await hosts.join(secretOf(text));
  const b = await hosts.join(secretOf(text));
  const [before = ''] = await printsOf(a.data);
  await hosts.orders(b).rotateSigning(false);
  const [now = '', ...old] = await printsOf(a.data);
  expect(old).toEqual([before]);
  expect(now).not.toBe(before);
  expect(await printsOf(b.data)).toEqual([now, before]);
  // One that comes later, or was away meanwhile, has the same.
  const c = await hosts.join(secretOf(text));
  expect(await printsOf(c.data)).toEqual([now, before]);
  await hosts.orders(a).retireSigning(() => true);
  for (const { data } of [a, b, c]) expect(await printsOf(data)).toEqual([now]);
});

it('[replication 7.6] a host that was away takes the keys when it starts, also of a retired one', async () => {
  const text = drawn();
  const hosts = new Hosts();
  const a = await hosts.join(secretOf(text));
  const away = await hosts.join(secretOf(text));
  hosts.hosts.pop();
  for (let round = 0; round < 3; round++) await hosts.orders(a).rotateSigning(false);
  await hosts.orders(a).retireSigning((number) => number === 1);
  await hosts.orders(a).rotateSecretsKey();
  await hosts.orders(a).retireSecretsKey(1);
  await hosts.join(secretOf(text), away.data);
  expect(new Set(await printsOf(away.data))).toEqual(new Set(await printsOf(a.data)));
  const secretsOf = (data: string) =>
    readSecretKeys(path.join(data, 'keys')).keys.map(({ fingerprint }) => fingerprint);
  expect(secretsOf(away.data)).toEqual(secretsOf(a.data));
  expect(secretsOf(a.data)).toHaveLength(1);
});

it('[replication 7.6] nothing signs with a key that a living host cannot verify', async () => {
  const text = drawn();
  const hosts = new Hosts();
  const a = await hosts.join(secretOf(text));
  const b = await hosts.join(secretOf(text));
  const [before] = await printsOf(a.data);
  hosts.deaf.add(b.joined.host);
  hosts.isHasty = true;
  await expect(hosts.orders(a).rotateSigning(false)).rejects.toThrow(
    /Nothing signs with the new key yet.* b has not confirmed it: .*then run the command again/,
  );
  expect((await printsOf(a.data))[0]).toBe(before);
  hosts.deaf.clear();
  // The step that was left is gone on with: no third key is made.
  await hosts.orders(a).rotateSigning(false);
  expect((await hosts.orders(a).shown()).signing.map(({ state }) => state)).toEqual([
    'signs',
    'verifies',
  ]);
  expect(await printsOf(b.data)).toEqual(await printsOf(a.data));
});

it('[replication 7.6] nothing is retired that a living host may still sign with', async () => {
  const text = drawn();
  const hosts = new Hosts();
  const a = await hosts.join(secretOf(text));
  const b = await hosts.join(secretOf(text));
  const [before] = await printsOf(a.data);
  hosts.isHasty = true;
  // It hears of the new key, and not that this signs.
  hosts.answersLeft = 1;
  await expect(hosts.orders(a).rotateSigning(true)).rejects.toThrow(
    /The new key signs, old ones are not retired.* b has not confirmed it: .*run the command again/,
  );
  expect(await printsOf(a.data)).toContain(before);
  hosts.answersLeft = Number.POSITIVE_INFINITY;
  await hosts.orders(a).rotateSigning(true);
  const now = await printsOf(a.data);
  expect([now.length, now.includes(before ?? '')]).toEqual([1, false]);
  expect(await printsOf(b.data)).toEqual(now);
});

it('[replication 7.6] hosts that rotate at the same moment agree', async () => {
  const text = drawn();
  const hosts = new Hosts();
  const a = await hosts.join(secretOf(text));
  const b = await hosts.join(secretOf(text));
  await Promise.all([a, b].map((host) => hosts.orders(host).rotateSigning(false)));
  await a.keys.look();
  await b.keys.look();
  expect(a.keys.revision).toEqual(b.keys.revision);
  expect((await printsOf(a.data))[0]).toBe((await printsOf(b.data))[0]);
});

it('[replication 7.6] an imported folder brings the keys that its tokens were signed with before', async () => {
  const text = drawn();
  const hosts = new Hosts();
  const single = folder();
  await loadKeys(filesOf(single), writeFileAtomically);
  await rotateKeys(filesOf(single), writeFileAtomically);
  const imports = { hasDatabases: true, importInto: async () => undefined };
  await hosts.join(secretOf(text), single, imports);
  const b = await hosts.join(secretOf(text));
  expect(await printsOf(b.data)).toEqual(await printsOf(single));
});

it('[replication 7.7] the secret is changed while hosts run; one that has the old one is refused', async () => {
  const [old, next] = [drawn(), drawn()];
  const hosts = new Hosts();
  const a = await hosts.join(secretOf(old));
  const b = await hosts.join(secretOf(old));
  const late = await hosts.join(secretOf(old));
  hosts.hosts.pop();
  await expect(hosts.orders(a).rotateSecret()).rejects.toThrow('This host has one cluster secret');
  hosts.isHasty = true;
  await a.keys.useSecret(secretOf(next, old));
  await expect(hosts.orders(a).rotateSecret()).rejects.toThrow(
    /Nothing was changed\. b has no secret [0-9a-f]{16}: write it to the file there/,
  );
  // In whichever order they stand.
  await b.keys.useSecret(secretOf(old, next));
  await expect(a.keys.useSecret(secretOf(next))).rejects.toThrow("is not the cluster's");
  await hosts.orders(a).rotateSecret();
  const [name] = secretOf(next).names;
  for (const { keys } of [a, b]) expect(keys.state.secrets[0]).toBe(name);
  // A second try does not go back to the one that may have been stolen.
  await expect(hosts.orders(b).rotateSecret()).rejects.toThrow('Nothing was changed: ');
  expect(b.keys.state.secrets[0]).toBe(name);
  await a.keys.useSecret(secretOf(next));
  await hosts.orders(a).rotateSigning(false);
  await b.keys.useSecret(secretOf(next));
  expect(await printsOf(b.data)).toEqual(await printsOf(a.data));
  await late.keys.look();
  expect(late.keys.isShut).toBe(true);
  await expect(hosts.join(secretOf(old), late.data)).rejects.toThrow("is not the cluster's");
  await late.keys.useSecret(secretOf(next));
  expect(late.keys.isShut).toBe(false);
  expect(await printsOf(late.data)).toEqual(await printsOf(a.data));
  await expect(a.keys.useSecret(secretOf(old))).rejects.toThrow("is not the cluster's");
});

it('[replication 7.7] links hold while the secret is changed, and then take the new one alone', async () => {
  const [old, next] = [drawn(), drawn()];
  const cluster = clusterId(7n);
  const ofServer = secretOf(old);
  const server = await LinkServer.listen({
    ...{ identity: new LinkIdentity(ofServer, cluster), boot: 1n as never },
    ...{ listen: { host: '127.0.0.1', port: 0 }, isHere: () => false },
    ...{ hintFor: () => undefined, onRequest: () => undefined, onUpgrade: () => undefined },
    onAsk: async () => ({}),
  });
  ends.push(() => server.close());
  const address = `127.0.0.1:${server.port}`;
  const asks = async (secret: ClusterSecret): Promise<boolean> => {
    const client = new LinkClient(new LinkIdentity(secret, cluster));
    try {
      await client.askHost(address, 'ping');
      return true;
    } catch {
      return false;
    } finally {
      client.close();
    }
  };
  const [oldName = '', nextName = ''] = secretOf(old, next).names;
  const counting = (secret: ClusterSecret, name: string, isChanged: boolean) => {
    secret.count(name, isChanged);
    return secret;
  };
  expect([await asks(secretOf(old)), await asks(secretOf(next))]).toEqual([true, false]);
  ofServer.replaceBy(secretOf(next, old));
  expect(await asks(counting(secretOf(old, next), oldName, false))).toBe(true);
  // The other one has heard that it has changed, this one has not.
  expect(await asks(counting(secretOf(old, next), nextName, true))).toBe(true);
  counting(ofServer, nextName, true);
  expect(await asks(secretOf(old))).toBe(true);
  ofServer.replaceBy(secretOf(next));
  expect(await asks(secretOf(old))).toBe(false);
  expect(await asks(counting(secretOf(old, next), oldName, false))).toBe(false);
  expect(await asks(counting(secretOf(next), nextName, true))).toBe(true);
});

import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ClusterPart } from '../../src/cluster/cluster-part.ts';
import type { ClusterPartOptions } from '../../src/cluster/cluster-part-options.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { EnginePort } from '../../src/cluster/engine-port.ts';
import { random128 } from '../../src/cluster/host-file.ts';
import { serveEngine } from '../../src/cluster/serve-engine.ts';
import type { ForwardedClient } from '../../src/cluster/settled-caller.ts';
import { registryIdentity } from '../../src/host/registry/registry.ts';
import { limits } from '../../src/limits.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { clusterId } from '../../src/shared-log/log-name.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { callerIdentity, type DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ada, type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';

const cluster = clusterId(7n);
const secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');

interface Member {
  readonly host: ClusterHost;
  readonly part: ClusterPart;
}

let hosts: ClusterHosts;
const parts: ClusterPart[] = [];
let a: Member;
let b: Member;
let shop: DatabaseIdentity;
/** How far the clock of `a` is ahead. */
let skewOfA: number;

/** A host with its databases, its links and its beats, on the simulated engine. */
async function start(
  name: string,
  more: Partial<ClusterPartOptions> = {},
  skewMillis?: () => Promise<number>,
): Promise<Member> {
  const { engine: server } = hosts;
  const { port1, port2 } = new MessageChannel();
  const history = () => server.history;
  const sharedLog = server.connect(name);
  serveEngine(port2, {
    sharedLog,
    directory: server.directory(name),
    time: async () => Date.now(),
    history,
  });
  const engine = new EnginePort();
  engine.attach(port1);
  const [host, boot] = [hostId(BigInt(name.charCodeAt(0))), bootId(random128())];
  const capabilities = { copies: 2, entryBytesMax: limits.entryBytesMin, history: history() };
  const part = await ClusterPart.start({
    joined: {
      ...{ cluster, host, boot, engine, history, capabilities },
      close: async () => port1.close(),
      skewMillis,
    },
    ...{ secret, leaseMillis: limits.leaseMillis, now: () => performance.now() },
    facts: {
      ...{ name, clientAddress: `http://${name}.test`, version: '0.1.0', zone: '' },
      ...{ formats: [1, 1], memoryBytes: 2 ** 36 },
    },
    ...{ listen: { host: '127.0.0.1', port: 0 }, advertise: undefined, waitsForLocalSync: true },
    onRequest: (_, response) => void response.end(`answered by ${name}`),
    onUpgrade: (_, stream) => void stream.destroy(),
    ...{ onReplaced: () => undefined, report: () => undefined },
    ...more,
  });
  parts.push(part);
  const opened = await hosts.start(name, { cluster: part.forHost });
  part.attach(opened.host.replication);
  return { host: opened, part };
}

function kindAt({ host }: Member): string {
  return host.role(shop).kind;
}

/** `b` follows `a`, and has all of it. */
async function follows(): Promise<void> {
  const role = () => {
    const now = b.host.role(shop);
    return now.kind === 'follower' && now.isAtEnd ? now.leader?.name : undefined;
  };
  await expect.poll(role).toBe('a');
}

beforeEach(async () => {
  hosts = new ClusterHosts('local');
  skewOfA = 0;
  [a, b] = [await start('a', {}, async () => skewOfA), await start('b')];
  shop = (await a.host.publish()).identity;
  await follows();
});

afterEach(async () => {
  // As a service ends: what databases have written is acknowledged first.
  await hosts.close();
  for (const part of parts.splice(0)) await part.close();
});

function request() {
  const client: ForwardedClient = {
    ...{ address: '192.0.2.1', sender: 'program', origin: 'http://x' },
    ...{ isOnMachine: false, isConfidential: false },
  };
  const head = {
    ...{ database: shop, isAsked: false, caller: undefined, client, waitsMillis: 5_000, hops: 0 },
  };
  const { signal } = new AbortController();
  const rawHeaders = ['Host', 'x.test'];
  return { method: 'GET', path: '/v1/x', rawHeaders, body: undefined, head, signal };
}

it('[replication 5.7, 7.8] a leader whose process ends is followed by the other, without a lease', async () => {
  await a.host.add(shop, 'one');
  // Pings know the process from before.
  await expect.poll(() => b.part.membership.living.length).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 3 * limits.linkPingMillis));
  const begun = performance.now();
  a.host.crash(shop);
  a.part.membership.stop();
  await a.part.stopListening();
  await expect.poll(() => kindAt(b), { interval: 10 }).toBe('leader');
  // Beats alone would have taken a lease.
  expect(performance.now() - begun).toBeLessThan(limits.leaseMillis * slowness);
  expect(await b.host.items(shop)).toEqual(['made by init', 'one']);
  expect(b.part.placeOf(shop)).toEqual({ kind: 'here' });
});

const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

it('[replication 5.7] a leader that beats no more, and whose address answers, has its lease', async () => {
  await a.host.add(shop, 'one');
  await follows();
  const begun = performance.now();
  a.part.membership.stop();
  await expect.poll(() => kindAt(b), { interval: 10 }).toBe('leader');
  expect(performance.now() - begun).toBeGreaterThan(limits.leaseMillis - limits.beatMillis);
  await b.host.add(shop, 'two');
  expect(await b.host.items(shop)).toEqual(['made by init', 'one', 'two']);
  // The old one finds out when it writes, and follows.
  await a.host.add(shop, 'late').catch(() => undefined);
  await expect.poll(() => kindAt(a)).toBe('follower');
  expect(await b.host.items(shop)).toEqual(['made by init', 'one', 'two']);
});

it('[replication 5.7, 9.5] a leader that says goodbye is followed at once', async () => {
  await a.host.add(shop, 'one');
  a.host.crash(shop);
  await a.part.membership.leave();
  await expect.poll(() => kindAt(b)).toBe('leader');
  expect(await b.host.items(shop)).toEqual(['made by init', 'one']);
});

it('[replication 8.1, 8.5] a request goes to the leader, and stays when this host leads', async () => {
  const routed = await b.part.forward(request());
  if (routed.kind !== 'answered') throw new Error(routed.kind);
  expect((await buffer(routed.answer)).toString('utf8')).toBe('answered by a');
  expect(routed.leader).toBe('http://a.test');
  expect(await a.part.forward(request())).toMatchObject({ kind: 'here' });
  a.host.crash(shop);
  await a.part.membership.leave();
  await a.part.stopListening();
  // It waits until somebody leads: this host.
  await expect.poll(() => b.part.placeOf(shop).kind).not.toBe('elsewhere');
  expect(await b.part.forward(request())).toMatchObject({ kind: 'here' });
});

it('[replication 7.2, 7.3] hosts change the registry at its leader, over their link', async () => {
  expect(a.host.role(registryIdentity).kind).toBe('leader');
  await b.host.host.addName(ada, 'shop', 'store');
  expect(b.host.host.namesOf(shop)).toEqual(['shop', 'store']);
  expect(a.host.host.namesOf(shop)).toEqual(['shop', 'store']);
  const [bob, record] = [callerIdentity(0xb0bn), a.host.host.registered('shop')];
  await b.host.host.grants.grant(ada, record, bob, 'reader');
  await a.host.host.grants.revoke(ada, record, bob);
  expect(b.host.host.grants.list(ada, record)).toEqual([]);
  // Nobody asks for what is no change.
  await expect(a.part.answer('registry', new Uint8Array([1]))).rejects.toThrow();
  expect(await a.part.answer('registry/x', new Uint8Array(0))).toBeUndefined();
});

it('[replication 6.9] hosts tell each other where acknowledged history ends', async () => {
  await a.host.add(shop, 'one');
  const end = () => {
    const role = b.host.role(shop);
    return role.kind === 'follower' && role.settledOffset >= role.end.offset ? role.end : undefined;
  };
  await expect.poll(() => end()?.offset).toBeGreaterThan(1);
  await expect.poll(async () => a.part.forHost.acknowledgedElsewhere(shop)).toEqual([end()]);
  // The leader has no end that it could name.
  expect(await b.part.forHost.acknowledgedElsewhere(shop)).toEqual([]);
});

it('[replication 7.9] a part that may not join leaves no port open', async () => {
  const options = { facts: { ...facts, name: 'a' } };
  await expect(start('c', options)).rejects.toThrow('Another host named a is in this cluster');
  const bad = { facts: { ...facts, name: 'no good name' } };
  await expect(start('c', bad)).rejects.toThrow('is not a name for a host');
  expect(parts).toHaveLength(2);
});

const facts: ClusterPartOptions['facts'] = {
  ...{ name: 'c', clientAddress: '', version: '0.1.0', zone: '', formats: [1, 1], memoryBytes: 1 },
};

function endAt({ host }: Member): readonly number[] {
  const role = host.role(shop);
  return role.kind === 'follower' ? [role.end.offset, role.settledOffset] : [];
}

it('[replication 6.3] a leader sends its entries on: who follows asks no engine for them', async () => {
  const written = (): number => a.host.host.replication.stateOf(shop)?.offset ?? 0;
  // The registry and the shop.
  await expect.poll(() => b.part.figures.streams.logs).toBe(2);
  // Entries come by themselves: the engine is not needed to follow.
  hosts.engine.cut('b');
  for (let at = 0; at < 20; at++) await a.host.add(shop, `more ${at}`);
  await expect.poll(() => endAt(b)[0]).toBe(written());
  expect(b.part.figures.streams.received).toBeGreaterThan(0);
  hosts.engine.heal('b');
  // Without the stream the engine has all of it, too.
  await a.part.stopListening();
  await a.host.add(shop, 'last');
  await expect.poll(() => endAt(b)[0]).toBe(written());
});

it('[replication 12.5] a leader whose clock goes wrong hands over, and takes nothing back', async () => {
  await a.host.add(shop, 'one');
  skewOfA = 11_000;
  await expect.poll(() => kindAt(b), { timeout: 20_000 * slowness }).toBe('leader');
  expect(a.host.role(shop).kind).toBe('follower');
  expect(await b.host.items(shop)).toEqual(['made by init', 'one']);
  const back = b.part.operations?.move(shop, 'a');
  await expect(back).rejects.toThrow('a is not ready to lead this database');
  expect(kindAt(b)).toBe('leader');
});

it('[replication 9.5] a host that drains takes nothing, though others have not seen that yet', async () => {
  const ready = () => b.part.answer(`ready/${identityToHex(shop)}`, new Uint8Array());
  await expect.poll(ready).toEqual({ isReady: true });
  const draining = b.part.membership.drain(true);
  expect(ready()).toEqual({ isReady: false });
  await draining;
  await b.part.membership.drain(false);
  expect(ready()).toEqual({ isReady: true });
});

it('[replication 9.4] a host that has just ended its draining can be given a database', async () => {
  await expect.poll(() => b.host.role(shop)).toMatchObject({ isAtEnd: true, isWarm: true });
  await b.part.membership.drain(true);
  await expect.poll(() => a.part.membership.hostOf(hostId(98n))?.state).toBe('draining');
  await b.part.membership.drain(false);
  await a.part.operations?.move(shop, 'b');
  await expect.poll(() => kindAt(b)).toBe('leader');
});

import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { get } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DiskShelf } from '../../src/host/sites/disk-shelf.ts';
import { decodeServed, encodeServed, ServedSite } from '../../src/host/sites/served-site.ts';
import { encodeRecord } from '../../src/host/sites/shared-record.ts';
import { SharedShelf } from '../../src/host/sites/shared-shelf.ts';
import { encodeSet, type SiteSet, setId } from '../../src/host/sites/site-set.ts';
import { limits } from '../../src/limits.ts';
import { bigintToHex } from '../../src/values/hex.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  ClusterServices,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { MemoryParts } from '../support/memory-parts.ts';

const store = new MemoryParts();
let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let owner: Caller;
let porter: DatabaseIdentity;
let body: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  body = await program('porter');
  const made = new ClusterServices(limits.copiesMax, store);
  ({ services, a, b, owner, identity: porter } = await startPair('porter', body, {}, made));
});
afterAll(() => services?.close());

const hashOf = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

function setOf(files: Readonly<Record<string, Uint8Array>>): SiteSet {
  const listed = Object.entries(files).map(([path, content]) => {
    return { path, hash: hashOf(content), bytes: content.length };
  });
  return { files: listed, headers: '' };
}

/** Publishes files through a host, and the program that runs with them. */
async function publish(
  at: ClusterService,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const announced = await ask(at, 'POST', '/v1/database/porter/static', {
    ...{ as: owner, headers, body: JSON.stringify(setOf(files)) },
  });
  expect(announced.status, announced.text).toBe(200);
  const { static: id, missing } = JSON.parse(announced.text);
  for (const content of Object.values(files)) {
    if (!missing.includes(hashOf(content))) continue;
    const sent = { as: owner, body: new Uint8Array(content) };
    const put = await ask(at, 'PUT', `/v1/database/porter/static/${hashOf(content)}`, sent);
    expect(put.status, put.text).toBe(200);
  }
  const where = `/v1/database/porter?host_type=Js&static=${id}`;
  const published = await ask(at, 'PUT', where, { as: owner, body });
  expect(published.text).toContain('"Success"');
}

/** What a browser gets at the app's own host, which is an address of this machine. */
const file = (at: ClusterService, path: string) =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(at.url);
    const headers = { host: `porter.localhost:${port}` };
    get({ hostname, port, path, headers, agent: false }, (answer) => {
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve(`${answer.statusCode} ${text}`));
    }).on('error', reject);
  });

async function moveTo(to: ClusterService): Promise<void> {
  const from = to === a ? b : a;
  await until(async () => {
    const moved = from.part.operations?.move(porter, to.name);
    return (await moved?.then(
      () => true,
      () => false,
    )) as boolean;
  });
  await until(() => roleAt(to, porter) === 'leader');
}

it('[replication 7.5] what was published at one host is served by every host, whoever leads', async () => {
  await publish(b, { '/index.html': Buffer.from('first'), '/empty.txt': Buffer.from('') });
  for (const host of [a, b]) expect(await file(host, '/')).toBe('200 first');
  await moveTo(b);
  for (const host of [a, b]) expect(await file(host, '/')).toBe('200 first');
  expect(await file(a, '/empty.txt')).toBe('200 ');
  await publish(a, { '/index.html': Buffer.from('second'), '/new.txt': Buffer.from('new') });
  await moveTo(a);
  // The host that led before does not serve what it had then.
  for (const host of [a, b]) expect(await file(host, '/')).toBe('200 second');
  expect(await file(b, '/new.txt')).toBe('200 new');
});

it('[replication 7.5] a host without a copy passes requests for files on', async () => {
  const c = await services.start('c');
  await until(() => c.part.membership.living.length === 3);
  expect(await file(c, '/')).toBe('200 second');
  await services.stop('c');
});

it('[replication 7.5] files stay when their leader is lost, and go with their database', async () => {
  await publish(a, { '/index.html': Buffer.from('third'), '/big.bin': randomBytes(100_000) });
  await services.stop('a');
  await until(() => roleAt(b, porter) === 'leader');
  expect(await file(b, '/')).toBe('200 third');
  const prefix = `site/${bigintToHex(porter, 64)}/`;
  expect(await store.list(prefix)).not.toEqual([]);
  const gone = await ask(b, 'DELETE', '/v1/database/porter', { as: owner });
  expect(gone.status, gone.text).toBe(200);
  await until(async () => (await store.list(prefix)).length === 0);
});

const clock = { millis: 0 };
const complaints: string[] = [];

/** Hosts' shelves of one database. */
function shelves(leads: { a: boolean; b: boolean }, parts = new MemoryParts()) {
  const shelf = (name: 'a' | 'b') =>
    new SharedShelf({
      own: new DiskShelf(`${services.folderOf(`shelf-${randomBytes(4).toString('hex')}`)}`),
      ...{ store: parts, prefix: 'site/x/', counted: () => undefined },
      nowMillis: () => clock.millis,
      complain: (problem) => complaints.push(problem),
      provesLead: async () => leads[name],
    });
  return { parts, one: shelf('a'), other: shelf('b'), third: shelf('b') };
}

const deploy = { generation: 1, program: 'ab', commit: 1 };

const idOf = (content: string) => setId(encodeSet(setOf({ '/index.html': Buffer.from(content) })));

/** The set that a shelf serves. */
async function setIn(shelf: SharedShelf): Promise<string | undefined> {
  const text = await shelf.read('served.json');
  return text && decodeServed(Buffer.from(text).toString('utf8')).setId;
}

async function serve(shelf: SharedShelf, content: Uint8Array): Promise<string> {
  mkdirSync(services.folderOf(''), { recursive: true });
  const set = setOf({ '/index.html': content });
  const draft = await shelf.draft();
  await draft.write(content);
  await draft.keepAs(hashOf(content));
  const id = setId(encodeSet(set));
  await shelf.replace(`${id}.set`, encodeSet(set));
  await shelf.replace('served.json', encodeServed(new ServedSite(id, set, []), deploy));
  return hashOf(content);
}

const lost = { body: { code: 'database.lost' } };

it('[replication 7.5] of two hosts that publish, one has, and one that no longer leads has not', async () => {
  const leads = { a: true, b: false };
  const { one, other } = shelves(leads);
  await one.refresh();
  const first = await serve(one, Buffer.from('first'));
  await expect(other.refresh()).rejects.toMatchObject({ body: { code: 'database.notLeader' } });
  Object.assign(leads, { a: false, b: true });
  await other.refresh();
  await expect(serve(one, Buffer.from('late'))).rejects.toMatchObject(lost);
  expect(await other.size(first)).toBe(5);
  await serve(other, Buffer.from('second'));
  // It leads again, and has not read what was published meanwhile.
  leads.a = true;
  await expect(serve(one, Buffer.from('stale'))).rejects.toMatchObject(lost);
  expect(one.isBehind).toBe(true);
  await one.refresh();
  expect(one.isBehind).toBe(false);
  expect(await setIn(one)).toBe(idOf('second'));
  leads.b = false;
  await expect(serve(other, Buffer.from('other'))).rejects.toMatchObject(lost);
});

/** A store whose answers can be lost: a request is repeated, or fails, though it was taken. */
class UnclearParts extends MemoryParts {
  lost: 'repeated' | 'failed' | undefined;

  override async putIfAbsent(name: string, bytes: Uint8Array): Promise<boolean> {
    const isPut = await super.putIfAbsent(name, bytes);
    if (this.lost === undefined || !name.includes('/at/')) return isPut;
    if (this.lost === 'repeated') return false;
    throw new Error('the connection ended');
  }
}

it('[replication 7.5] a publish whose record came to the store without an answer is one', async () => {
  const parts = new UnclearParts();
  const { one, other } = shelves({ a: true, b: true }, parts);
  await one.refresh();
  parts.lost = 'repeated';
  await serve(one, Buffer.from('first'));
  parts.lost = 'failed';
  await expect(serve(one, Buffer.from('second'))).rejects.toThrow('the connection ended');
  parts.lost = undefined;
  await serve(one, Buffer.from('third'));
  await other.refresh();
  expect(await setIn(other)).toBe(idOf('third'));
});

it('[replication 7.5] what a host has put that no longer led is neither served nor in the way', async () => {
  const leads = { a: true, b: true };
  const { parts, one, other } = shelves(leads);
  await one.refresh();
  await serve(one, Buffer.from('first'));
  await other.refresh();
  leads.a = false;
  await expect(serve(one, Buffer.from('late'))).rejects.toMatchObject(lost);
  const records = await parts.list('site/x/at/');
  // It is asked again: it puts no more.
  await expect(serve(one, Buffer.from('later'))).rejects.toMatchObject(lost);
  expect(await parts.list('site/x/at/')).toEqual(records);
  leads.a = true;
  await one.refresh();
  expect(await setIn(one)).toBe(idOf('first'));
  await other.refresh();
  leads.a = false;
  await expect(serve(one, Buffer.from('late'))).rejects.toMatchObject(lost);
  await serve(other, Buffer.from('second'));
  await serve(other, Buffer.from('third'));
  expect(await setIn(other)).toBe(idOf('third'));
});

it('[replication 7.5] what did not happen is not taken for the next by a later leader', async () => {
  const { one, other } = shelves({ a: true, b: true });
  await one.refresh();
  await serve(one, Buffer.from('served'));
  const next = { format: 'static-1', set: null, ...deploy, commit: undefined, decider: 'program' };
  await one.replace('next.json', JSON.stringify(next));
  await other.refresh();
  expect(await other.read('next.json')).toBeDefined();
  await other.remove(['next.json']);
  await one.refresh();
  expect(await one.read('next.json')).toBeUndefined();
  expect(await one.read('served.json')).toBeDefined();
});

it('[replication 7.5] files of many parts come back whole, and old ones go from the store', async () => {
  const { parts, one, other } = shelves({ a: true, b: true });
  await one.refresh();
  const large = randomBytes(limits.snapshotPartBytes);
  const hash = await serve(one, large);
  await other.refresh();
  expect(await other.size(hash)).toBe(large.length);
  await one.refresh();
  for (const text of ['two', 'three', 'four']) await serve(one, Buffer.from(text));
  expect((await parts.list('site/x/file/')).some((name) => name.includes(hash))).toBe(false);
  expect(await parts.list('site/x/at/')).toHaveLength(limits.siteRecordsKept);
});

it('[replication 7.5] neither late records nor beginnings of files count for the next leader', async () => {
  const { parts, one, other, third } = shelves({ a: true, b: true });
  await one.refresh();
  await other.refresh();
  const hash = await serve(other, Buffer.from('first'));
  const late = { epoch: 1, served: undefined, next: undefined };
  await parts.putIfAbsent('site/x/at/000000000099', encodeRecord(late));
  await parts.putIfAbsent('site/x/at/000000000100', Buffer.from('no record'));
  await parts.putIfAbsent(`site/x/file/${hash}/000000000099/000000`, Buffer.from('fir'));
  await third.refresh();
  expect(await setIn(third)).toBe(idOf('first'));
  expect(await third.size(hash)).toBe(5);
  // It goes on behind all numbers.
  await serve(third, Buffer.from('second'));
  expect(await parts.list('site/x/at/')).toContain('site/x/at/000000000102');
});

/** A store that goes away before an operation, once. */
class CutParts extends MemoryParts {
  /** Waited for by the next removal. */
  pause: (() => Promise<void>) | undefined;
  cut: ((operation: string, name: string) => boolean) | undefined;
  readonly asked: string[] = [];

  override putIfAbsent(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#asked('put', name) ?? super.putIfAbsent(name, bytes);
  }
  override get(name: string): Promise<Uint8Array | undefined> {
    return this.#asked('get', name) ?? super.get(name);
  }
  override async remove(name: string): Promise<void> {
    const { pause } = this;
    this.pause = undefined;
    await pause?.();
    return this.#asked('remove', name) ?? super.remove(name);
  }

  #asked(operation: string, name: string): Promise<never> | undefined {
    this.asked.push(`${operation} ${name}`);
    if (this.cut?.(operation, name) !== true) return undefined;
    this.cut = undefined;
    return Promise.reject(new Error('the store is away'));
  }
}

it('[replication 7.5] a file of which a part did not come to the store is sent again', async () => {
  const parts = new CutParts();
  const { one, other } = shelves({ a: true, b: true }, parts);
  await one.refresh();
  const large = randomBytes(2 * limits.snapshotPartBytes);
  parts.cut = (operation, name) => operation === 'put' && name.endsWith('/end');
  await expect(serve(one, large)).rejects.toThrow('the store is away');
  await one.refresh();
  const hash = await serve(one, large);
  await other.refresh();
  expect(await other.size(hash)).toBe(large.length);
});

it('[replication 7.5] a file whose removal from the store was cut off is sent again', async () => {
  const parts = new CutParts();
  const { one, other } = shelves({ a: true, b: true }, parts);
  await one.refresh();
  const large = randomBytes(2 * limits.snapshotPartBytes);
  const hash = await serve(one, large);
  for (const text of ['two', 'three']) await serve(one, Buffer.from(text));
  let removals = 0;
  parts.cut = (operation, name) => operation === 'remove' && name.includes(hash) && removals++ > 0;
  await serve(one, Buffer.from('four'));
  expect(complaints.splice(0)).toEqual([expect.stringContaining('the store is away')]);
  expect(parts.cut).toBeUndefined();
  expect((await parts.list('site/x/file/')).filter((name) => name.includes(hash))).toHaveLength(1);
  await one.refresh();
  await serve(one, large);
  await other.refresh();
  expect(await other.size(hash)).toBe(large.length);
});

it('[replication 7.5] a file that cannot be fetched is not fetched for each visitor', async () => {
  const parts = new CutParts();
  const { one, other } = shelves({ a: true, b: true }, parts);
  await one.refresh();
  const hash = await serve(one, Buffer.from('first'));
  await other.refresh();
  const asked = () => parts.asked.filter((one) => one.includes(`get site/x/file/${hash}`)).length;
  parts.cut = (operation, name) => operation === 'get' && name.includes(hash);
  for (const _ of [1, 2]) await expect(other.size(hash)).rejects.toThrow('the store is away');
  expect(asked()).toBe(1);
  clock.millis += limits.siteFetchAgainMillis;
  expect(await other.size(hash)).toBe(5);

  // What is there was damaged.
  await one.refresh();
  const next = await serve(one, Buffer.from('second'));
  const [name = ''] = (await parts.list('site/x/file/')).filter((one) => one.includes(next));
  await parts.remove(name);
  await parts.putIfAbsent(name, Buffer.from('other'));
  await other.refresh();
  for (const _ of [1, 2]) expect(await other.size(next)).toBeUndefined();
  const tries = parts.asked.filter((one) => one === `get ${name}`);
  expect(tries).toHaveLength(1);
});

it('[replication 7.5] a host that is slow to remove old files removes none of the next leader', async () => {
  const parts = new CutParts();
  const leads = { a: true, b: false };
  const { one, other, third } = shelves(leads, parts);
  await one.refresh();
  const hash = await serve(one, Buffer.from('old'));
  for (const text of ['two', 'three']) await serve(one, Buffer.from(text));
  let next: Promise<string> | undefined;
  parts.pause = async () => {
    Object.assign(leads, { a: false, b: true });
    await other.refresh();
    next = serve(other, Buffer.from('old'));
    await next;
  };
  await serve(one, Buffer.from('four'));
  expect(await next).toBe(hash);
  await third.refresh();
  expect(await setIn(third)).toBe(idOf('old'));
  expect(await third.read(`${idOf('old')}.set`)).toBeDefined();
  expect(await third.size(hash)).toBe(3);
  // What this host saw and nothing needs is gone.
  expect((await parts.list('site/x/file/')).filter((name) => name.includes(hash))).toHaveLength(1);
  expect(complaints).toEqual([]);
});

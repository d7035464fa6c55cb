import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { shopModule } from '../../../test/support/shop-module.ts';
import { parsePlace } from '../../backup/parse-place.ts';
import { initRepository } from '../../backup/repository.ts';
import { openStore } from '../../backup/repository-place.ts';
import { encodeValue } from '../../values/encode.ts';
import { identityToHex } from '../../values/identity.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { product } from '../../values/special-types.ts';
import { RunningDatabases } from '../databases/running-databases.ts';
import { Host } from '../host.ts';
import type { HostOptions } from '../host-options.ts';
import type { PublishRequest } from '../publishing/publish-request.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { QuotaName, QuotaSubject } from '../registry/quota-limits.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import type { RestoreInto } from './restore-order.ts';

const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};

let folder: string;
let host: Host;

const open = (more: Partial<HostOptions> = {}) => {
  const repositories = [{ name: 'near', url: path.join(folder, 'near'), recipients: [] }];
  return Host.open(hostOptions({ directory: path.join(folder, 'data'), repositories, ...more }));
};
const place = () => path.join(folder, 'data/databases', identityToHex(host.resolve('shop')));

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-restore-'));
  mkdirSync(path.join(folder, 'near'));
  const store = await openStore(parsePlace(path.join(folder, 'near')));
  await initRepository(store, { nowMicros: Date.now() * 1_000 });
  host = await open();
  await publish();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});

async function publish(more: Partial<PublishRequest> = {}) {
  const plain = { caller: ada, target: 'shop', clear: false, policy: 'compatible' } as const;
  const program = await buildText(shopModule());
  return host.publish({ ...plain, program, token: undefined, confirmMillis: 5_000, ...more });
}

async function* inOne(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

/** Publishes static files. */
async function serve(contents: Readonly<Record<string, string>>) {
  const byHash = new Map<string, string>();
  const files = Object.entries(contents).map(([at, content]) => {
    const hash = createHash('sha256').update(content).digest('hex');
    byHash.set(hash, content);
    return { path: at, hash, bytes: Buffer.byteLength(content) };
  });
  const { identity, owner } = host.database('shop');
  const quota = host.quotas.ofSite(owner, identity);
  const { id, missing } = await host.sites.announce(identity, { files, headers: '' }, quota);
  for (const hash of missing) {
    await host.sites.receive(identity, hash, inOne(byHash.get(hash) ?? ''), quota);
  }
  await publish({ static: { kind: 'set', id } });
}

const paths = async () => {
  const served = await host.sites.served(host.resolve('shop'));
  return served.files.map((file) => file.path);
};

async function end(job: string) {
  await vi.waitUntil(() => host.jobs.find(ada, job).state !== 'running', { timeout: 60_000 });
  return host.jobs.find(ada, job);
}

async function backUp(withLogs = false) {
  const choice = { repository: 'near', withHistory: false, withLogs, withKeys: false };
  const job = await end(host.backups.control.create(ada, host.registered('shop'), choice));
  expect(job).toMatchObject({ state: 'done' });
}

const here: RestoreInto = { kind: 'inPlace', target: 'shop', isForced: false };

const restore = (to: RestoreInto = here, by = ada) => {
  const order = { repository: 'near', backup: 'latest', database: 'shop', isDry: false } as const;
  return host.backups.restores.restore(by, { ...order, at: { kind: 'end' }, to });
};

/** One more commit. */
async function add() {
  const database = host.database('shop');
  const { schemaVersion } = await database.handle.describe();
  const outcome = await database.handle.call({
    caller: host.callerFor(ada, database),
    connection: temporaryConnection(),
    reducer: 'add',
    args: encodeValue(product(['text', { kind: 'string' }]), ['one']),
    schemaVersion,
    confirmed: true,
  });
  expect(outcome.kind).toBe('committed');
}

const folders = (start: string) => readdirSync(place()).filter((name) => name.startsWith(start));

it('[living 5.11] deploys are backed up, and a restore is one of them', async () => {
  const publishText = async (text: string) => {
    const program = await buildText(shopModule({ more: `// ${text}` }));
    await publish({ program, message: text });
  };
  const story = async (name: string) => {
    const { deploys } = await host.deploys.list(ada, host.database(name));
    return deploys.map(({ kind, message, of }) => [kind, message, of ?? 0].join(' ').trim());
  };
  const back = (name: string) =>
    host.deploys.rollBack(ada, host.database(name), {
      ...{ number: undefined, message: '', confirmMillis: 5_000 },
      permission: { policy: 'compatible', token: undefined },
    });
  await publishText('two');
  await backUp();
  await publishText('three');
  expect(await end(restore())).toMatchObject({ state: 'done', error: undefined });
  const before = ['created  0', 'updated two 0'];
  expect(await story('shop')).toEqual([...before, 'updated three 0', 'restored  2']);
  expect((await back('shop')).of.number).toBe(1);
  const to = { kind: 'new', name: 'copy', withGrants: false, sameIdentity: false } as const;
  const copied = await end(restore({ ...to, runsSchedules: false }));
  expect(copied).toMatchObject({ state: 'done', error: undefined });
  expect(await story('copy')).toEqual(before);
  expect((await back('copy')).of.number).toBe(1);
});

it('[history 5.24] static files come back with the state that they belong to', async () => {
  await serve({ '/same': 'the same', '/old': 'an old one' });
  await backUp(true);
  await serve({ '/same': 'the same', '/new': 'a new one' });
  expect(await end(restore())).toMatchObject({ state: 'done', error: undefined });
  expect(await paths()).toEqual(['/old', '/same']);
  expect(folders('log-')).toEqual(['log-2']);
  expect(readdirSync(path.join(place(), 'log-2'))).not.toContain('beside');
  await host.close();
  host = await open();
  expect(await paths()).toEqual(['/old', '/same']);
});

it('[history 5.24] the logs of the module stay those of this host', async () => {
  const logs = path.join(place(), 'module-logs');
  const known = path.join(logs, '2026-01-01.log');
  writeFileSync(known, 'as it was backed up\n');
  writeFileSync(path.join(logs, '2026-01-02.log'), 'only in the backup\n');
  await backUp(true);
  writeFileSync(known, 'as it was backed up\nand later\n');
  rmSync(path.join(logs, '2026-01-02.log'));
  expect(await end(restore())).toMatchObject({ state: 'done', error: undefined });
  expect(readFileSync(known, 'utf8')).toBe('as it was backed up\nand later\n');
  expect(readdirSync(logs)).not.toContain('2026-01-02.log');
});

it('[history 5.22, history 5.27] a fault leaves nothing, and no path is shown', async () => {
  await serve({ '/old': 'an old one' });
  await backUp();
  await serve({ '/new': 'a new one' });
  await vi.waitUntil(() => !existsSync(path.join(place(), 'static/next.json')));
  // What came before must be gone for a file to be brought.
  const old = createHash('sha256').update('an old one').digest('hex');
  rmSync(path.join(place(), 'static', old));
  const before = readdirSync(path.join(place(), 'static')).sort();
  const error = Object.assign(new Error(`EIO: cannot write, open '${place()}/log-2/x'`));
  vi.spyOn(RunningDatabases.prototype, 'adopt').mockRejectedValueOnce(error);
  const failed = await end(restore());
  expect(failed).toMatchObject({ state: 'failed' });
  expect(failed.error).toBe("EIO: cannot write, open 'the data folder of the service'");
  expect(folders('log-')).toEqual(['log-1']);
  const after = () => readdirSync(path.join(place(), 'static')).sort();
  expect(after().filter((name) => name !== 'next.json')).toEqual(before);
  expect(await paths()).toEqual(['/new']);
  expect(after()).toEqual(before);
  expect(await end(restore())).toMatchObject({ state: 'done' });
  expect(await paths()).toEqual(['/old']);
});

it('[history 5.24] quotas count a log that comes back, before it is copied', async () => {
  await backUp();
  expect(await end(restore())).toMatchObject({ state: 'done' });
  const record = host.registered('shop');
  const { identity } = record;
  const used = () => host.quotas.ofDatabase({ identity }).find(({ name }) => name === 'log-bytes');
  await vi.waitUntil(() => (used()?.used ?? 0) > 0);
  const limit = (used()?.used ?? 0) + 100;
  const set = (name: QuotaName, amount: number | null, subject: QuotaSubject) =>
    host.quotas.set(ada, { subject, owner: record.owner }, new Map([[name, amount]]));
  await set('log-bytes', limit, identity);
  const fault = 'and the limit is .* \\(log-bytes\\)\\. Delete replaced logs and old history with';
  expect(() => host.backups.restores.restoreReplaced(ada, record, 1)).toThrow(RegExp(fault));
  const refused = await end(restore());
  expect(refused).toMatchObject({ state: 'failed', error: expect.stringMatching(fault) });
  expect(folders('log-')).toEqual(['log-2']);
  await set('log-bytes', null, identity);
  await set('owner-log-bytes', limit, record.owner);
  const all = /the logs of all databases of their owner take .*owner-log-bytes/;
  expect(() => host.backups.restores.restoreReplaced(ada, record, 1)).toThrow(all);
  const copy = {
    kind: 'new',
    withGrants: false,
    sameIdentity: false,
    runsSchedules: false,
  } as const;
  expect((await end(restore({ ...copy, name: 'copy' }))).error).toMatch(all);
  await set('owner-log-bytes', null, record.owner);
  const again = await end(host.backups.restores.restoreReplaced(ada, record, 1));
  expect(again).toMatchObject({ state: 'done', error: undefined });
});

it('[history 5.23] the names of restored databases count', async () => {
  await host.close();
  host = await open({ quotas: { 'names-per-identity': 2 } });
  await backUp();
  const copy = {
    kind: 'new',
    withGrants: false,
    sameIdentity: false,
    runsSchedules: false,
  } as const;
  expect(await end(restore({ ...copy, name: 'second' }))).toMatchObject({ state: 'done' });
  const third = { ...copy, name: 'third' };
  expect(() => restore(third)).toThrow('the owner has 2 names');
});

const bob: HostCaller = { ...ada, identity: callerIdentity(0xb0bn) };
const root: HostCaller = { ...ada, identity: callerIdentity(0x400n) };
const forget = async () => end(await host.history.forget(ada, host.database('shop'), '-0'));
const holdsOf = () => host.history.status(ada, host.database('shop')).then(({ facts }) => facts);

describe('[history 3.7, history 3.21] who reads a backup', () => {
  const describeBy = (by: HostCaller) => host.backups.control.describe(by, host.registered('shop'));

  beforeEach(async () => {
    await host.close();
    host = await open({ operators: [root.identity] });
    await host.grants.grant(ada, host.database('shop'), bob.identity, 'admin');
    await add();
  });

  it('holds the history once, until it is done', async () => {
    await describeBy(bob);
    await describeBy(bob);
    await describeBy(ada);
    expect((await holdsOf()).held).toHaveLength(2);
    host.backups.control.release(bob, host.registered('shop'));
    expect((await holdsOf()).held).toHaveLength(1);
    host.backups.control.release(ada, host.registered('shop'));
    host.backups.control.release(ada, host.registered('shop'));
    expect((await holdsOf()).held).toEqual([]);
  });

  it('has few segments sealed', async () => {
    const segments = async () => (await holdsOf()).segments;
    await describeBy(ada);
    const [before, begin] = [await segments(), performance.now()];
    for (const by of [ada, bob, ada]) {
      await add();
      const { end: sealed } = await describeBy(by);
      const { offset } = host.database('shop').handle.statistics();
      expect(sealed.offset).toBe(offset);
    }
    const seconds = (performance.now() - begin) / 1_000;
    expect((await segments()) - before).toBeLessThanOrEqual(Math.floor(seconds) + 1);
    const known = await segments();
    await describeBy(ada);
    expect(await segments()).toBe(known);
  });

  it('holds nothing of a database that is deleted', async () => {
    await describeBy(bob);
    const { identity } = host.registered('shop');
    await host.remove(ada, 'shop');
    await publish();
    expect(host.registered('shop').identity).toBe(identity);
    expect((await holdsOf()).held).toEqual([]);
  });

  it('does not keep the owner from deleting it', async () => {
    await describeBy(bob);
    expect(await forget()).toMatchObject({ state: 'done', error: undefined });
    expect((await holdsOf()).held).toEqual([]);
  });

  it('keeps it as an operator, and the owner learns who and until when', async () => {
    await describeBy(root);
    const refused = await forget();
    expect(refused).toMatchObject({ state: 'failed' });
    const who = identityToHex(root.identity);
    expect(refused.error).toMatch(
      RegExp(`^The history was not deleted: backup of ${who} still needs it, until it ends, or `),
    );
    expect(refused.error).toMatch(/(29\d|300) s without progress\. Try again later$/);
    const byRoot = await host.history.forget(root, host.database('shop'), '-0');
    await vi.waitUntil(() => host.jobs.find(root, byRoot).state !== 'running');
    expect(host.jobs.find(root, byRoot)).toMatchObject({ state: 'done' });
  });
});

it('[history 3.21, history 5.24] a forget and a restore of a replaced log take turns', async () => {
  await backUp();
  expect(await end(restore())).toMatchObject({ state: 'done' });
  await add();
  const record = host.registered('shop');
  const restored = host.backups.restores.restoreReplaced(ada, record, 1);
  const forgotten = await host.history.forget(ada, host.database('shop'), '-0');
  expect(await end(restored)).toMatchObject({ state: 'done', error: undefined });
  const { state, error, result } = await end(forgotten);
  expect({ state, error }).toEqual({ state: 'done', error: undefined });
  // The one that was brought back, and the one that it replaced.
  expect(result).toMatchObject({ replaced: 2 });
  expect(folders('replaced-')).toEqual([]);
  expect(folders('log-')).toEqual(['log-3']);
});

it('[history 5.24] a replaced log that is read is not removed', async () => {
  await backUp();
  expect(await end(restore())).toMatchObject({ state: 'done' });
  const { identity } = host.registered('shop');
  const files = new DatabaseFiles(path.join(folder, 'data'));
  await files.whileReplaced(identity, 1, async () => {
    expect(await files.forgetReplaced(identity, Number.POSITIVE_INFINITY)).toBe(0);
    await expect(files.removeReplaced(identity, 1)).rejects.toThrow('it is being restored');
  });
  expect(await files.forgetReplaced(identity, Number.POSITIVE_INFINITY)).toBe(1);
  const gone = files.whileReplaced(identity, 1, async () => undefined);
  await expect(gone).rejects.toThrow('the replaced log 1 was deleted meanwhile');
});

it('[history 5.28] its former owner restores a database by its identity', async () => {
  await backUp();
  const { identity } = host.registered('shop');
  await host.remove(ada, 'shop');
  const order = {
    repository: 'near',
    backup: 'latest',
    isDry: false,
    at: { kind: 'end' },
    database: identityToHex(identity),
    to: { kind: 'new', name: 'shop', withGrants: false, sameIdentity: true, runsSchedules: false },
  } as const;
  expect(() => host.backups.restores.restore(bob, order)).toThrow('not an operator of this host');
  const { state, error } = await end(host.backups.restores.restore(ada, order));
  expect({ state, error }).toEqual({ state: 'done', error: undefined });
  expect(host.registered('shop').identity).toBe(identity);
});

import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildText } from '../../test/support/build-text.ts';
import { hostOptions } from '../../test/support/host-options.ts';
import { takeTurns } from '../../test/support/share.ts';
import { lifecycleReducers, shopModule } from '../../test/support/shop-module.ts';
import type { ReportLine } from '../node/report-line.ts';
import { encodeValue } from '../values/encode.ts';
import { identityToHex } from '../values/identity.ts';
import { asOwner, callerIdentity } from '../values/identity-roles.ts';
import { Host } from './host.ts';
import type { HostOptions } from './host-options.ts';
import type { PublishRequest } from './publishing/publish-request.ts';
import type { HostCaller } from './registry/host-caller.ts';
import { temporaryConnection } from './supervision/temporary-connection.ts';

const ada: HostCaller = {
  identity: callerIdentity(0xadan),
  payload: '{"sub":"ada"}',
  isAnonymous: false,
};
const bob: HostCaller = {
  identity: callerIdentity(0xb0bn),
  payload: '{"sub":"bob"}',
  isAnonymous: true,
};

describe.each(['local', 'worker'] as const)('a host (%s)', (placement) => {
  let directory: string;
  let host: Host;
  let reports: ReportLine[];

  /** Linked programs are kept only where a separate process links them. */
  const programs = placement === 'worker' ? ['programs'] : [];
  const options = (more: Partial<HostOptions> = {}) =>
    hostOptions({ directory, placement, report: (line) => reports.push(line), ...more });
  beforeEach(async () => {
    reports = [];
    directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-host-'));
    host = await Host.open(options());
  });
  afterEach(async () => {
    await host.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const reopen = async (more: Partial<HostOptions> = {}) => {
    await host.close();
    host = await Host.open(options(more));
  };
  const request = async (more: Partial<PublishRequest> & { text?: string } = {}) => ({
    caller: ada,
    target: 'shop' as string | undefined,
    program: await buildText(more.text ?? shopModule()),
    clear: false,
    policy: 'compatible' as const,
    token: undefined,
    confirmMillis: 5_000,
    ...more,
  });
  const publish = async (more: Partial<PublishRequest> & { text?: string } = {}) =>
    host.publish(await request(more));
  const add = async (text: string, target = 'shop', caller = ada) => {
    const database = host.database(target);
    const { schemaVersion } = await database.handle.describe();
    return database.handle.call({
      caller: host.callerFor(caller, database),
      connection: temporaryConnection(),
      reducer: 'add',
      args: encodeValue(
        { kind: 'product', elements: [{ name: 'text', type: { kind: 'string' } }] },
        [text],
      ),
      schemaVersion,
      confirmed: true,
    });
  };
  const count = async (target = 'shop', sql = 'SELECT * FROM item') => {
    const database = host.database(target);
    const outcome = await database.handle.query({
      caller: host.callerFor(ada, database),
      connection: temporaryConnection(),
      sql,
      confirmed: true,
    });
    if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    return outcome.rowCount;
  };
  const logOf = async (target = 'shop', lines?: number) => {
    let text = '';
    for await (const chunk of host.logs(ada, target, { lines, follow: false })) text += chunk;
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  };

  it('[http 6.1] creates databases with and without a name, and finds them again', async () => {
    const named = await publish();
    const nameless = await publish({ target: undefined });
    const chosen = await publish({ target: 'ab'.repeat(32) });
    const identity = host.resolve('shop');
    expect(named).toEqual({ kind: 'created', identity, name: 'shop', deploy: 1 });
    expect(identityToHex(named.identity)).toMatch(/^c200/);
    expect(nameless).toMatchObject({ kind: 'created', name: undefined });
    expect(identityToHex(chosen.identity)).toBe('ab'.repeat(32));
    await add('a');
    await reopen();
    const all = [named.identity, nameless.identity, chosen.identity];
    expect(host.databasesOwnedBy(asOwner(ada.identity))).toEqual(all);
    expect(host.databasesOwnedBy(asOwner(bob.identity))).toEqual([]);
    expect(host.namesOf(named.identity)).toEqual(['shop']);
    expect(host.database('shop')).toMatchObject({ owner: ada.identity, hostType: 'js' });
    expect(await count()).toBe(2);
    expect(await count(identityToHex(nameless.identity))).toBe(1);
  });

  it('[http 4.2] says what it does not know', async () => {
    await publish();
    expect(() => host.resolve('Shop')).toThrow('Invalid URL: invalid characters in database name');
    expect(() => host.resolve('absent')).toThrow('`absent` not found');
    expect(host.resolve('12'.repeat(32))).toBe(BigInt(`0x${'12'.repeat(32)}`));
    expect(() => host.database('12'.repeat(32))).toThrow('No such database.');
  });

  it('[http 6.1] registers the name before it checks the program', async () => {
    const broken = { kind: 'js', bytes: new TextEncoder().encode('throw 1') } as const;
    await expect(publish({ program: broken })).rejects.toMatchObject({
      body: { code: 'program.invalid' },
    });
    const identity = host.resolve('shop');
    expect(() => host.database('shop')).toThrow('No such database.');
    await expect(publish({ caller: bob })).rejects.toMatchObject({
      body: { code: 'name.notYours', message: 'shop' },
    });
    expect(await publish()).toEqual({ kind: 'created', identity, name: 'shop', deploy: 1 });
    expect(readdirSync(path.join(directory, 'databases'))).toHaveLength(1);
  });

  it('[migrations 1] leaves no database behind whose init fails', async () => {
    const text = shopModule().replace("text: 'made by init' });", "text: '' }); throw 1;");
    await expect(publish({ text })).rejects.toMatchObject({ body: { code: 'init.failed' } });
    expect(() => host.database('shop')).toThrow('No such database.');
    expect(host.databasesOwnedBy(asOwner(ada.identity))).toEqual([]);
  });

  it('[http 14] lets the owner alone do what owners do', async () => {
    const { identity } = await publish();
    const refused = (action: string) =>
      `${identityToHex(bob.identity)} is not authorized to perform action on database ` +
      `${identityToHex(identity)}: ${action}`;
    const program = await buildText(shopModule());
    await expect(publish({ caller: bob })).rejects.toThrow(refused('update database'));
    await expect(publish({ caller: bob, clear: true })).rejects.toThrow(refused('reset database'));
    expect(() => host.plans.plan(bob, host.database('shop'), program)).toThrow('update database');
    await expect(host.reset(bob, 'shop', undefined)).rejects.toThrow(refused('reset database'));
    await expect(host.remove(bob, 'shop')).rejects.toThrow(refused('delete database'));
    await expect(host.setLock(bob, 'shop', true)).rejects.toThrow(refused('delete database'));
    await expect(host.addName(bob, 'shop', 'x')).rejects.toThrow(refused('rename database'));
    await expect(host.replaceNames(bob, 'shop', [])).rejects.toMatchObject({
      body: { code: 'caller.notAuthorized' },
    });
    const request = { lines: undefined, follow: false };
    expect(() => host.logs(bob, 'shop', request)).toThrow(refused('view module logs'));
  });

  it('[http 6.1] updates, and does nothing for the same program', async () => {
    await publish();
    await add('a');
    expect(await publish()).toMatchObject({ kind: 'updated', name: 'shop' });
    const more = 'export const another = db.reducer(() => {});';
    expect(await publish({ text: shopModule({ more }) })).toMatchObject({ kind: 'updated' });
    expect(await count()).toBe(2);
    const hash = host.database('shop').initialProgram;
    expect((await host.database('shop').handle.describe()).programHash).not.toBe(hash);
  });

  it('[migrations 12.10] serialises two publishes at once', async () => {
    await publish();
    const one = publish({ text: shopModule({ more: 'export const a = db.reducer(() => {});' }) });
    const two = publish({ text: shopModule({ more: 'export const b = db.reducer(() => {});' }) });
    await Promise.all([one, two]);
    const { definition } = await host.database('shop').handle.describe();
    const names = definition.reducers.map(({ name }) => name);
    expect(names.includes('a') !== names.includes('b')).toBe(true);
  });

  it('[http 6.3] resets: rows go, identity, owner and names stay, init runs again', async () => {
    const { identity } = await publish();
    await add('a');
    expect(await host.reset(ada, 'shop', undefined)).toEqual({
      kind: 'updated',
      identity,
      name: 'shop',
      deploy: 2,
    });
    expect(await count()).toBe(1);
    const next = shopModule({ itemColumns: 'price: t.u32(),' }).replaceAll(
      'id: 0n, text',
      'id: 0n, price: 3, text',
    );
    expect(await publish({ text: next, clear: true })).toMatchObject({ kind: 'updated' });
    expect(await count('shop', 'SELECT price FROM item')).toBe(1);
    await reopen();
    expect(await count('shop', 'SELECT price FROM item')).toBe(1);
    expect(host.namesOf(identity)).toEqual(['shop']);
    const folder = path.join(directory, 'databases', identityToHex(identity));
    expect(readdirSync(folder).sort()).toEqual(['deploys', 'log-3', 'module-logs', ...programs]);
    expect((await logOf()).at(-1)).toMatchObject({ message: 'Database initialized' });
  });

  it('[migrations 8] keeps the old database when the reset fails', async () => {
    await publish();
    await add('a');
    const broken = { kind: 'js', bytes: new TextEncoder().encode('throw 1') } as const;
    await expect(host.reset(ada, 'shop', broken)).rejects.toMatchObject({
      body: { code: 'program.invalid' },
    });
    expect(await count()).toBe(2);
  });

  it('[http 6.5] neither deletes nor resets what is locked', async () => {
    await publish();
    await host.setLock(ada, 'shop', true);
    await reopen();
    await expect(host.remove(ada, 'shop')).rejects.toMatchObject({
      body: { code: 'database.locked' },
    });
    await expect(publish({ clear: true })).rejects.toMatchObject({
      body: { code: 'database.locked' },
    });
    expect(await publish()).toMatchObject({ kind: 'updated' });
    await host.setLock(ada, 'shop', false);
    await host.remove(ada, 'shop');
  });

  it('[http 6.4] deletes: files go, names stay with the deleter', async () => {
    const { identity } = await publish();
    await host.remove(ada, 'shop');
    await host.remove(ada, 'shop');
    expect(() => host.database('shop')).toThrow('No such database.');
    expect(existsSync(path.join(directory, 'databases', identityToHex(identity)))).toBe(false);
    await expect(publish({ caller: bob })).rejects.toMatchObject({
      body: { code: 'name.notYours' },
    });
    const byIdentity = publish({ caller: bob, target: identityToHex(identity) });
    await expect(byIdentity).rejects.toMatchObject({ body: { code: 'name.notYours' } });
    expect(await publish()).toEqual({ kind: 'created', identity, name: 'shop', deploy: 1 });
    expect(await count()).toBe(1);
    await expect(host.remove(ada, 'absent')).rejects.toThrow('`absent` not found');
  });

  it('[http 7] adds and replaces names', async () => {
    const { identity } = await publish();
    await publish({ caller: bob, target: 'bobs' });
    expect(await host.addName(ada, 'shop', 'store')).toBe(identity);
    expect(host.namesOf(identity)).toEqual(['shop', 'store']);
    const failures: [string, string, string][] = [
      ['Store', 'name.invalid', 'invalid characters in database name'],
      ['store', 'name.taken', 'record with the name store already exists'],
      ['bobs', 'name.notYours', 'bobs'],
    ];
    for (const [name, code, message] of failures) {
      await expect(host.addName(ada, 'shop', name)).rejects.toMatchObject({
        body: { code, message },
      });
    }
    await expect(host.replaceNames(ada, 'shop', ['new', '-'])).rejects.toThrow(
      'Error parsing `-`: invalid hyphen in database name',
    );
    await expect(host.replaceNames(ada, 'shop', ['shop'])).rejects.toThrow(
      'Cannot rename to shop because it already is in use.',
    );
    await host.replaceNames(ada, 'shop', ['new', 'newer']);
    expect(host.namesOf(identity)).toEqual(['new', 'newer']);
    expect(() => host.resolve('shop')).toThrow('`shop` not found');
    await expect(publish({ caller: bob })).rejects.toMatchObject({
      body: { code: 'name.notYours' },
    });
    await reopen();
    await host.replaceNames(ada, 'new', []);
    expect(host.namesOf(identity)).toEqual([]);
    expect((await publish({ target: 'shop' })).identity).not.toBe(identity);
  });

  it('lets nobody take the identity of the registry', async () => {
    const target = '1'.padStart(64, '0');
    const words = 'the identity of the registry is reserved';
    await expect(publish({ target })).rejects.toThrow(words);
    expect(() => host.requirePublish({ caller: ada, target, clear: false })).toThrow(words);
  });

  it('admits creators as the operator says', async () => {
    await reopen({ creators: 'authenticated' });
    await expect(publish({ caller: bob })).rejects.toMatchObject({
      body: { code: 'creation.forbidden' },
    });
    await publish();
    await reopen({ creators: { identities: [bob.identity] } });
    await expect(publish({ target: 'other' })).rejects.toMatchObject({
      body: { code: 'creation.forbidden' },
    });
    expect(await publish()).toMatchObject({ kind: 'updated' });
    expect(() => host.resolve('other')).toThrow('not found');
  });

  it('[http 11] keeps and follows the log of a module', async () => {
    await publish();
    await add('a');
    const lines = await logOf();
    expect(lines.slice(-2)).toMatchObject([
      { level: 'Info', message: 'Invoking `init` reducer', function: '__spacetimedb__' },
      { level: 'Info', message: 'Database initialized', target: '__spacetimedb__' },
    ]);
    expect(Object.keys(lines[0])).toEqual([
      'level',
      'ts',
      'target',
      'filename',
      'function',
      'message',
    ]);
    expect(await logOf('shop', 1)).toHaveLength(1);
    expect(await logOf('shop', 0)).toHaveLength(0);
    const follower = host.logs(ada, 'shop', { lines: 1, follow: true });
    const first = await follower.next();
    expect(first.value).toContain('Database initialized');
    const next = follower.next();
    await host.reset(ada, 'shop', undefined);
    expect((await next).value).toContain('Creating table');
    await follower.return?.();
    expect(await follower.next()).toMatchObject({ done: true });
  });

  it('[durability 5.2] a damaged database does not keep the others from serving', async () => {
    const { identity } = await publish();
    await publish({ target: 'other' });
    await add('a');
    await add('b');
    await host.close();
    const folder = path.join(directory, 'databases', identityToHex(identity), 'log-1');
    const [segment = ''] = readdirSync(folder);
    writeFileSync(path.join(folder, segment), Buffer.alloc(10_000, 7));
    host = await Host.open(options());
    expect(await count('other')).toBe(1);
    await expect(count()).rejects.toMatchObject({
      body: {
        code: 'database.broken',
        message: expect.stringMatching(/^error starting database: log is damaged: /),
      },
    });
    expect(host.statistics().databases.map(({ state }) => state)).toEqual(['broken', 'serving']);
    const about = { database: identityToHex(identity), reason: 'refused', next: 'broken' };
    const message = expect.stringContaining('no longer serves: log is damaged');
    const errors = reports.filter(({ level }) => level === 'error');
    expect(errors).toEqual([{ level: 'error', message, about }]);
    expect(await logOf()).not.toHaveLength(0);
    await host.reset(ada, 'shop', await buildText(shopModule()));
    expect(await count()).toBe(1);
  });

  it('tolerates what a crash left behind, and refuses to lose track of databases', async () => {
    const { identity } = await publish();
    await host.close();
    const databases = path.join(directory, 'databases');
    const folder = path.join(databases, identityToHex(identity));
    for (const left of [path.join(folder, 'log-2'), path.join(databases, 'ab'.repeat(32))]) {
      const { mkdirSync } = await import('node:fs');
      mkdirSync(left);
      appendFileSync(path.join(left, 'commit-left'), 'left');
    }
    host = await Host.open(options());
    expect(await count()).toBe(1);
    expect(readdirSync(folder).sort()).toEqual(['deploys', 'log-1', 'module-logs', ...programs]);
    await host.close();
    rmSync(path.join(directory, 'registry'), { recursive: true });
    await expect(Host.open(options())).rejects.toThrow('holds databases but no registry');
    rmSync(databases, { recursive: true });
    host = await Host.open(options());
  });

  it('[durability P7, D9] shuts down under load without losing what it accepted', async () => {
    await publish();
    await host.database('shop').handle.describe();
    const calls = Array.from({ length: 200 }, (_, at) => add(`${at}`));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await host.close();
    const outcomes = await Promise.allSettled(calls);
    const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(done).toBeGreaterThan(0);
    host = await Host.open(options());
    expect(await count()).toBe(done + 1);
  });

  it('[durability 7] runs init once over publish, republish and restart', async () => {
    await publish({ text: shopModule({ more: lifecycleReducers }) });
    await publish({ text: shopModule({ more: `${lifecycleReducers}\n// changed` }) });
    await publish();
    await reopen();
    expect(await count()).toBe(1);
  });

  it('keeps everything in memory when it is told so', async () => {
    await reopen({ directory: undefined });
    await publish();
    await add('a');
    expect(await count()).toBe(2);
    expect(await logOf()).not.toHaveLength(0);
    await host.reset(ada, 'shop', undefined);
    await host.remove(ada, 'shop');
    expect(host.databasesOwnedBy(asOwner(ada.identity))).toEqual([]);
  });

  takeTurns(placement, ['local', 'worker']);
});

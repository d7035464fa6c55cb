import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { takeTurns } from '../../../test/support/share.ts';
import { shopModule } from '../../../test/support/shop-module.ts';
import { limits } from '../../limits.ts';
import { encodeValue } from '../../values/encode.ts';
import { asOwner, callerIdentity } from '../../values/identity-roles.ts';
import { product } from '../../values/special-types.ts';
import { Host } from '../host.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import type { HostCaller } from './host-caller.ts';
import type { QuotaLimits } from './quota-limits.ts';

const person = (identity: bigint, address?: string): HostCaller => ({
  identity: callerIdentity(identity),
  payload: '{}',
  isAnonymous: false,
  ...(address !== undefined && { address }),
});
const ada = person(0xadan);
const bob = person(0xb0bn);
const root = person(0x400n);

describe.each(['local', 'worker'] as const)('a host with quotas (%s)', (placement) => {
  let directory: string;
  let host: Host;

  const options = (quotas: QuotaLimits) =>
    hostOptions({ directory, placement, operators: [root.identity], quotas });
  const open = async (quotas: QuotaLimits) => {
    host = await Host.open(options(quotas));
  };
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-quotas-'));
  });
  afterEach(async () => {
    await host.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const publish = async (target: string | undefined, caller = ada) =>
    host.publish({
      caller,
      target,
      program: await buildText(shopModule()),
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
  const refusalOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'nothing was refused',
      (error: Error) => error.message,
    );
  const add = async (text: string, target = 'shop') => {
    const database = host.database(target);
    const { schemaVersion } = await database.handle.describe();
    const outcome = await database.handle.call({
      caller: host.callerFor(ada, database),
      connection: temporaryConnection(),
      reducer: 'add',
      args: encodeValue(product(['text', { kind: 'string' }]), [text]),
      schemaVersion,
      confirmed: true,
    });
    return outcome.kind === 'committed' ? 'committed' : outcome.error;
  };
  const sql = async (text: string, target = 'shop') => {
    const database = host.database(target);
    const outcome = await database.handle.query({
      caller: host.callerFor(ada, database),
      connection: temporaryConnection(),
      sql: text,
      confirmed: true,
    });
    return outcome.kind === 'result' ? outcome.rowCount : outcome.error;
  };
  const usedBy = (target: string) => {
    const uses = host.quotas.ofDatabase(host.database(target));
    return Object.fromEntries(uses.map(({ name, used }) => [name, used]));
  };
  const kibibyte = 'x'.repeat(1_024);
  const fill = async (target = 'shop', countMax = 200) => {
    for (let count = 0; count < countMax; count += 1) {
      const outcome = await add(kibibyte + count, target);
      if (outcome !== 'committed') return outcome;
    }
    throw new Error('nothing was refused');
  };

  it.skipIf(placement === 'worker')(
    'opens closed databases of an owner whose bytes count together',
    async () => {
      await open({});
      const names = Array.from({ length: limits.startDatabasesMax + 1 }, (_, at) => `shop-${at}`);
      for (const name of names) await publish(name);
      const states = () => host.statistics().databases.map(({ state }) => state);
      const serving = names.map(() => 'serving');
      await host.close();
      await open({});
      const opened = [...serving.slice(1), 'closed'].sort();
      await expect.poll(() => states().sort()).toEqual(opened);
      const subject = asOwner(ada.identity);
      const amounts = new Map([['owner-row-bytes', 100_000_000]] as const);
      await host.quotas.set(root, { subject, owner: subject }, amounts);
      await expect.poll(states).toEqual(serving);
      await host.close();
      await open({});
      await expect.poll(states).toEqual(serving);
    },
  );

  it('bounds the names of an identity and an address, with and without databases', async () => {
    await open({ 'names-per-identity': 3, 'names-per-address': 4 });
    const refused = { kind: 'js', bytes: new TextEncoder().encode('throw 1') } as const;
    const fail = (target: string | undefined, caller = ada) =>
      refusalOf(
        host.publish({
          caller,
          target,
          program: refused,
          clear: false,
          policy: 'compatible',
          token: undefined,
          confirmMillis: 5_000,
        }),
      );
    await publish('one');
    expect(await fail('two')).not.toContain('Quota');
    await host.addName(ada, 'one', 'three');
    const full =
      'Quota exceeded: the owner has 3 names of databases, including those of deleted ones, ' +
      'and the limit is 3 (names-per-identity). Use one of them, or ask an operator of the ' +
      'service for more';
    expect(await fail('four')).toBe(full);
    expect(await refusalOf(host.addName(ada, 'one', 'four'))).toBe(full);
    expect(await refusalOf(host.replaceNames(ada, 'one', ['four', 'five', 'four']))).toBe(full);
    // An existing name can be used, and an operator can have more.
    await publish('two');
    await host.addName(root, 'one', 'four');
    const used = () =>
      host.quotas.ofIdentity(asOwner(ada.identity)).find(({ name }) => /^names/.test(name));
    expect(used()).toMatchObject({ used: 4, limit: 3 });

    const here = (identity: bigint) => person(identity, '192.0.2.7');
    for (const at of [1n, 2n, 3n]) expect(await fail(`n${at}`, here(at))).not.toContain('Quota');
    // Without a name there is nothing to count.
    for (const at of [1n, 2n]) expect(await fail(undefined, here(at))).not.toContain('Quota');
    expect(await fail('n4', here(4n))).not.toContain('Quota');
    expect(await fail('n5', here(5n))).toContain('your address has 4 names');
    expect(await fail('n5', person(5n, '192.0.2.8'))).not.toContain('Quota');
  });

  it('bounds the databases of an identity, but not of an operator', async () => {
    await open({ 'databases-per-identity': 2 });
    await publish('one');
    await publish(undefined);
    const refusal =
      'Quota exceeded: your identity has 2 databases, and the limit is 2 ' +
      '(databases-per-identity). Delete one, or ask an operator of the service for more';
    expect(await refusalOf(publish('three'))).toBe(refusal);
    expect(await refusalOf(publish(undefined))).toBe(refusal);
    expect(await refusalOf(publish('ab'.repeat(32)))).toBe(refusal);
    // Nothing was done: the name is free, and existing ones can be updated, or taken by others.
    expect((await publish('three', bob)).kind).toBe('created');
    expect((await publish('one')).kind).toBe('updated');
    for (const name of ['a', 'b', 'c']) await publish(name, root);
    await host.remove(ada, 'one');
    expect((await publish('four')).kind).toBe('created');
  });

  it('counts what is being created, too', async () => {
    await open({ 'databases-per-identity': 2 });
    const names = ['a', 'b', 'c', 'd', 'e'];
    const outcomes = await Promise.allSettled(names.map((name) => publish(name)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(2);
    expect(host.databasesOwnedBy(asOwner(ada.identity)).length).toBe(2);
  });

  it('bounds the databases of an address, also after a restart', async () => {
    const quotas = { 'databases-per-address': 2 };
    await open(quotas);
    await publish('one', person(1n, '192.0.2.7'));
    await publish('two', person(2n, '192.0.2.7'));
    const refused = () => refusalOf(publish('three', person(3n, '192.0.2.7')));
    expect(await refused()).toContain('your address has 2 databases, and the limit is 2');
    await publish('six', person(3n, '2001:db8::1'));
    await publish('seven', person(4n, '2001:db8::2'));
    expect(await refusalOf(publish('eight', person(5n, '2001:db8::3')))).toContain('your address');
    await host.close();
    await open(quotas);
    expect(await refused()).toContain('your address has 2 databases');
    await host.remove(person(1n), 'one');
    expect((await publish('three', person(3n, '192.0.2.7'))).kind).toBe('created');
  });

  it('refuses calls and statements that add rows, and nothing else', async () => {
    await open({ 'row-bytes': 64 * 1_024 });
    await publish('shop');
    const error = await fill();
    expect(error).toMatchObject({ code: 'quota.exceeded' });
    expect(error.code === 'quota.exceeded' && error.message).toMatch(
      /^Quota exceeded: the rows of this database would take [\d.]+ KiB, and the limit is 64 KiB/,
    );
    const before = await sql('SELECT * FROM item');
    const inserted = await sql(`INSERT INTO item (id, text) VALUES (9999, '${kibibyte}')`);
    expect(inserted).toMatchObject({ code: 'quota.exceeded' });
    expect(await sql('SELECT * FROM item')).toBe(before);
    expect(await sql("UPDATE item SET text = 'short' WHERE id = 1")).toBe(0);
    expect(await sql('DELETE FROM item WHERE id < 10')).toBe(0);
    expect(await add('there is room again')).toBe('committed');
  });

  it('refuses to make a long log longer, but by deleting', async () => {
    await open({ 'log-bytes': 64 * 1_024 + (await buildText(shopModule())).bytes.length });
    await publish('shop');
    const error = await fill();
    expect(error.code === 'quota.exceeded' && error.message).toMatch(
      /^Quota exceeded: the log of this database takes .*Shorten its history .*, or ask/,
    );
    expect(await sql("UPDATE item SET text = 'x' WHERE id = 1")).toMatchObject({
      code: 'quota.exceeded',
    });
    expect(await sql('DELETE FROM item WHERE id < 10')).toBe(0);
    expect(await sql('SELECT * FROM item')).toBeGreaterThan(0);
  });

  it('counts the log that is kept: forgetting makes room', async () => {
    await open({ 'log-bytes': 64 * 1_024 + (await buildText(shopModule())).bytes.length });
    await publish('shop');
    await fill();
    const before = usedBy('shop')['log-bytes'] ?? 0;
    const job = await host.history.forget(ada, host.database('shop'), '-0');
    await expect.poll(() => host.jobs.find(ada, job).state).toBe('done');
    await expect.poll(() => usedBy('shop')['log-bytes']).toBeLessThan(before / 8);
    expect(await add('there is room again')).toBe('committed');
    const after = usedBy('shop')['log-bytes'] ?? 0;
    await host.close();
    await open({});
    expect(await sql('SELECT * FROM item')).toBeGreaterThan(0);
    await expect.poll(() => usedBy('shop')['log-bytes'] ?? 0).toBeGreaterThan(after - 512);
    expect(usedBy('shop')['log-bytes']).toBeLessThan(before / 4);
  });

  it('bounds programs, of a database and of an owner', async () => {
    const { bytes } = await buildText(shopModule());
    await open({ 'program-bytes': bytes.length - 1 });
    expect(await refusalOf(publish('shop'))).toMatch(/^Quota exceeded: the program takes /);
    await host.close();
    await open({ 'owner-program-bytes': bytes.length + 1 });
    await publish('shop');
    await expect.poll(() => usedBy('shop')['program-bytes']).toBe(bytes.length);
    expect(await refusalOf(publish('second'))).toMatch(
      /^Quota exceeded: the programs of its owner would take .* \(owner-program-bytes\)/,
    );
    expect((await publish('of-bob', bob)).kind).toBe('created');
  });

  it('bounds what all databases of an owner hold', async () => {
    await open({ 'owner-row-bytes': 64 * 1_024 });
    await publish('shop');
    await publish('second');
    await publish('of-bob', bob);
    for (let count = 0; count < 40; count += 1) {
      expect(await add(kibibyte + count)).toBe('committed');
    }
    for (let count = 0; count < 40; count += 1) await add(kibibyte + count, 'second');
    await expect
      .poll(() => add('one more'), { timeout: 20_000 })
      .toMatchObject({
        code: 'quota.exceeded',
        message: expect.stringMatching(
          /all databases of their owner take [\d.]+ KiB, and the limit is 64 KiB/,
        ),
      });
    expect(await add('one more', 'of-bob')).toBe('committed');
    expect(await sql('DELETE FROM item WHERE id > 3', 'second')).toBe(0);
    await expect.poll(() => add('one more'), { timeout: 20_000 }).toBe('committed');
  });

  it('holds to what an operator set, at once and after a restart', async () => {
    const quotas = { 'databases-per-identity': 1, 'row-bytes': 1_024 };
    await open(quotas);
    await publish('shop');
    expect(await add(kibibyte)).toMatchObject({ code: 'quota.exceeded' });
    const { identity: subject, owner } = host.database('shop');
    await host.quotas.set(root, { subject, owner }, new Map([['row-bytes', 1_048_576]]));
    await host.quotas.set(
      root,
      { subject: owner, owner },
      new Map([['databases-per-identity', null]]),
    );
    expect(await add(kibibyte)).toBe('committed');
    await publish('second');
    expect(await add(kibibyte, 'second')).toMatchObject({ code: 'quota.exceeded' });
    await host.close();
    await open(quotas);
    expect(await add('and more')).toBe('committed');
    await publish('third');
    const noted = (await host.audit.tail(10)).map((line) => JSON.parse(line));
    expect(noted.some(({ action }) => action === 'set quota')).toBe(true);
    await host.quotas.set(root, { subject, owner }, new Map([['row-bytes', undefined]]));
    expect(await add('no more')).toMatchObject({ code: 'quota.exceeded' });
    // Quotas that were set for a database are removed with it.
    await host.quotas.set(root, { subject, owner }, new Map([['row-bytes', 7]]));
    await host.remove(ada, 'shop');
    expect(host.quotas.limitOf('row-bytes', subject)).toBe(1_024);
  });

  takeTurns(placement, ['local', 'worker']);
});

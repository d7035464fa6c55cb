import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { moduleOf, reducer, ref, u64 } from '../../../test/schema/module-builder.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { createTiny, tinyDatabase } from '../../../test/support/tiny-database.ts';
import { present } from '../../assert.ts';
import { ownerRights, roles } from '../../database/rights.ts';
import { decodeRawModule } from '../../schema/decode-raw-module.ts';
import { encodeRawModuleV10 } from '../../schema/encode-raw-module.ts';
import { Random } from '../../testing/random.ts';
import { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { encodeValue } from '../../values/encode.ts';
import {
  asCaller,
  callerIdentity,
  databaseIdentity,
  ownerIdentity,
} from '../../values/identity-roles.ts';
import { scheduleAtType } from '../../values/special-types.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import { DatabaseFiles, RegistryError } from './database-files.ts';
import type { EnvRow } from './env-row.ts';
import { openRegistry, registryDatabase } from './open-registry.ts';
import { quotaSubject } from './quota-limits.ts';
import { Registry, registryOwner } from './registry.ts';
import { registryProgram, registryReducers } from './registry-module.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-registry-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const options = () => hostOptions({ directory });

async function files(): Promise<DatabaseFiles> {
  const made = new DatabaseFiles(directory);
  await made.makeRegistry();
  return made;
}

const [five, six] = [databaseIdentity(5n), databaseIdentity(6n)];
const [one, seven] = [callerIdentity(1n), callerIdentity(7n)];

const grant = {
  database: five,
  identity: seven,
  role: 'reader',
  grantedBy: one,
  grantedMicros: 9n,
} as const;

it('keeps roles and revoked tokens; roles end with their database', async () => {
  const registry = await openRegistry(options(), await files());
  await registry.putGrant(grant);
  await registry.putGrant({ ...grant, role: 'admin' });
  await registry.putGrant({ ...grant, database: six });
  const revoked = { untilMicros: 0n, revokedBy: one, revokedMicros: 100n };
  await registry.revokeToken({ ...revoked, id: 'for ever' });
  await registry.revokeToken({ ...revoked, id: 'for a while', untilMicros: 150n });
  await registry.revokeToken({ ...revoked, id: 'in the leeway', revokedMicros: 60_000_150n });
  await registry.close();

  const again = await openRegistry(options(), await files());
  expect(again.roleOf(five, seven)).toBe('admin');
  expect(again.grantsOf(five)).toEqual([{ ...grant, role: 'admin' }]);
  expect([again.isRevoked('for ever'), again.isRevoked('for a while')]).toEqual([true, true]);
  await again.revokeToken({ ...revoked, id: 'later', revokedMicros: 120_000_151n });
  expect([again.isRevoked('for ever'), again.isRevoked('for a while')]).toEqual([true, false]);
  await again.removeDatabase(five);
  expect([again.roleOf(five, seven), again.roleOf(six, seven)]).toEqual([undefined, 'reader']);
  await again.removeGrant(six, seven);
  expect(again.grantsOf(six)).toEqual([]);
  await again.close();
});

it.each([1, 2, 3])('knows what a restart reads, in the same order (seed %i)', async (seed) => {
  const random = new Random(seed);
  let registry = await openRegistry(options(), await files());
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const known = (one: Registry) => ({
    grants: [five, six].map((database) => one.grantsOf(database)),
    tokens: [five, six].map((database) => one.issuedTokensOf(database)),
    revoked: ids.map((id) => one.isRevoked(id)),
    count: one.revokedTokenCount,
  });
  for (let now = 1n; now < 40n; now += 1n) {
    // Steps are minutes, so that tokens expire and are forgotten.
    const nowMicros = now * 60_000_000n;
    const database = random.pick([five, six]);
    const identity = callerIdentity(random.pick([1n, 2n, 3n]));
    const id = random.pick(ids);
    const untilMicros = random.pick([0n, nowMicros + 90_000_000n]);
    const steps = [
      () => registry.putGrant({ ...grant, database, identity, role: random.pick(roles) }),
      () => registry.removeGrant(database, identity),
      () => {
        const times = { issuedMicros: nowMicros, untilMicros };
        return registry.putIssuedToken({ id, database, issuedBy: one, capability: '{}', ...times });
      },
      () => registry.revokeToken({ id, untilMicros, revokedBy: one, revokedMicros: nowMicros }),
      () => (random.chance(0.2) ? registry.removeDatabase(database) : Promise.resolve()),
    ];
    await random.pick(steps)();
  }
  const before = known(registry);
  await registry.close();
  registry = await openRegistry(options(), await files());
  expect(before).toEqual(known(registry));
  await registry.close();
});

it('changes owners of databases with their names, and of nothing else', async () => {
  const registry = await openRegistry(options(), await files());
  const owner = ownerIdentity(1n);
  const made = { owner, hostType: 'js', initialProgram: 'x', createdMicros: 2n } as const;
  for (const identity of [five, six]) {
    await registry.putDatabase({ ...made, identity, isLocked: true, generation: 3 });
    await registry.putName(`of-${identity}`, owner, identity);
  }
  await registry.putName('released', owner, databaseIdentity(0n));
  await registry.changeOwner(five, ownerIdentity(9n));
  await registry.changeOwner(databaseIdentity(7n), ownerIdentity(9n));
  await registry.close();

  const again = await openRegistry(options(), await files());
  expect([...again.databases]).toEqual([
    { ...made, identity: 5n, owner: 9n, isLocked: true, generation: 3 },
    { ...made, identity: 6n, owner: 1n, isLocked: true, generation: 3 },
  ]);
  const owners = ['of-5', 'of-6', 'released'].map((name) => again.name(name)?.owner);
  expect(owners).toEqual([9n, 1n, 1n]);
  await again.close();
});

it('is named in front of what its database warns of, which is a sentence of its own', async () => {
  // Only a database with schedules minds a clock that was set back.
  const jobs = { name: 'jobs', columns: { id: u64, at: scheduleAtType }, primaryKey: 'id' };
  const schedule = { tableName: 'jobs', atColumn: 1, functionName: 'tidy' };
  const raw = moduleOf([jobs], {
    reducers: [reducer('tidy', { job: ref(0) })],
    schedules: [{ sourceName: undefined, ...schedule }],
  });
  const bytes = encodeRawModuleV10(raw);
  const program = { kind: 'js', bytes } as const;
  const given = options();
  const first = registryDatabase(given, await files(), program);
  await first.started();
  await first.close();
  const lines: string[] = [];
  const report = ({ message }: { readonly message: string }) => void lines.push(message);
  const nowMicros = () => given.clock.nowMicros() - 3_600_000_000n;
  const monotonicMillis = () => given.clock.monotonicMillis();
  const clock = { nowMicros, monotonicMillis };
  const again = registryDatabase({ ...given, clock, report }, await files(), program);
  await again.started();
  await again.close();
  expect(lines[0]).toMatch(/^The registry: The clock is 3[56]\d\d s behind the last commit\. /);
});

it('is not taken by an earlier version than made it, and says so', async () => {
  const now = decodeRawModule(registryProgram());
  const table = present(now.tables[0], 'a table');
  const without = { primaryKey: [], indexes: [], constraints: [], sequences: [] };
  const later = { ...table, ...without, sourceName: 'of_a_later_version' };
  const bytes = encodeRawModuleV10({ ...now, tables: [...now.tables, later] });
  const made = registryDatabase(options(), await files(), { kind: 'js', bytes });
  await made.started();
  await made.close();
  const folder = path.join(directory, 'registry');
  const contents = () => readdirSync(folder).map((name) => readFileSync(path.join(folder, name)));
  const before = contents();
  const opened = openRegistry(options(), await files());
  await expect(opened).rejects.toBeInstanceOf(RegistryError);
  await expect(opened).rejects.toThrow(
    /registry was written by a later version of reducerdb, .* Start that version or a later one/,
  );
  // It stays to the byte what that version has left.
  expect(contents().map((bytes) => bytes.toString('hex'))).toEqual(
    before.map((bytes) => bytes.toString('hex')),
  );
});

it('that cannot be opened is only put back from a copy when its log is damaged', async () => {
  await (await openRegistry(options(), await files())).close();
  const folder = path.join(directory, 'registry');
  const log = path.join(folder, present(readdirSync(folder)[0], 'a segment'));
  const advice = 'restore this from a backup';
  const fault = async () => {
    const error = await openRegistry(options(), await files()).then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error).toBeInstanceOf(RegistryError);
    return error?.message;
  };
  symlinkSync(log, path.join(folder, 'link'));
  expect(await fault()).toContain('is a symbolic link, which is not followed');
  expect(await fault()).not.toContain(advice);
  rmSync(path.join(folder, 'link'));
  const bytes = readFileSync(log);
  bytes.fill(0xff, 0, 20);
  writeFileSync(log, bytes);
  expect(await fault()).toContain(advice);
});

it('[replication 9.7] serves as an earlier version made it until it is renewed', async () => {
  const now = decodeRawModule(registryProgram());
  const isOld = ({ sourceName }: { sourceName: string }) => !/copy_count|adopt/.test(sourceName);
  const bytes = encodeRawModuleV10({
    ...now,
    tables: now.tables.filter(isOld),
    reducers: now.reducers.filter(isOld),
  });
  const program = { kind: 'js', bytes: registryProgram() } as const;
  const handle = registryDatabase(options(), await files(), { kind: 'js', bytes });
  await handle.started();
  let mayRenew = false;
  const registry = await Registry.open(handle, {
    renew: async () => {
      if (!mayRenew) return;
      await handle.update(program, { policy: 'compatible', token: undefined }, 60_000);
    },
  });
  await registry.putGrant(grant);
  await expect(registry.copies.put(five, 3)).rejects.toMatchObject({
    body: {
      code: 'migration.refused',
      message: expect.stringMatching(/^A host of an earlier version is in the cluster/),
    },
  });
  mayRenew = true;
  await registry.copies.put(five, 3);
  expect([registry.copies.of(five), registry.roleOf(five, seven)]).toEqual([3, 'reader']);
  await registry.close();
});

it.each([
  ['long ago', /grant|revoked|origin|quota|schedule|env/],
  ['before values were staged', /staged_env|set_env|stage_env|settle_env/],
])('takes its new tables in when an earlier version made it, %s', async (_when, lacking) => {
  const now = decodeRawModule(registryProgram());
  const isOld = ({ sourceName }: { sourceName: string }) => !lacking.test(sourceName);
  const bytes = encodeRawModuleV10({
    ...now,
    tables: now.tables.filter(isOld),
    reducers: now.reducers.filter(isOld),
  });
  const old = registryDatabase(options(), await files(), { kind: 'js', bytes });
  const { schemaVersion } = await old.describe();
  await old.call({
    caller: { identity: asCaller(registryOwner), rights: ownerRights, jwtPayload: '' },
    connection: temporaryConnection(),
    reducer: 'put_name',
    args: encodeValue(registryReducers.put_name, ['kept', 3n, 4n]),
    schemaVersion,
    confirmed: true,
  });
  await old.close();

  const registry = await openRegistry(options(), await files());
  expect(registry.name('kept')).toMatchObject({ owner: 3n, database: 4n });
  await registry.putGrant(grant);
  expect(registry.roleOf(five, seven)).toBe('reader');
  await registry.putOrigin(databaseIdentity(4n), '192.0.2.1');
  await registry.putQuota({ subject: ownerIdentity(3n), name: 'row-bytes', amount: undefined });
  await registry.putSchedules(databaseIdentity(4n), { exist: true, isPaused: true });
  const publish = { generation: 2, program: 'a'.repeat(64), decider: 'program' } as const;
  await registry.env.stage(five, { ...publish, rows: [envRow('URL', 1n)] });
  await registry.close();
  const again = await openRegistry(options(), await files());
  expect(again.originOf(databaseIdentity(4n))).toBe('192.0.2.1');
  expect(again.quota(ownerIdentity(3n), 'row-bytes')).toMatchObject({ amount: undefined });
  expect(again.name('kept')).toMatchObject({ owner: 3n });
  expect(again.schedulesOf(databaseIdentity(4n))).toEqual({ exist: true, isPaused: true });
  expect(again.env.stagedOf(five)).toEqual({ ...publish, rows: [envRow('URL', 1n)] });
  await again.close();
});

const envRow = (name: string, version: bigint): EnvRow => {
  return { name, version, value: { plain: `${version}` }, setBy: one, setMicros: 9n };
};

it.each([1, 2, 3])('knows the values that a restart reads (seed %i)', async (seed) => {
  const random = new Random(seed);
  let registry = await openRegistry(options(), await files());
  const names = ['A', 'B', 'C', 'D'];
  /** What there should be, in plain maps. */
  const live = new Map([five, six].map((database) => [database, new Map<string, EnvRow>()]));
  const staged = new Map<bigint, readonly EnvRow[]>();
  for (let step = 1; step < 60; step += 1) {
    const { env } = registry;
    const database = random.pick([five, six]);
    const known = present(live.get(database), 'one of two');
    const row = { ...envRow(random.pick(names), BigInt(step)) };
    const name = random.pick(names);
    const rows = names.filter(() => random.chance(0.5)).map((one) => envRow(one, BigInt(step)));
    const steps = [
      async () => {
        await env.set(database, { removed: name === row.name ? [] : [name], added: [row] });
        if (name !== row.name) known.delete(name);
        known.set(row.name, row);
        const left = (staged.get(database) ?? []).filter((one) => {
          return one.name !== row.name && one.name !== name;
        });
        staged.set(database, left);
      },
      async () => {
        if (rows.length === 0) return;
        await env.stage(database, { generation: step, program: 'p', decider: 'program', rows });
        staged.set(database, rows);
      },
      async () => {
        const applies = random.chance(0.5);
        await env.settle(database, applies);
        if (applies) for (const one of staged.get(database) ?? []) known.set(one.name, one);
        staged.delete(database);
      },
      async () => {
        if (!random.chance(0.3)) return;
        await registry.removeDatabase(database);
        known.clear();
        staged.delete(database);
      },
      async () => {
        await registry.close();
        registry = await openRegistry(options(), await files());
      },
    ];
    await random.pick(steps)();
    for (const one of [five, six]) {
      const sorted = [...present(live.get(one), 'one of two')].sort().map(([, value]) => value);
      expect(registry.env.of(one)).toEqual(sorted);
      expect(registry.env.stagedOf(one)?.rows ?? []).toEqual(staged.get(one) ?? []);
    }
  }
  await registry.close();
});

it('keeps what is known of schedules, and forgets it with their database', async () => {
  const registry = await openRegistry(options(), await files());
  expect(registry.schedulesOf(five)).toEqual({ exist: false, isPaused: false });
  await registry.putSchedules(five, { exist: true, isPaused: false });
  await registry.putSchedules(five, { exist: true, isPaused: true });
  await registry.putSchedules(six, { exist: true, isPaused: false });
  await registry.removeDatabase(five);
  const known = (one: Registry) => [five, six].map((database) => one.schedulesOf(database));
  const expected = [
    { exist: false, isPaused: false },
    { exist: true, isPaused: false },
  ];
  expect(known(registry)).toEqual(expected);
  await registry.close();
  const again = await openRegistry(options(), await files());
  expect(known(again)).toEqual(expected);
  await again.close();
});

it('forgets quotas with their database, but not those of a person with its identity', async () => {
  const registry = await openRegistry(options(), await files());
  const owner = ownerIdentity(5n);
  const made = { owner, hostType: 'js', initialProgram: 'x', createdMicros: 2n } as const;
  await registry.putDatabase({ ...made, identity: five, isLocked: false, generation: 1 });
  await registry.putQuota({ subject: five, name: 'row-bytes', amount: 10 });
  await registry.putQuota({ subject: owner, name: 'owner-row-bytes', amount: 20 });
  await registry.putQuota({ subject: owner, name: 'databases-per-identity', amount: 1 });
  await registry.removeDatabase(five);
  const names = ['row-bytes', 'owner-row-bytes', 'databases-per-identity'];
  const amounts = () => names.map((name) => registry.quota(quotaSubject(5n), name)?.amount);
  expect(amounts()).toEqual([undefined, 20, 1]);
  await registry.close();
});

it('says that it is the registry which cannot be changed', async () => {
  const disk = new SimulatedDisk();
  const space = { folder: '/data/registry', freeBytes: () => 0, has: () => false };
  const registry = await Registry.open(tinyDatabase(disk, createTiny, undefined, [], { space }));
  disk.isFull = true;
  const text = /^The registry of the service could not be changed\. .* disk of the service is full/;
  await expect(registry.putName('shop', ownerIdentity(7n), five)).rejects.toMatchObject({
    body: { code: 'database.full', message: expect.stringMatching(text) },
  });
  await registry.close();
});

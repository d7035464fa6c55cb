import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { sourceOf, type Version } from '../../../test/support/deploy-versions.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { filesOf, inFolder } from '../../../test/support/migration-program.ts';
import { buildModule } from '../../bundle/build-module.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { Host } from '../host.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import type { PublishRequest } from './publish-request.ts';

const ada: HostCaller = { identity: callerIdentity(1n), payload: '{}', isAnonymous: false };
const bob: HostCaller = { identity: callerIdentity(2n), payload: '{}', isAnonymous: false };

let directory: string;
let host: Host;

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-control-'));
  host = await Host.open(hostOptions({ directory }));
});
afterEach(async () => {
  await host.close();
  rmSync(directory, { recursive: true, force: true });
});

async function publish(version: Version, more: Partial<PublishRequest> = {}) {
  const program = await buildText(sourceOf(version));
  const { token } =
    more.clear === true || !host.databases.length ? { token: undefined } : await tokenOf(program);
  return host.publish({
    ...{ caller: ada, target: 'shop', program, clear: false, confirmMillis: 5_000 },
    ...{ policy: token === undefined ? 'compatible' : 'breakClients', token },
    ...more,
  });
}

async function tokenOf(program: PublishRequest['program']) {
  const plan = await host.plans.plan(ada, host.database('shop'), program);
  return { token: plan.kind === 'automatic' ? plan.token : undefined };
}

const rollBack = (number?: number, caller = ada) =>
  host.deploys.rollBack(caller, host.database('shop'), {
    ...{ number, message: '', confirmMillis: 5_000 },
    permission: { policy: 'compatible', token: undefined },
  });

const extra = {
  tables: 'const extra = table({}, { id: t.u32().primaryKey() });',
  named: ', extra',
};

describe('[living 5.12] a canary is refused', () => {
  const changes: [string, Version, Partial<PublishRequest>, string][] = [
    ['a new table', { word: 'two', ...extra }, {}, 'the new table `extra` would have to be empty'],
    ['a new column', { word: 'two', columns: 'size: t.u32().default(0),' }, {}, 'size'],
    ['a reset', { word: 'two' }, { clear: true }, 'rows that are deleted would not come back'],
    ['values', { word: 'two' }, { env: [{ name: 'A', text: 'b' }] }, 'values that come with'],
    ['no time', { word: 'two' }, { canarySeconds: 0 }, 'a number of seconds from 1 to 3600'],
    ['too much time', { word: 'two' }, { canarySeconds: 3_601 }, 'from 1 to 3600'],
  ];
  it.each(changes)('for %s, and nothing has changed', async (_, version, more, reason) => {
    await publish({ word: 'one' });
    const refused = publish(version, { canarySeconds: 60, ...more });
    await expect(refused).rejects.toThrow('--canary is not possible: ');
    await expect(refused).rejects.toThrow(reason);
    const { deploys, running } = await host.deploys.list(ada, host.database('shop'));
    expect([deploys.length, running]).toEqual([1, 1]);
  });

  it('for a new database', async () => {
    const refused = publish({ word: 'one' }, { canarySeconds: 60 });
    await expect(refused).rejects.toThrow('there is no earlier program to go back to');
    expect(host.databases).toEqual([]);
  });

  it('but not for other code alone', async () => {
    await publish({ word: 'one' });
    expect(await publish({ word: 'two' }, { canarySeconds: 60 })).toMatchObject({ deploy: 2 });
  });
});

describe('[living 5.11] a roll back', () => {
  it('is for those who may publish, and so is the list', async () => {
    await publish({ word: 'one' });
    await publish({ word: 'two' });
    await expect(rollBack(undefined, bob)).rejects.toThrow(': update database');
    const listed = host.deploys.list(bob, host.database('shop'));
    await expect(listed).rejects.toThrow(': view deploys');
  });

  it('names what it does not know', async () => {
    await publish({ word: 'one' });
    await expect(rollBack()).rejects.toThrow('There is no earlier program to go back to');
    await expect(rollBack(9)).rejects.toThrow('There is no deploy 9; `reducerdb deploys` lists');
    await expect(rollBack(1)).rejects.toThrow('The program of deploy 1 runs already');
  });

  it('takes back what has no rows, with consent where clients break', async () => {
    await publish({ word: 'one' });
    await publish({ word: 'two', ...extra });
    await expect(rollBack()).rejects.toThrow('client-breaking change');
    const { token, text } = await host.deploys.plan(ada, host.database('shop'));
    expect(text).toContain('Removed table: extra');
    const done = await host.deploys.rollBack(ada, host.database('shop'), {
      ...{ number: undefined, message: 'why', confirmMillis: 5_000 },
      permission: { policy: 'breakClients', token },
    });
    expect(done).toMatchObject({
      deploy: { number: 3, of: 1, message: 'why' },
      static: 'unchanged',
    });
    const [note = ''] = await host.audit.tail(1);
    expect(JSON.parse(note)).toMatchObject({ action: 'roll back database', deploy: 3, of: 1 });
  });

  it('crosses a reset, and knows the deploys before it after a restart', async () => {
    await publish({ word: 'one' });
    await publish({ word: 'two' }, { clear: true });
    await host.close();
    host = await Host.open(hostOptions({ directory }));
    expect((await rollBack()).of.number).toBe(1);
    const { deploys } = await host.deploys.list(ada, host.database('shop'));
    expect(deploys.map(({ kind }) => kind)).toEqual(['created', 'reset', 'rolled-back']);
  });

  it('has messages of at most 1,024 bytes', async () => {
    const refused = publish({ word: 'one' }, { message: 'ä'.repeat(513) });
    await expect(refused).rejects.toThrow('The message of a deploy has at most 1024 bytes');
  });
});

describe('[living 5.11] a roll back over a migration', () => {
  const moduleOf = (column: string) => `
    import { schema, t, table } from 'reducerdb/server';
    const note = table({ public: true }, { id: t.u64().primaryKey(), ${column} });
    const db = schema({ note });
    export default db;
    export const init = db.init((ctx) => {
      ctx.db.note.insert({ id: 1n, size: 7 } as never);
    });
  `;
  const before = moduleOf('size: t.u32()');
  const after = moduleOf('label: t.string()');
  const steps = `
    steps: (m) => [
      m.renameColumn('note', 'size', 'label'),
      m.changeColumn('note', 'label', { using: (old) => 'size ' + old.size }),
    ],`;
  const down = `
    down: (m) => [
      m.renameColumn('note', 'label', 'size'),
      m.changeColumn('note', 'size', { using: (old) => Number(old.label.slice(5)) }),
    ],`;

  const publishBytes = async (bytes: Uint8Array, more: Partial<PublishRequest> = {}) => {
    const program = { kind: 'js', bytes } as const;
    const { token } = host.databases.length > 0 ? await tokenOf(program) : { token: undefined };
    return host.publish({
      ...{ caller: ada, target: 'shop', program, clear: false, confirmMillis: 5_000 },
      ...{ policy: token === undefined ? 'compatible' : 'breakClients', token },
      ...more,
    });
  };

  /** A database that has applied a migration which declares this. */
  async function migrated(options: string): Promise<void> {
    await publishBytes((await buildText(before)).bytes);
    const files = await filesOf({
      module: after,
      migrations: [{ id: '0001-labels', before, options }],
    });
    const build = async (folder: string) => (await buildModule(folder)).program;
    const bytes = await inFolder(files, build);
    const canary = publishBytes(bytes, { canarySeconds: 60 });
    await expect(canary).rejects.toThrow('it applies migrations (0001-labels)');
    await publishBytes(bytes);
  }

  const count = async (sql: string): Promise<number> => {
    const database = host.database('shop');
    const outcome = await database.handle.query({
      caller: host.callerFor(ada, database),
      connection: temporaryConnection(),
      ...{ sql, confirmed: true },
    });
    if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    return outcome.rowCount;
  };

  it('runs its steps down', async () => {
    await migrated(`${steps}${down}`);
    const { deploys } = await host.deploys.list(ada, host.database('shop'));
    expect(deploys.map(({ migrations }) => migrations)).toEqual([[], ['0001-labels']]);
    expect(await count("SELECT * FROM note WHERE label = 'size 7'")).toBe(1);
    const { token, text } = await host.deploys.plan(ada, host.database('shop'));
    expect(text).toContain('0001-labels');
    await host.deploys.rollBack(ada, host.database('shop'), {
      ...{ number: undefined, message: '', confirmMillis: 5_000 },
      permission: { policy: 'breakClients', token },
    });
    const { definition, applied } = await host.database('shop').handle.describe();
    const columns = definition.tables[0]?.columns.map(({ name }) => name);
    expect([columns, applied ?? []]).toEqual([['id', 'size'], []]);
    expect(await count('SELECT * FROM note WHERE size = 7')).toBe(1);
  });

  it('is refused where it declares no way, and says so', async () => {
    await migrated(steps);
    const refused = host.deploys.plan(ada, host.database('shop'));
    await expect(refused).rejects.toThrow('migration 0001-labels cannot be undone');
    const { deploys } = await host.deploys.list(ada, host.database('shop'));
    const last = Number(deploys[1]?.commit) - 1;
    await expect(refused).rejects.toThrow(`--at ${last} --in-place`);
  });

  it('names the last commit of the deploy, also where the schema has changed since', async () => {
    await publish({ word: 'one' });
    await publish({ word: 'two', ...extra });
    await host.database('shop').handle.query({
      caller: host.callerFor(ada, host.database('shop')),
      connection: temporaryConnection(),
      ...{ sql: 'INSERT INTO extra (id) VALUES (1)', confirmed: true },
    });
    const other = 'const other = table({}, { id: t.u32() });';
    await publish({ word: 'three', tables: `${extra.tables}${other}`, named: ', extra, other' });
    const { deploys } = await host.deploys.list(ada, host.database('shop'));
    expect(deploys.map(({ number }) => number)).toEqual([1, 2, 3]);
    const last = Number(deploys[1]?.commit) - 1;
    await expect(rollBack(1)).rejects.toThrow(`--at ${last} --in-place`);
  });
});

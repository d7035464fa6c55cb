import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostOptions } from '../../../test/support/host-options.ts';
import { callerIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import { OwnKeeping } from '../snapshots/own-keeping.ts';
import { DatabaseFiles } from './database-files.ts';
import { registryHistory } from './history-choice.ts';
import { openRegistry } from './open-registry.ts';
import { type Registry, registryIdentity } from './registry.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-registry-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** As a host opens it. */
async function open(): Promise<Registry> {
  const files = new DatabaseFiles(directory);
  await files.makeRegistry();
  const folder = files.registry as string;
  const keeping = new OwnKeeping({ identity: registryIdentity, directory: folder });
  return openRegistry({ ...hostOptions({ directory }), keeping }, files);
}

const filesOf = (kind: RegExp) =>
  readdirSync(path.join(directory, 'registry')).filter((name) => kind.test(name));

const grant = {
  identity: callerIdentity(7n),
  role: 'reader',
  grantedBy: callerIdentity(1n),
  grantedMicros: 9n,
} as const;
const numbers = Array.from({ length: 20 }, (_, number) => databaseIdentity(BigInt(number + 2)));

it('[history 3.9] the registry has snapshots, and forgets what is before them', async () => {
  const registry = await open();
  for (const database of numbers) await registry.putGrant({ ...grant, database });
  expect((await registry.handle.roll()).kind).not.toBe('failed');
  await registry.putGrant({ ...grant, database: databaseIdentity(1_000n) });
  const taken = await registry.handle.snapshot(new AbortController().signal);
  expect(taken).toMatchObject({ kind: 'taken' });
  expect(filesOf(/\.rdbs$/)).toHaveLength(1);
  const kept = await registry.handle.history({
    kind: 'keep',
    settings: registryHistory,
    holds: [],
  });
  expect(kept).toMatchObject({ kind: 'done', facts: { snapshots: 1, deleted: 0 } });
  const forgotten = await registry.handle.history({
    kind: 'forget',
    settings: registryHistory,
    holds: [],
  });
  expect(forgotten).toMatchObject({ kind: 'done' });
  expect([filesOf(/^floor$/), filesOf(/^commit-/)]).toEqual([['floor'], [expect.any(String)]]);
  await registry.close();

  const again = await open();
  expect(numbers.map((database) => again.roleOf(database, grant.identity))).toEqual(
    numbers.map(() => 'reader'),
  );
  await again.close();
}, 60_000);

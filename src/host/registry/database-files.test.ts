import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { identityToHex } from '../../values/identity.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { DatabaseFiles } from './database-files.ts';

const identity = databaseIdentity(77n);
let data: string;
let folder: string;
let files: DatabaseFiles;

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'reducerdb-files-'));
  folder = path.join(data, 'databases', identityToHex(identity));
  files = new DatabaseFiles(data);
});
afterEach(() => rmSync(data, { recursive: true }));

it('[history 5.24] sets aside what a restored log has replaced, and removes the rest', async () => {
  for (const name of ['log-1', 'log-2', 'log-4']) log(name);
  log('log-3', 'origin');
  await files.keepGeneration(identity, 3);
  expect(has('replaced-1', 'replaced-2', 'log-3')).toEqual([true, true, true]);
  expect(has('log-1', 'log-2', 'log-4', 'replaced-4')).toEqual([false, false, false, false]);
  expect(files.replaced(identity)).toMatchObject([
    { number: 1, bytes: 3 },
    { number: 2, bytes: 3 },
  ]);
  expect(files.freeGeneration(identity, 1)).toBe(4);
});

it('[history 5.24] removes earlier logs of a database that was reset', async () => {
  log('log-1', 'origin');
  log('log-2');
  await files.keepGeneration(identity, 2);
  expect(has('log-2', 'log-1', 'replaced-1')).toEqual([true, false, false]);
});

it('[history 5.24] keeps everything while the log that counts is missing', async () => {
  log('log-1');
  await files.keepGeneration(identity, 2);
  expect(has('log-1')).toEqual([true]);
});

it('[history 5.24] counts replaced logs, and removes all of them on request', async () => {
  const changed: unknown[] = [];
  files.replacedChanged = (one) => changed.push([one, files.replacedBytes(one)]);
  for (const name of ['log-1', 'log-2']) log(name);
  log('log-3', 'origin');
  expect(files.replacedBytes(identity)).toBe(0);
  await files.keepGeneration(identity, 3);
  expect(files.replacedBytes(identity)).toBe(6);
  await files.removeReplaced(identity, 1);
  expect(has('replaced-1', 'replaced-2')).toEqual([false, true]);
  expect(await files.forgetReplaced(identity, Number.POSITIVE_INFINITY)).toBe(1);
  expect(has('replaced-2', 'log-3')).toEqual([false, true]);
  expect(changed).toEqual([3, 6, 3, 0].map((bytes) => [identity, bytes]));
});

it('removes a database while something still writes to its folder', async () => {
  log('log-1');
  const writing = setInterval(() => {
    // As a pass does, by the path that it knows.
    if (existsSync(folder)) writeFileSync(path.join(folder, 'log-1', `${Math.random()}.part`), '');
  }, 0);
  await files.removeDatabase(identity);
  clearInterval(writing);
  expect(readdirSync(path.join(data, 'databases'))).toEqual([]);
});

it('removes what is left of removed databases at the next start, and nothing else', async () => {
  log('log-1');
  const databases = path.join(data, 'databases');
  const other = `${identityToHex(identity)}.removed-2`;
  for (const name of [other, 'mine.removed'])
    mkdirSync(path.join(databases, name, 'log-1'), { recursive: true });
  expect(await new DatabaseFiles(data).endRemovals()).toEqual([]);
  expect(readdirSync(databases).sort()).toEqual([identityToHex(identity), 'mine.removed']);
});

it('[replication 9.2] the log of a copy has another name before it is removed', async () => {
  log('log-1');
  log('log-2', 'commit-00000001-0000000000000001.log.deposed-1');
  const removal = files.removeCopy(identity, 1);
  expect(has('log-1')).toEqual([false]);
  // The copy is wished again meanwhile.
  log('log-1');
  await removal;
  await files.removeCopy(identity, 2);
  expect(has('log-1', 'log-2')).toEqual([true, true]);
  expect(readdirSync(path.join(data, 'databases'))).toEqual([identityToHex(identity)]);
});

it('[history 5.24] removes replaced logs when their time is over', async () => {
  for (const name of ['log-1', 'log-2']) log(name);
  log('log-3', 'origin');
  const before = Date.now();
  utimesSync(path.join(folder, 'log-1'), 1, 1);
  await files.keepGeneration(identity, 3);
  expect(files.replaced(identity).every((one) => one.replacedMillis >= before - 1_000)).toBe(true);
  utimesSync(path.join(folder, 'replaced-1'), 5, 5);
  await files.forgetReplaced(identity, 6_000);
  expect(has('replaced-1', 'replaced-2', 'log-3')).toEqual([false, true, true]);
  expect(files.replacedLog(identity, 1)).toBeUndefined();
  expect(files.replacedLog(identity, 2)).toBe(path.join(folder, 'replaced-2'));
});

it('[history 5.22] removes databases that were being restored and are not registered', async () => {
  const other = databaseIdentity(78n);
  const strange = databaseIdentity(79n);
  for (const one of [identity, other]) await files.beginRestore(one);
  mkdirSync(path.join(data, 'databases', identityToHex(strange)));
  await files.endRestores((one) => one === identity);
  const isThere = [identity, other, strange].map((one) => {
    return existsSync(path.join(data, 'databases', identityToHex(one)));
  });
  expect(isThere).toEqual([true, false, true]);
  await files.endRestores(() => false);
  expect(existsSync(folder)).toBe(true);
});

function log(name: string, ...more: readonly string[]): void {
  const directory = path.join(folder, name);
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, 'commit-00000001-0000000000000001.log'), 'abc');
  for (const file of more) writeFileSync(path.join(directory, file), '');
}

function has(...names: readonly string[]): boolean[] {
  return names.map((name) => existsSync(path.join(folder, name)));
}

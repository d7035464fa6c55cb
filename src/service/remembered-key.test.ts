import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fingerprintOf, keyFilesIn } from '../auth/keys.ts';
import { ConfigurationError } from './configuration.ts';
import { retireKeys, rotateKeysIn } from './key-folder.ts';
import { loadKeysOf } from './remembered-key.ts';

let folder: string;
let data: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-remembered-key-'));
  data = path.join(folder, 'data');
  // The folder in which a service keeps its databases.
  mkdirSync(path.join(data, 'registry'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const keysIn = (name: string) => keyFilesIn(path.join(folder, name));
const remembered = () => readFileSync(path.join(data, 'signing-key'), 'utf8').trim();

it('[auth 3.1] data remembers the key of its service', async () => {
  const { publicKey } = await loadKeysOf(data, keysIn('keys'));
  expect(remembered()).toBe(fingerprintOf(publicKey));
  expect(await loadKeysOf(data, keysIn('keys'))).toMatchObject({ oldKeys: [] });
});

it('[auth 3.1] without the keys of its data a service does not make new ones', async () => {
  await loadKeysOf(data, keysIn('keys'));
  const before = remembered();
  rmSync(path.join(folder, 'keys'), { recursive: true });
  const start = loadKeysOf(data, keysIn('keys'));
  await expect(start).rejects.toThrow(ConfigurationError);
  await expect(start).rejects.toThrow(`signed with the key ${before}, which is not in`);
  await expect(start).rejects.toThrow('there are no keys. Put that key pair back');
  expect(readdirSync(folder)).toEqual(['data']);
  expect(remembered()).toBe(before);
});

it('[auth 3.1] other keys than those of its data are refused', async () => {
  await loadKeysOf(data, keysIn('keys'));
  const other = await loadKeysOf(undefined, keysIn('other'));
  const found = `the key there is ${fingerprintOf(other.publicKey)}`;
  await expect(loadKeysOf(data, keysIn('other'))).rejects.toThrow(found);
  // The remedy named by the message.
  unlinkSync(path.join(data, 'signing-key'));
  await loadKeysOf(data, keysIn('other'));
  expect(remembered()).toBe(fingerprintOf(other.publicKey));
});

it('[auth 3.1] a rotation changes what is remembered at the next start', async () => {
  const first = await loadKeysOf(data, keysIn('keys'));
  await rotateKeysIn(keysIn('keys'));
  const second = await loadKeysOf(data, keysIn('keys'));
  expect(second.publicKey.equals(first.publicKey)).toBe(false);
  expect(remembered()).toBe(fingerprintOf(second.publicKey));
  await rotateKeysIn(keysIn('keys'));
  await retireKeys(keysIn('keys'), () => true);
  // The remembered key was deliberately retired.
  const third = await loadKeysOf(data, keysIn('keys'));
  expect(third.oldKeys).toEqual([]);
  expect(remembered()).toBe(fingerprintOf(third.publicKey));
});

it('[auth 3.1] where there are no databases any keys will do', async () => {
  await loadKeysOf(data, keysIn('keys'));
  rmSync(path.join(data, 'registry'), { recursive: true });
  const { publicKey } = await loadKeysOf(data, keysIn('other'));
  expect(remembered()).toBe(fingerprintOf(publicKey));
});

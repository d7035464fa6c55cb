import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newIdentity } from '../backup/encryption.ts';
import { initIfEmpty, initNamed, openNamed } from './open-repository.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'open-repository-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const noKeys = { identityFile: undefined, passphrase: undefined };

function named(name: string) {
  return { repository: path.join(folder, name), dataDirectory: folder, environment: {} };
}

it('[history 5.10] keys for what is not encrypted to them are refused', async () => {
  const { identity, recipient } = await newIdentity();
  const identityFile = path.join(folder, 'key.txt');
  writeFileSync(identityFile, `${identity}\n`);
  await initNamed(named('plain'), { recipients: [], passphrase: undefined });
  await initNamed(named('keyed'), { recipients: [recipient], passphrase: undefined });
  const open = (name: string, keys: object) => openNamed(named(name), { ...noKeys, ...keys });
  expect((await open('plain', {})).isEncrypted).toBe(false);
  expect((await open('keyed', { identityFile })).canRead).toBe(true);
  const refused = [
    ['plain', { identityFile }, 'plain is not encrypted: leave out --identity-file'],
    ['plain', { passphrase: 'x' }, 'plain is not encrypted; leave out --passphrase'],
    [
      'keyed',
      { passphrase: 'x' },
      'has no passphrase: use --identity-file; leave out --passphrase',
    ],
    ['keyed', { identityFile: `${identityFile}.no` }, 'cannot be read: ENOENT'],
  ] as const;
  for (const [name, keys, text] of refused) {
    await expect(open(name, keys)).rejects.toThrow(text);
  }
});

it('[history 5.10] recipients of the configuration have to be those that it has', async () => {
  const [own, other] = [await newIdentity(), await newIdentity()];
  const place = path.join(folder, 'pinned');
  const table = `[repository.pinned]\nurl = "${place}"\nrecipients = ["${own.recipient}"]\n`;
  writeFileSync(path.join(folder, 'config.toml'), table);
  const pinned = { ...named('pinned'), repository: 'pinned' };
  await initNamed(pinned, { recipients: [], passphrase: undefined });
  expect((await openNamed(pinned, noKeys, 'write')).isEncrypted).toBe(true);
  const file = path.join(place, 'reducerdb-repository.json');
  const text = readFileSync(file, 'utf8');
  for (const recipients of [[], [other.recipient], [own.recipient, other.recipient]]) {
    writeFileSync(file, JSON.stringify({ ...JSON.parse(text), recipients }));
    await expect(openNamed(pinned, noKeys, 'write')).rejects.toThrow(
      'pinned are not those of config.toml: it ',
    );
    expect((await openNamed(pinned, noKeys)).facts.recipients).toEqual(recipients);
  }
});

it('[history 5.8] an empty folder is not made a repository where keys are given', async () => {
  const keys = { ...noKeys, passphrase: 'a long one' };
  await expect(initIfEmpty(named('new'), keys)).rejects.toThrow('reducerdb backup init');
  expect(existsSync(path.join(folder, 'new'))).toBe(false);
  await initIfEmpty(named('new'), noKeys);
  expect((await openNamed(named('new'), noKeys)).isEncrypted).toBe(false);
});

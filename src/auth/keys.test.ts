import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { HostTokens } from './host-tokens.ts';
import {
  fingerprintOf,
  KeyError,
  type KeyFiles,
  keyFilesIn,
  loadKeys,
  rotateKeys,
} from './keys.ts';

let folder: string;
let files: KeyFiles;

beforeEach(() => {
  folder = path.join(mkdtempSync(path.join(tmpdir(), 'reducerdb-keys-')), 'keys');
  files = keyFilesIn(folder);
});
afterEach(() => rmSync(path.dirname(folder), { recursive: true }));

const write = async (file: string, text: string, mode: number) =>
  writeFileSync(file, text, { mode });

const load = () => loadKeys(files, write);
const tokensNow = async () => new HostTokens(await load());

/** Writes `count` files, then simulates a crash. */
function writeThenStop(count: number): typeof write {
  let left = count;
  return async (...given) => {
    if (left === 0) throw new Error('the machine went down');
    left -= 1;
    return write(...given);
  };
}

describe('the key files', () => {
  it('[auth 3] are made at the first start, the private one for the owner alone', async () => {
    await load();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(files.privateKeyFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(files.privateKeyFile, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----/);
    expect(readFileSync(files.publicKeyFile, 'utf8')).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  });

  it('[auth 3] are read again, so that tokens stay valid', async () => {
    const { token } = await (await tokensNow()).issue();
    await expect((await tokensNow()).verify(token)).resolves.toBeDefined();
  });

  it('[auth 3] must both be there, and belong together', async () => {
    await load();
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(files.publicKeyFile, publicKey.export({ type: 'spki', format: 'pem' }));
    await expect(load()).rejects.toThrow(/is not the public key of/);
    rmSync(files.publicKeyFile);
    await expect(load()).rejects.toThrow(/^Unable to read public key for JWT token verification/);
    await expect(load()).rejects.toBeInstanceOf(KeyError);
  });

  it('[auth 3] hold keys of P-256, old ones too', async () => {
    await load();
    writeFileSync(path.join(folder, 'id_ecdsa.1.pub'), 'no key');
    await expect(load()).rejects.toThrow('id_ecdsa.1.pub holds no readable public key');
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    writeFileSync(path.join(folder, 'id_ecdsa.1.pub'), pem);
    await expect(load()).rejects.toThrow('id_ecdsa.1.pub holds no EC P-256 key');
    writeFileSync(files.privateKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await expect(load()).rejects.toThrow('id_ecdsa holds no EC P-256 key');
  });

  it.skipIf(process.platform === 'win32').each([0o604, 0o660, 0o602, 0o666])(
    '[auth 3] are refused when others have the private one: mode %o',
    async (mode) => {
      await load();
      chmodSync(files.privateKeyFile, mode);
      await expect(load()).rejects.toThrow(/can be read or written by others .* chmod 600/);
      chmodSync(files.privateKeyFile, 0o400);
      await expect(load()).resolves.toBeDefined();
    },
  );
});

describe('a rotation', () => {
  it('[auth 3] signs with the new key and takes what the old ones signed', async () => {
    const first = await tokensNow();
    const { token: one } = await first.issue();
    await rotateKeys(files, write);
    const { token: two } = await (await tokensNow()).issue();
    const { oldKeys } = await rotateKeys(files, write);
    expect(oldKeys.map(({ number }) => number)).toEqual([1, 2]);
    const now = await tokensNow();
    const { token: three } = await now.issue();
    for (const token of [one, two, three]) await expect(now.verify(token)).resolves.toBeDefined();
    await expect(first.verify(three)).rejects.toThrow('Invalid token: InvalidSignature');
    expect(now.publicPem).not.toBe(first.publicPem);
    expect(readFileSync(path.join(folder, 'id_ecdsa.1.pub'), 'utf8')).toBe(first.publicPem);
    expect(statSync(files.privateKeyFile).mode & 0o777).toBe(0o600);
  });

  it('[auth 3] ends for an old key when its file is gone', async () => {
    const tokens = await tokensNow();
    const { token } = await tokens.issue();
    await rotateKeys(files, write);
    tokens.useKeys(await load());
    await expect(tokens.verify(token)).resolves.toBeDefined();
    rmSync(path.join(folder, 'id_ecdsa.1.pub'));
    tokens.useKeys(await load());
    await expect(tokens.verify(token)).rejects.toThrow('Invalid token: InvalidSignature');
  });

  it('[auth 3] is refused while there are too many old keys to try', async () => {
    await load();
    for (let count = 0; count < limits.oldKeysMax; count += 1) await rotateKeys(files, write);
    await expect(rotateKeys(files, write)).rejects.toThrow('There are 16 old keys');
    rmSync(path.join(folder, 'id_ecdsa.3.pub'));
    const { oldKeys } = await rotateKeys(files, write);
    expect(oldKeys.map(({ number }) => number).slice(-2)).toEqual([16, 17]);
  });

  it.each([0, 1, 2, 3])(
    '[auth 3] that is cut off after %i of its writes loses no key',
    async (count) => {
      const before = await load();
      const { token } = await new HostTokens(before).issue();
      const isWhole = count === 3;
      const cut = rotateKeys(files, writeThenStop(count));
      if (isWhole) await cut;
      else await expect(cut).rejects.toThrow('the machine went down');
      const after = await load();
      await expect(new HostTokens(after).verify(token)).resolves.toBeDefined();
      const isOld = after.publicKey.equals(before.publicKey);
      expect(isOld).toBe(count < 2);
      expect(fingerprintOf(after.publicKey) === fingerprintOf(before.publicKey)).toBe(isOld);
      // The files are consistent now, so the keys can be rotated again.
      const { oldKeys } = await rotateKeys(files, write);
      expect(oldKeys).toHaveLength(count < 2 ? 1 : 2);
      await expect((await tokensNow()).verify(token)).resolves.toBeDefined();
    },
  );

  it('[auth 3] keeps old keys beside a public key of any name', async () => {
    const pair = keyFilesIn(folder);
    await load();
    files = { ...pair, publicKeyFile: path.join(folder, 'host.pem') };
    copyFileSync(pair.publicKeyFile, files.publicKeyFile);
    await rotateKeys(files, write);
    expect(readdirSync(folder).sort()).toEqual([
      'host.pem',
      'host.pem.1.pub',
      'id_ecdsa',
      'id_ecdsa.pub',
    ]);
    expect((await load()).oldKeys).toHaveLength(1);
  });
});

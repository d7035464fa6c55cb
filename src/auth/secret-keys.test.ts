import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { addSecretKey, readSecretKeys, SecretKeys } from './secret-keys.ts';

const about = { database: databaseIdentity(0x5an), name: 'KEY', version: 7n };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-secret-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const keysIn = () => new SecretKeys(folder, writeFileAtomically);
const file = (number: number) => path.join(folder, `secrets.${number}.key`);

describe('the keys of secrets', () => {
  it('[living 4.3] the first secret makes a key that its owner alone can read', async () => {
    const keys = keysIn();
    expect([keys.current, readSecretKeys(folder).keys]).toEqual([undefined, []]);
    await keys.seal('x', about);
    expect(readFileSync(file(1), 'utf8')).toMatch(/^[\w-]{43}\n$/);
    expect(statSync(file(1)).mode & 0o777).toBe(0o600);
    expect(keysIn().current).toBe(keys.current);
  });

  it('[living 4.3] a secret is opened with the key and for what it was sealed', async () => {
    const keys = keysIn();
    for (const text of ['', 'a', 'ünïcode', 'x'.repeat(65_536)]) {
      const sealed = await keys.seal(text, about);
      expect(sealed.bytes.length).toBe(12 + Buffer.byteLength(text) + 16);
      expect(await keysIn().open(sealed, about)).toBe(text);
    }
    const sealed = await keys.seal('a', about);
    expect((await keys.seal('a', about)).bytes).not.toEqual(sealed.bytes);
    for (const other of [
      { ...about, database: databaseIdentity(0x5bn) },
      { ...about, name: 'KEZ' },
      { ...about, version: 8n },
    ]) {
      expect(await keys.open(sealed, other)).toBeUndefined();
    }
    for (let at = 0; at < sealed.bytes.length; at += 1) {
      const bytes = Uint8Array.from(sealed.bytes);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      expect(await keys.open({ ...sealed, bytes }, about)).toBeUndefined();
    }
    expect(await keys.open({ ...sealed, bytes: sealed.bytes.subarray(0, 3) }, about)).toBe(
      undefined,
    );
    expect(await keys.open({ ...sealed, by: 'SHA256:other' }, about)).toBeUndefined();
  });

  it('[living 4.3] opens what an earlier version sealed', async () => {
    writeFileSync(file(1), `${Buffer.alloc(32, 7).toString('base64url')}\n`, { mode: 0o600 });
    const keys = keysIn();
    const bytes = Buffer.from(
      '09090909090909090909090944e4eaf5cc89d6ddefa68b1d4576af8834b98af2e008',
      'hex',
    );
    const by = 'SHA256:Q9M7tmZ8qvSFbt6RjOz-otVmtOQURUR6k_ksu-tG0ZA';
    expect(await keys.open({ bytes, by }, about)).toBe('canary');
  });

  it('[living 4.3] the newest key encrypts, and the others still decrypt', async () => {
    const keys = keysIn();
    const old = await keys.seal('old', about);
    await addSecretKey(folder, writeFileAtomically);
    expect(keys.current).toBe(old.by);
    keys.reload();
    const next = await keys.seal('next', about);
    expect(next.by).not.toBe(old.by);
    expect([await keys.open(old, about), await keys.open(next, about)]).toEqual(['old', 'next']);
    rmSync(file(1));
    const later = keysIn();
    expect([await later.open(old, about), later.has(old.by)]).toEqual([undefined, false]);
    expect(await later.open(next, about)).toBe('next');
  });

  it('[living 4.3] files that hold no key are reported, and left alone', async () => {
    for (const [number, text] of [
      [1, ''],
      [2, 'A'.repeat(42)],
      [3, '!'.repeat(43)],
    ] as const) {
      writeFileSync(file(number), text, { mode: 0o600 });
    }
    writeFileSync(path.join(folder, 'secrets.0.key'), 'no number of a key');
    const keys = keysIn();
    expect(keys.faults).toEqual(
      [1, 2, 3].map((number) => `${file(number)} holds no key for secrets`),
    );
    await keys.seal('x', about);
    expect(readSecretKeys(folder).keys.map(({ number }) => number)).toEqual([4]);
  });

  it('[living 4.3] a key that others can read is refused', async () => {
    await addSecretKey(folder, writeFileAtomically);
    chmodSync(file(1), 0o644);
    expect(keysIn).toThrow('(mode 0644), who could then read secrets. Fix it with: chmod 600');
  });

  it('[living 4.3] there are so many keys at most', async () => {
    for (let count = 0; count <= limits.oldKeysMax; count += 1) {
      await addSecretKey(folder, writeFileAtomically);
    }
    const add = addSecretKey(folder, writeFileAtomically);
    await expect(add).rejects.toThrow(
      'There are 17 keys for secrets, and no more are kept: retire',
    );
  });

  it('without a folder the key is in memory', async () => {
    const keys = new SecretKeys(undefined, writeFileAtomically);
    const sealed = await keys.seal('x', about);
    expect(await keys.open(sealed, about)).toBe('x');
    expect(new SecretKeys(undefined, writeFileAtomically).has(sealed.by)).toBe(false);
  });
});

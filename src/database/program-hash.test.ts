import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { databaseIdentity } from '../values/identity-roles.ts';
import { hashHex, hashJson, migrationToken } from './program-hash.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('the program hash', () => {
  it('[http 3] is Keccak-256, written in natural order for people and reversed in JSON', () => {
    const hex = hashHex(keccak_256(bytes('hello')));
    expect(hex).toBe('1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8');
    expect(hashJson(hex)).toBe(
      '0xc8ea6da3a7099a312781949c7b51d9567b2872344f17c34bedc2850695ff8a1c',
    );
  });

  it('[http 6.2] makes the migration token from identity, old and new program', () => {
    const identity =
      databaseIdentity(0xc2002178d8298fdb678fe253b4a091732b96565481ec918100396067c710e90bn);
    const programs = ['old module', 'new module'].map((text) => hashHex(keccak_256(bytes(text))));
    const [before = '', after = ''] = programs;
    expect(migrationToken(keccak_256, identity, before, after)).toBe(
      '0xa57f076073b31e37b26629ffbf64036e08461567f9cb7dc79354125a1cec8cb',
    );
  });

  it('writes the hash of zeros with one digit', () => {
    expect(hashJson('00'.repeat(32))).toBe('0x0');
  });
});

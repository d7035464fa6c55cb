import { describe, expect, it } from 'vitest';
import { identityVectors } from '../../test/support/identity-vectors.ts';
import { identityToHex } from '../values/identity.ts';
import { deriveIdentity } from './identity.ts';

describe('deriving an identity', () => {
  it.each(identityVectors)('[auth 1.2] %s | %s', (issuer, subject, identity) => {
    expect(identityToHex(deriveIdentity(issuer, subject))).toBe(identity);
  });

  it('[auth 1.1] takes the separator literally, so two pairs may meet', () => {
    expect(deriveIdentity('a|b', 'c')).toBe(deriveIdentity('a', 'b|c'));
  });
});

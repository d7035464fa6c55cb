import { describe, expect, it } from 'vitest';
import { strangerRights } from '../sql/rights.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';

const caller = { identity: callerIdentity(1n), rights: strangerRights, jwtPayload: '' };

describe('an idempotency key', () => {
  it.each(['a', 'order-4711', 'é'.repeat(64), 'x'.repeat(128)])('[ease 4.11] can be %s', (key) => {
    expect(idempotencyKeyOf(key, caller)).toBe(key);
  });

  it.each([
    '',
    'x'.repeat(129),
    'é'.repeat(65),
    'a\nb',
    'a\u0000b',
    'a\u007fb',
    // The sequence introducer of terminals, as one character.
    'a\u009b31mb',
    'a\u0085b',
  ])('[ease 4.11] cannot be %j', (key) => {
    expect(() => idempotencyKeyOf(key, caller)).toThrow('without control characters');
  });
});

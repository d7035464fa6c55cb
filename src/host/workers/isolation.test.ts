import { describe, expect, it } from 'vitest';
import { identityToHex } from '../../values/identity.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { isolationFor } from './isolation.ts';

describe('the isolation of one database', () => {
  it('[living 6.1] is that of its identity, of one of its names, else that of all', () => {
    const exceptions = new Map([
      [identityToHex(7n), 'process'],
      ['shop', 'process'],
    ] as const);
    const rules = { everywhere: 'thread', exceptions } as const;
    expect(isolationFor(rules, databaseIdentity(7n), [])).toBe('process');
    expect(isolationFor(rules, databaseIdentity(8n), ['other', 'shop'])).toBe('process');
    expect(isolationFor(rules, databaseIdentity(8n), ['other'])).toBe('thread');
  });
});

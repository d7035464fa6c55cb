import { describe, expect, it } from 'vitest';
import { nameFault, parseTarget } from './names.ts';

describe('database names', () => {
  it.each(['a', 'chat', '0', 'a-b', 'a1-2b-3', 'x'.repeat(64)])('[http 4.1] %s is one', (name) => {
    expect(nameFault(name)).toBeUndefined();
    expect(parseTarget(name)).toEqual({ kind: 'name', name });
  });

  it.each([
    ['', 'database names cannot be empty'],
    ['c2'.repeat(32), 'database names cannot be identities'],
    [`0x${'C2'.repeat(32)}`, 'database names cannot be identities'],
    ['-a', 'invalid hyphen in database name'],
    ['a-', 'invalid hyphen in database name'],
    ['a--b', 'invalid hyphen in database name'],
    ['a-B', 'invalid hyphen in database name'],
    ['-', 'invalid hyphen in database name'],
    ['A', 'invalid characters in database name'],
    ['a_b', 'invalid characters in database name'],
    ['a/b', 'invalid characters in database name'],
    ['ä', 'invalid characters in database name'],
    ['x'.repeat(65), 'database names cannot be longer than 64 characters'],
  ])('[http 4.1] %s is refused', (name, fault) => {
    expect(nameFault(name)).toBe(fault);
  });

  it('[http 4.1] an identity is tried first, with or without prefix, in any case', () => {
    const identity = BigInt(`0x${'c2'.repeat(32)}`);
    for (const text of ['c2'.repeat(32), `0x${'C2'.repeat(32)}`]) {
      expect(parseTarget(text)).toEqual({ kind: 'identity', identity });
    }
  });
});

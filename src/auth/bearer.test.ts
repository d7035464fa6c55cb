import { describe, expect, it } from 'vitest';
import { presentedToken } from './bearer.ts';

const tokenIn = (authorization: string) => presentedToken(authorization, undefined);

describe('a presented token', () => {
  it.each([
    ['Bearer a.b.c', 'a.b.c'],
    ['bearer a.b.c', 'a.b.c'],
    ['Bearer   a.b.c  ', 'a.b.c'],
    ['Bearer a  b', 'a  b'],
  ])('[auth 12] of %j is %j', (authorization, token) => {
    expect(tokenIn(authorization)).toEqual({ kind: 'token', token });
  });

  it.each(['Bearer', 'Bearer ', 'Bearer   ', 'Basic a', 'Bearera'])(
    '[auth 12] is malformed in %j',
    (authorization) => {
      expect(tokenIn(authorization)).toEqual({ kind: 'malformed' });
    },
  );

  it('[auth 5] is found in one pass, however many blanks stand in it', () => {
    const token = `a${' '.repeat(1_000_000)}b`;
    expect(tokenIn(`Bearer ${token}`)).toEqual({ kind: 'token', token });
  });
});

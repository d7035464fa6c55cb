import { expect, it } from 'vitest';
import { OneTimeCodes } from './one-time-codes.ts';

const bounds = { lifeMillis: 60_000, countMax: 5, ofOneMax: 2 };

it('[http 17.5] a code is used once', () => {
  const codes = new OneTimeCodes<string>(bounds);
  const { code = '' } = codes.issue('ada', 'seed') ?? {};
  expect(code).toMatch(/^[\w-]{43}$/);
  expect(codes.take(`${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
  expect(codes.take('')).toBeUndefined();
  expect(codes.take(code)).toBe('seed');
  expect(codes.take(code)).toBeUndefined();
});

it('[http 17.5] a code ends after its time, to the millisecond', () => {
  let now = 1_000;
  const codes = new OneTimeCodes<string>(bounds, () => now);
  const [first, second] = [codes.issue('ada', 'first'), codes.issue('bob', 'second')];
  expect(first?.expiresAt).toBe(61_000);
  now = 60_999;
  expect(codes.take(first?.code ?? '')).toBe('first');
  now = 61_000;
  expect(codes.take(second?.code ?? '')).toBeUndefined();
});

it('[http 17.5] there are few codes of one, and not too many of all', () => {
  let now = 0;
  const codes = new OneTimeCodes<string>(bounds, () => now);
  const own = ['one', 'two', 'three'].map((value) => codes.issue('ada', value)?.code ?? '');
  expect(own.map((code) => codes.take(code))).toEqual([undefined, 'two', 'three']);
  for (let owner = 0; owner < bounds.countMax; owner += 1) {
    expect(codes.issue(`owner ${owner}`, 'seed')).toBeDefined();
  }
  expect(codes.issue('one more', 'seed')).toBeUndefined();
  expect(codes.issue('owner 1', 'another')).toBeUndefined();
  now = bounds.lifeMillis;
  expect(codes.issue('one more', 'seed')).toBeDefined();
});

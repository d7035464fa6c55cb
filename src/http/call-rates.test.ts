import { expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { CallRates } from './call-rates.ts';

const [one, other] = [databaseIdentity(1n), databaseIdentity(2n)];

it('[http 17.3] calls a second are those since the last look, of each database by itself', () => {
  const rates = new CallRates();
  expect(rates.of(one, 100, 0)).toBeUndefined();
  expect(rates.of(other, 7, 0)).toBeUndefined();
  expect(rates.of(one, 120, 2_000)).toBe(10);
  expect(rates.of(other, 7, 2_000)).toBe(0);
});

it('[http 17.3] looks that follow each other closely, or long after, do not spoil them', () => {
  const rates = new CallRates();
  rates.of(one, 0, 0);
  expect(rates.of(one, 50, 5_000)).toBe(10);
  expect(rates.of(one, 1_000, 5_001)).toBe(10);
  expect(rates.of(one, 90, 15_000)).toBe(4);
  const later = 15_000 + limits.callRateMillisMax + 1;
  expect(rates.of(one, 900, later)).toBeUndefined();
  expect(rates.of(one, 902, later + 1_000)).toBe(2);
  // The service counts from zero again after a restart only, and then it has no samples.
  expect(rates.of(one, 0, later + 2_000)).toBe(0);
});

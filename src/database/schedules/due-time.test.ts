import { expect, it } from 'vitest';
import { farMicros, lastTick, microsOf, nextTick, readMicros, ticksUntil } from './due-time.ts';

it.each([
  [10, 3, 9, 13],
  [10, 3, 10, 13],
  [10, 3, 12, 13],
  [10, 3, 13, 16],
  [10, 3, 1_000_000, 1_000_003],
  [10, 0, 10, 11],
  [10, 0, 50, 51],
  [-5, 4, 0, 3],
  [0, farMicros, 5, farMicros],
  [1, 3, farMicros - 1, farMicros],
])('[living 1.5] the tick of %i, every %i, after %i is %i', (due, every, after, next) => {
  expect(nextTick({ due, every }, after)).toBe(next);
});

it.each([
  [10, 3, 10, 10, 1],
  [10, 3, 12, 10, 1],
  [10, 3, 13, 13, 2],
  [10, 0, 50, 50, 1],
])(
  'of %i, every %i, until %i, the last tick is %i and there are %i',
  (due, every, until, last, count) => {
    expect(lastTick({ due, every }, until)).toBe(last);
    expect(ticksUntil({ due, every }, until)).toBe(count);
  },
);

it('[living 1.5] multiples are exact after 30 years of microseconds', () => {
  const due = 1_735_689_600_000_001;
  const every = 333_333;
  const after = due + 30 * 365 * 86_400 * 1_000_000;
  const next = nextTick({ due, every }, after);
  expect((BigInt(next) - BigInt(due)) % BigInt(every)).toBe(0n);
  expect(next - after).toBeGreaterThan(0);
  expect(next - after).toBeLessThanOrEqual(every);
});

it.each([0n, 1n, -1n, 2n ** 40n + 7n, -(2n ** 52n), 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)])(
  'an encoded time of %i is read as a bounded number',
  (micros) => {
    const bytes = new Uint8Array(9);
    new DataView(bytes.buffer).setBigInt64(1, micros, true);
    expect(readMicros(bytes, 1)).toBe(microsOf(micros));
    const far = BigInt(farMicros);
    const bounded = micros > far ? far : micros < -far ? -far : micros;
    expect(BigInt(microsOf(micros))).toBe(bounded);
  },
);

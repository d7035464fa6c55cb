import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { Allowance } from './allowance.ts';
import { RateLimiter } from './rate-limiter.ts';

describe('an allowance', () => {
  it('gives so many at once, then so many a second', () => {
    const allowance = new Allowance({ perSecond: 2, atOnce: 3 }, 0);
    expect([0, 0, 0, 0].map((now) => allowance.take(now))).toEqual([0, 0, 0, 0.5]);
    expect(allowance.take(250)).toBe(0.25);
    expect(allowance.take(500)).toBe(0);
    // Unused allowance accumulates, but only up to the burst size.
    expect([9_000, 9_000, 9_000].map((now) => allowance.take(now))).toEqual([0, 0, 0]);
    expect(allowance.take(9_000)).toBeGreaterThan(0);
  });

  it('gives on credit, and says how long it takes to pay back', () => {
    const allowance = new Allowance({ perSecond: 10, atOnce: 10 }, 0);
    expect(allowance.spend(10, 0)).toBe(0);
    expect(allowance.spend(5, 0)).toBe(0.5);
    expect(allowance.spend(5, 0)).toBe(1);
    expect(allowance.take(1_000)).toBe(0.1);
    expect(allowance.spend(1, 1_100)).toBe(0);
  });

  it('gives nothing for a clock that is set back, and goes on from there', () => {
    const allowance = new Allowance({ perSecond: 1, atOnce: 1 }, 5_000);
    expect(allowance.take(5_000)).toBe(0);
    expect(allowance.take(1_000)).toBe(1);
    expect(allowance.take(2_000)).toBe(0);
  });
});

describe('a limiter of rates', () => {
  it('[http 16] limits each key by itself, and says when to come again', () => {
    let now = 0;
    const limiter = new RateLimiter(2, { nowMillis: () => now });
    expect(['a', 'a', 'a', 'b'].map((key) => limiter.take(key))).toEqual([0, 0, 1, 0]);
    now = 500;
    expect(limiter.take('a')).toBe(0);
    expect(limiter.take('a')).toBe(1);
  });

  it('without a limit keeps nothing and refuses nothing', () => {
    const limiter = new RateLimiter(Number.POSITIVE_INFINITY);
    for (let time = 0; time < 1_000; time += 1) expect(limiter.take('a')).toBe(0);
  });

  it('forgets the key that was quiet longest', () => {
    const limiter = new RateLimiter(1, { nowMillis: () => 0 });
    limiter.take('first');
    limiter.take('second');
    for (let key = 0; key < limits.rateBucketsMax - 2; key += 1) limiter.take(`${key}`);
    expect(limiter.take('first')).toBe(1);
    limiter.take('one more');
    expect(limiter.take('second')).toBe(0);
    expect(limiter.take('first')).toBe(1);
  });
});

import { describe, expect, it } from 'vitest';
import { Random } from '../../testing/random.ts';
import { ExactSum } from './exact-sum.ts';

function sumOf(...values: readonly number[]): number {
  const sum = new ExactSum();
  for (const value of values) sum.add(value);
  return sum.total();
}

describe('[sql 3] a sum of floats', () => {
  it('loses nothing on the way', () => {
    expect(sumOf()).toBe(0);
    expect(sumOf(-0)).toBe(0);
    expect(sumOf(1e100, 1, -1e100)).toBe(1);
    expect(sumOf(...new Array<number>(10).fill(0.1))).toBe(1);
    // Half a step beyond 1, and a little more or less: rounded once, not twice.
    expect(sumOf(1, 2 ** -53)).toBe(1);
    expect(sumOf(1, 2 ** -53, 2 ** -1074)).toBe(1 + 2 ** -52);
    expect(sumOf(1, 2 ** -53, -(2 ** -1074))).toBe(1);
    expect(sumOf(1 + 2 ** -52, 2 ** -53)).toBe(1 + 2 ** -51);
  });

  it('may pass the range of floats on the way', () => {
    const most = Number.MAX_VALUE;
    expect(sumOf(most, most, -most, 0.5)).toBe(most);
    expect(sumOf(most, most)).toBe(Number.POSITIVE_INFINITY);
    expect(sumOf(most, 5e-324, -most)).toBe(5e-324);
    expect(sumOf(-most, -most, most, most, 0.1)).toBe(0.1);
    expect(sumOf(Number.POSITIVE_INFINITY, -most)).toBe(Number.POSITIVE_INFINITY);
    expect(sumOf(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)).toBeNaN();
  });

  it('is the same in any order, and after anything was taken away again (seed 5)', () => {
    const random = new Random(5);
    const value = (): number => {
      if (random.chance(0.05)) return random.pick([Number.NaN, Number.POSITIVE_INFINITY, -0]);
      const scale = random.chance(0.2) ? random.between(-1_000, 1_000) : random.between(-60, 60);
      return (random.below(2 ** 30) - 2 ** 29) * 2 ** scale;
    };
    for (let round = 0; round < 300; round++) {
      const kept = Array.from({ length: random.below(20) }, value);
      const gone = Array.from({ length: random.below(20) }, value);
      const sum = new ExactSum();
      for (const one of gone) sum.add(one);
      for (const one of kept.toReversed()) sum.add(one);
      for (const one of gone) sum.remove(one);
      expect(sum.total()).toBe(sumOf(...kept));
    }
  });
});

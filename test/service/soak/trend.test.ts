import { expect, it } from 'vitest';
import { Random } from '../../../src/testing/random.ts';
import { growthOf } from './trend.ts';

const random = new Random(7);
const points = (of: (at: number) => number) =>
  Array.from({ length: 80 }, (_, at) => 1_000 + of(at) + random.below(100));

it('growth is what goes on all the time, and neither steps nor peaks are', () => {
  expect(Math.abs(growthOf(points(() => 0)))).toBeLessThan(100);
  expect(Math.abs(growthOf(points((at) => (at < 40 ? 0 : 5_000))))).toBeLessThan(300);
  expect(Math.abs(growthOf(points((at) => (at % 9 === 0 ? 5_000 : 0))))).toBeLessThan(200);
  expect(growthOf(points((at) => at * 10))).toBeGreaterThan(600);
});

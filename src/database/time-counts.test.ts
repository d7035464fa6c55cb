import { expect, it } from 'vitest';
import { spanCount, TimeCounts, timeBoundsMillis, timeCountsLength } from './time-counts.ts';

it('counts each span in the first bucket whose bound it does not exceed, and adds them up', () => {
  const counts = new TimeCounts();
  for (const bound of timeBoundsMillis) counts.add(bound);
  for (const millis of [0, 3, 60_000]) counts.add(millis);
  const figures = counts.figures();
  expect(figures).toHaveLength(timeCountsLength);
  expect(figures.slice(0, -1)).toEqual([2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1]);
  const sum = timeBoundsMillis.reduce((total, bound) => total + bound, 60_003);
  expect(figures.at(-1)).toBeCloseTo(sum);
  expect(spanCount(figures)).toBe(timeBoundsMillis.length + 3);
});

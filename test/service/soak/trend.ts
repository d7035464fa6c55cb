/**
 * How much a series grows from its first point to its last, by the median of slopes (after Theil and
 * Sen). Only pairs of points that are near each other count, at most a quarter of the series apart:
 * what grows all the time shows in each of them; what grows once, such as a table that doubles, or
 * stands out for a moment, in few.
 */
export function growthOf(points: readonly number[]): number {
  const apartMax = Math.max(1, Math.floor(points.length / 4));
  const slopes: number[] = [];
  for (let to = 1; to < points.length; to += 1) {
    for (let from = Math.max(0, to - apartMax); from < to; from += 1) {
      slopes.push(((points[to] as number) - (points[from] as number)) / (to - from));
    }
  }
  slopes.sort((one, other) => one - other);
  const median = slopes[Math.floor(slopes.length / 2)] ?? 0;
  return median * (points.length - 1);
}

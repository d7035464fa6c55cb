/**
 * The growth of a series from its first point to its last, by the median of the slopes between all
 * pairs of points (Theil and Sen): points that stand out, up to a quarter of all, do not move it.
 */
export function growthOf(points: readonly number[]): number {
  const slopes: number[] = [];
  for (let to = 1; to < points.length; to += 1) {
    for (let from = 0; from < to; from += 1) {
      slopes.push(((points[to] as number) - (points[from] as number)) / (to - from));
    }
  }
  slopes.sort((one, other) => one - other);
  const median = slopes[Math.floor(slopes.length / 2)] ?? 0;
  return median * (points.length - 1);
}

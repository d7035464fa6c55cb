/** The value of a metric, summed over its labels, in what `/v1/metrics` answers. */
export function figureIn(text: string, name: string): number {
  const lines = text.matchAll(new RegExp(`^reducerdb_${name}(?:\\{.*\\})? (\\d+)$`, 'gm'));
  let sum = 0;
  for (const [, value] of lines) sum += Number(value);
  return sum;
}

/**
 * Of long generated work a share runs beside all other tests, a different one each time, and all of
 * it in the long form: `vitest.long.config.ts` sets `TEST_WHOLE`.
 */
export const isWhole: boolean = process.env.TEST_WHOLE !== undefined;

const shareOf = 4;

/** How often random input is tried: a quarter of these times, or all. */
export function someRuns(whole: number): number {
  return isWhole ? whole : Math.ceil(whole / shareOf);
}

/** Every fourth of these seeds, from a random one, or all. Titles name them. */
export function someSeeds(first: number, count: number): number[] {
  const seeds = Array.from({ length: count }, (_, at) => first + at);
  if (isWhole) return seeds;
  const step = Math.min(shareOf, count);
  const from = Math.floor(Math.random() * step);
  return seeds.filter((_, at) => at % step === from);
}

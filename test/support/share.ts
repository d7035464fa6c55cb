import { TestRunner } from 'vitest';

/**
 * Of long generated work a share runs beside all other tests, a different one each time, and all of
 * it in the long form: `vitest.long.config.ts` sets `TEST_WHOLE`.
 */
export const isWhole: boolean = process.env.TEST_WHOLE !== undefined;

const shareOf = 4;
const shareOfRuns = 8;

/** How often random input is tried: an eighth of these times, or all. */
export function someRuns(whole: number): number {
  return isWhole ? whole : Math.ceil(whole / shareOfRuns);
}

/** Every fourth of these seeds, from a random one, or all. Titles name them. */
export function someSeeds(first: number, count: number): number[] {
  return someOf(Array.from({ length: count }, (_, at) => first + at));
}

/** Every fourth of these (or `oneOf`th), from a random one, or all; of fewer than four, one. */
export function someOf<Item>(all: readonly Item[], oneOf = shareOf): Item[] {
  if (isWhole) return [...all];
  const step = Math.min(oneOf, all.length);
  const from = Math.floor(Math.random() * step);
  return all.filter((_, at) => at % step === from);
}

const firstTurn = Math.floor(Math.random() * 2);

/**
 * For the end of a suite that is run for several kinds of the same thing, as a database in a thread
 * and one in a process: each of its tests so far runs for one of `kinds`, by turns, or for all. A
 * kind that is not among them runs whole.
 */
export function takeTurns(kind: string, kinds: readonly string[] = ['thread', 'process']): void {
  const place = kinds.indexOf(kind);
  if (isWhole || place < 0) return;
  TestRunner.getCurrentSuite().tasks.forEach((task, at) => {
    const isItsTurn = (at + firstTurn) % kinds.length === place;
    if (task.type === 'test' && task.mode === 'run' && !isItsTurn) task.mode = 'skip';
  });
}

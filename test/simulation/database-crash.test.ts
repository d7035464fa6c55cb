import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { type CrashRound, crashRounds } from './database-crash.ts';

describe('a database whose power is cut', () => {
  const seeds = Array.from({ length: 12 }, (_, at) => 1_000 + at);

  it.each(seeds)(
    '[durability P1-P4, D12] keeps a prefix that holds all it confirmed (seed %i)',
    async (seed) => checkRounds(await crashRounds(new Random(seed), 8)),
  );

  it.each(seeds)(
    '[history 2.5, history 2.30] does so with snapshots all the time (seed %i)',
    async (seed) => {
      const sizes = { logBytesMin: 300, logBytesMax: 1_000 };
      const rounds = await crashRounds(new Random(seed), 8, sizes);
      expect(rounds.some(({ snapshots }) => snapshots > 0)).toBe(true);
      checkRounds(rounds);
    },
  );
});

function checkRounds(rounds: readonly CrashRound[]): void {
  for (const { calls, confirmed, found, clients } of rounds) {
    const present = found.map(({ name }) => name);
    expect(present).toEqual(present.map((_, at) => `n${at}`));
    expect(present.length).toBeLessThanOrEqual(calls);
    expect(confirmed.filter((name) => !present.includes(name))).toEqual([]);
    expect(new Set(found.map(({ number }) => number)).size).toBe(found.length);
    expect(clients).toBe(0);
  }
}

import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { crashRounds } from './database-crash.ts';

describe('a database whose power is cut', () => {
  const seeds = Array.from({ length: 12 }, (_, at) => 1_000 + at);

  it.each(seeds)(
    '[durability P1-P4, D12] keeps a prefix that holds all it confirmed (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      for (const { calls, confirmed, found, clients } of await crashRounds(random, 8)) {
        const present = found.map(({ name }) => name);
        expect(present).toEqual(present.map((_, at) => `n${at}`));
        expect(present.length).toBeLessThanOrEqual(calls);
        expect(confirmed.filter((name) => !present.includes(name))).toEqual([]);
        expect(new Set(found.map(({ number }) => number)).size).toBe(found.length);
        expect(clients).toBe(0);
      }
    },
  );
});

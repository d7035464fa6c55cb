import { describe, expect, it } from 'vitest';
import { fuzzParser } from '../sql/fuzz-parser.ts';
import { runDifferential } from '../sql/query-differential.ts';

const firstSeed = Date.now() % 1_000_000;

describe('SQL, for a long time', () => {
  it(`ends 200,000 mutated statements in a plan or a refusal, seed ${firstSeed}`, () => {
    const { planned, refused } = fuzzParser(200_000, firstSeed);
    expect(planned + refused).toBe(200_000);
  });

  it(`answers like a loop over decoded rows, seed ${firstSeed}`, () => {
    const run = { seed: firstSeed, tables: 2_000, statementsPerTable: 50 };
    expect(runDifferential(run)).toBeGreaterThan(0);
  });
});

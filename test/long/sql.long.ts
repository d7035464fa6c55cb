import { describe, expect, it } from 'vitest';
import { fuzzStatements } from '../sql/fuzz-statements.ts';

const firstSeed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const count = 200_000;

describe('SQL, for a long time', () => {
  it(`ends ${count} mutated statements in a plan or a refusal, seed ${firstSeed}`, () => {
    const { parsed, malformed, planned } = fuzzStatements(count, firstSeed);
    expect(parsed + malformed).toBe(count);
    expect(planned).toBeGreaterThan(count / 20);
  });
});

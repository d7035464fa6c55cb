import { expect, it } from 'vitest';
import { fuzzParser } from '../../../test/sql/fuzz-parser.ts';

it('ends every mutated statement in a plan or a refusal', () => {
  const { parsed, planned, refused } = fuzzParser(4_000, 20_250_217);
  expect(planned + refused).toBe(4_000);
  // Mutations that are too wild would only ever test the first token.
  expect(parsed).toBeGreaterThan(600);
  expect(planned).toBeGreaterThan(100);
});

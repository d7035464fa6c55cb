import { expect, it } from 'vitest';
import { fuzzStatements } from '../../../../test/sql/fuzz-statements.ts';

it('ends every mutated statement in a tree or a refusal, and reads what the grammar makes', () => {
  const { parsed, whole, refused } = fuzzStatements(4_000, 20_260_517);
  expect(parsed + refused).toBe(4_000);
  // Mutations that are too wild would only ever test the first token.
  expect(parsed).toBeGreaterThan(1_000);
  expect(whole).toBeGreaterThan(600);
});

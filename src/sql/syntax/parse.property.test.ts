import { expect, it } from 'vitest';
import { fuzzStatements } from '../../../test/sql/fuzz-statements.ts';
import { parse } from './parse.ts';

it('ends every mutated statement in a plan or a refusal, and reads what the grammar makes', () => {
  const result = fuzzStatements(3_000, 20_260_517);
  const { parsed, whole, malformed, planned, refused, subscribed } = result;
  expect(parsed + malformed).toBe(3_000);
  expect(planned + refused).toBe(parsed);
  // Wilder mutations would only ever test the first token.
  expect(parsed).toBeGreaterThan(1_000);
  expect(whole).toBeGreaterThan(600);
  expect(planned).toBeGreaterThan(300);
  expect(subscribed).toBeGreaterThan(30);
});

it('shows a quote in a hex literal as it must be written', () => {
  const { statement, source } = parse("SET row_limit TO X'ab''ab'");
  expect(source.text(statement.span)).toBe("SET row_limit TO X'ab''ab'");
});

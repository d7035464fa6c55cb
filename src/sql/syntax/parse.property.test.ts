import { expect, it } from 'vitest';
import { fuzzStatements } from '../../../test/sql/fuzz-statements.ts';
import { someSeeds } from '../../../test/support/share.ts';
import { parse } from './parse.ts';

it.each(someSeeds(20_260_517, 4))(
  'ends every mutated statement in a plan or a refusal, and reads what the grammar makes (seed %i)',
  (seed) => {
    const { parsed, whole, malformed, planned, refused, subscribed } = fuzzStatements(750, seed);
    expect(parsed + malformed).toBe(750);
    expect(planned + refused).toBe(parsed);
    // Wilder mutations would only ever test the first token.
    expect(parsed).toBeGreaterThan(250);
    expect(whole).toBeGreaterThan(150);
    expect(planned).toBeGreaterThan(75);
    expect(subscribed).toBeGreaterThan(7);
  },
);

it('shows a quote in a hex literal as it must be written', () => {
  const { statement, source } = parse("SET row_limit TO X'ab''ab'");
  expect(source.text(statement.span)).toBe("SET row_limit TO X'ab''ab'");
});

import { expect, it } from 'vitest';
import { runDifferential } from '../../test/sql/query-differential.ts';

it('answers like a loop over decoded rows, with indexes and without', () => {
  const compared = runDifferential({ seed: 4_711, tables: 120, statementsPerTable: 40 });
  expect(compared).toBeGreaterThan(10_000);
});

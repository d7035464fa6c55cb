import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { someSeeds } from '../support/share.ts';
import { errandHistory } from './errand-crash.ts';
import { errandFaults } from './errand-model.ts';
import { scheduleHistory } from './schedule-crash.ts';
import { faultsOf } from './schedule-model.ts';

describe('schedules of a database whose power is cut', () => {
  const seeds = someSeeds(3_000, 16);

  it.each(seeds)(
    '[living 1.1, 1.2, 1.3, 1.4, 1.5, 1.10] run for each due time exactly once (seed %i)',
    async (seed) => {
      const history = await scheduleHistory(new Random(seed), 8);
      expect(faultsOf(history)).toEqual([]);
      expect(history.lost).toEqual([]);
      expect(history.ledger.filter(({ kind }) => kind === 'run').length).toBeGreaterThan(0);
    },
  );
});

describe('scheduled procedures of a database whose power is cut', () => {
  const seeds = someSeeds(4_000, 16);

  it.each(seeds)(
    '[living 1.12] run at most once, or at least once and until they return (seed %i)',
    async (seed) => {
      const history = await errandHistory(new Random(seed), 8);
      expect(errandFaults(history)).toEqual([]);
      expect(history.errands.length).toBeGreaterThan(0);
    },
  );
});

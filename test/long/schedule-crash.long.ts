import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { errandHistory } from '../simulation/errand-crash.ts';
import { errandFaults } from '../simulation/errand-model.ts';
import { scheduleHistory } from '../simulation/schedule-crash.ts';
import { faultsOf } from '../simulation/schedule-model.ts';

const rounds = 200;
const firstSeed = Date.now() % 1_000_000;

describe('schedules of a database whose power is cut, for a long time', () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    it(`run for each due time exactly once, seed ${seed}`, async () => {
      const history = await scheduleHistory(new Random(seed), 12);
      expect(faultsOf(history)).toEqual([]);
      expect(history.lost).toEqual([]);
    });
  }
});

describe('scheduled procedures of a database whose power is cut, for a long time', () => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    it(`run at most once, or at least once, seed ${seed}`, async () => {
      const history = await errandHistory(new Random(seed), 12);
      expect(errandFaults(history)).toEqual([]);
    });
  }
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someSeeds } from '../support/share.ts';
import { type House, homeHouse } from './oracle/house.ts';
import { runOracle } from './oracle/oracle.ts';

let house: House;
beforeAll(async () => {
  house = await homeHouse();
});
afterAll(() => house.close());

describe('[subscriptions 2, 4, 6, 17] clients of all kinds know what their queries give', () => {
  for (const seed of someSeeds(1, 2)) {
    it(`at every quiet point, and have seen every commit once (seed ${seed})`, async () => {
      const report = await runOracle({ seed, steps: 300, house });
      expect(report.quietPoints).toBeGreaterThan(3);
      expect(report.commits).toBeGreaterThan(100);
    }, 120_000);
  }
});

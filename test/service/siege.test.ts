import { expect, it } from 'vitest';
import { isolations } from '../../src/host/workers/isolation.ts';
import { someOf } from '../support/share.ts';
import { expectHeld } from './siege/bars.ts';
import { siege } from './siege/siege.ts';
import { siegeTable } from './siege/siege-table.ts';

/** Small, and beside other tests: how long anybody waits is looked at by the long form. */
for (const isolation of someOf(isolations)) {
  it(`[living 6.3] all attackers at once leave neighbours as they were: ${isolation}`, async () => {
    const report = await siege({
      isolation,
      aloneSeconds: 1,
      siegeSeconds: 8,
      databaseCount: 4,
      runawayCount: 2,
      only: process.env.SIEGE_ONLY,
    });
    console.log(siegeTable(report));
    for (const { name, tries } of report.outcomes) expect(tries, name).toBeGreaterThan(0);
    expectHeld(report);
  }, 240_000);
}

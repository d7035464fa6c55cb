import { it } from 'vitest';
import { isolations } from '../../src/host/workers/isolation.ts';
import { expectHeld, expectUndelayed } from '../service/siege/bars.ts';
import { siege } from '../service/siege/siege.ts';
import { siegeTable } from '../service/siege/siege-table.ts';

const minutes = Number(process.env.SIEGE_MINUTES ?? 20);
const wanted = process.env.SIEGE_MODE;

for (const isolation of isolations.filter((mode) => wanted === undefined || mode === wanted)) {
  it(`[living 6.3] ${minutes} minutes of all attackers at once: ${isolation}`, async () => {
    const report = await siege({
      isolation,
      aloneSeconds: Math.min(60, minutes * 15),
      siegeSeconds: minutes * 60,
      databaseCount: 20,
      only: process.env.SIEGE_ONLY,
    });
    console.log(siegeTable(report));
    expectHeld(report);
    expectUndelayed(report);
  });
}

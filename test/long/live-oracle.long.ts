import { describe, expect, it } from 'vitest';
import { killedHouse } from '../service/oracle/house.ts';
import { runOracle } from '../service/oracle/oracle.ts';

const firstSeed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const modules = Number(process.env.MODULES ?? 20);
const steps = Number(process.env.STEPS ?? 2_500);

describe(`[subscriptions 2, 4, 6] ${modules} random modules, ${steps} steps each`, () => {
  for (let seed = firstSeed; seed < firstSeed + modules; seed += 1) {
    it(`clients know what their queries give, whatever is killed (seed ${seed})`, async () => {
      const house = await killedHouse();
      try {
        const report = await runOracle({ seed, steps, house });
        console.log(`seed ${seed}: ${JSON.stringify(report)}`);
        expect(report.quietPoints).toBeGreaterThan(steps / 200);
      } finally {
        await house.close();
      }
    });
  }
});

import { describe, expect, it } from 'vitest';
import { runPreviewLab } from '../preview/preview-lab.ts';
import { shopOpener } from '../support/shop.ts';

const firstSeed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const modules = Number(process.env.MODULES ?? 40);
const steps = Number(process.env.STEPS ?? 400);

describe(`[mcp B19] ${modules} random modules, ${steps} steps each`, () => {
  for (let seed = firstSeed; seed < firstSeed + modules; seed += 1) {
    it(`previews leave no trace, and come true (seed ${seed})`, async () => {
      const placement = seed % 4 === 0 ? 'thread' : 'local';
      const report = await runPreviewLab(shopOpener(placement), seed, steps);
      console.log(`seed ${seed} (${placement}): ${JSON.stringify(report)}`);
      expect(report.applied).toBeGreaterThan(steps / 20);
      expect(report.differed).toBeGreaterThan(0);
    });
  }
});

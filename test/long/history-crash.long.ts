import { afterAll, describe, expect, it } from 'vitest';
import { runHistoryCrash } from '../simulation/history-crash.ts';

const rounds = 60;
const cutsMin = 40_000;
const firstSeed = Number(process.env.HISTORY_SEED ?? Date.now() % 1_000_000);

describe('a log over whose history passes are made, interrupted at each operation', () => {
  let cuts = 0;
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const segmentBytes = [600, 1000, 2500, 8000][seed % 4] ?? 600;
    it(`seed ${seed}, segments of ${segmentBytes} bytes`, async () => {
      const report = await runHistoryCrash({ seed, steps: 30, outcomes: 2, segmentBytes });
      cuts += report.cuts;
    });
  }
  afterAll(() => {
    expect(cuts).toBeGreaterThanOrEqual(cutsMin);
  });
});

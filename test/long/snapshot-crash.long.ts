import { afterAll, describe, expect, it } from 'vitest';
import { runSnapshotCrash } from '../simulation/snapshot-crash.ts';

const rounds = 110;
const cutsMin = 100_000;
const firstSeed = Number(process.env.SNAPSHOT_SEED ?? Date.now() % 1_000_000);

describe('a log with snapshots, interrupted at each operation, for a long time', () => {
  let cuts = 0;
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const segmentBytes = [600, 1500, 8000, 64_000][seed % 4] ?? 600;
    it(`seed ${seed}, segments of ${segmentBytes} bytes`, async () => {
      const report = await runSnapshotCrash({ seed, steps: 70, outcomes: 2, segmentBytes });
      cuts += report.cuts;
    });
  }
  afterAll(() => {
    expect(cuts).toBeGreaterThanOrEqual(cutsMin);
  });
});

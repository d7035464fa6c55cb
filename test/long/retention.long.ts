import { expect, it } from 'vitest';
import { runRetention } from '../simulation/retention-run.ts';

it('[history I8] 10,000 rows, updated 1,000,000 times', async () => {
  const report = await runRetention({
    seed: Number(process.env.RETENTION_SEED ?? Date.now() % 1_000_000),
    rows: 10_000,
    updates: 1_000_000,
    segmentBytes: 1_000_000,
    snapshotLogBytes: 4_000_000,
    keepBytes: 4_000_000,
  });
  console.log(report);
  expect(report.floorOffset).toBeGreaterThan(50_000);
  expect(report.bytesMax).toBeLessThan(report.logBytes / 2);
  expect(report.openMillis).toBeLessThan(1_000);
});

import { expect, it } from 'vitest';
import { runRetention } from './retention-run.ts';

it('[history I8] rows that are updated again and again take no more than the bound', async () => {
  const report = await runRetention({
    seed: 5,
    rows: 300,
    updates: 20_000,
    segmentBytes: 32_000,
    snapshotLogBytes: 60_000,
    keepBytes: 150_000,
  });
  expect(report.passes).toBeGreaterThan(10);
  expect(report.floorOffset).toBeGreaterThan(100);
  expect(report.logBytes).toBeGreaterThan(800_000);
  expect(report.bytesMax).toBeLessThan(report.logBytes / 2);
});

import { describe, expect, it } from 'vitest';
import { runSnapshotCrash } from './snapshot-crash.ts';

describe('a log with snapshots, interrupted at each operation', () => {
  it.each([
    { seed: 1, steps: 40, outcomes: 1, segmentBytes: 2048 },
    { seed: 2, steps: 40, outcomes: 1, segmentBytes: 600 },
  ])(
    '[history 2.4, 2.5, 2.9, 2.30, 2.31] is the whole log, or a prefix of it: %o',
    async (options) => {
      const report = await runSnapshotCrash(options);
      expect(report.operations).toBeGreaterThan(60);
      expect(report.snapshots).toBeGreaterThan(5);
      expect(report.restored).toBeGreaterThan(50);
    },
  );
});

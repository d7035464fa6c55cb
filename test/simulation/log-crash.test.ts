import { describe, expect, it } from 'vitest';
import { runLogCrash } from './log-crash.ts';

describe('the commit log, with the power cut at each operation', () => {
  it.each([
    { seed: 1, steps: 60, outcomes: 1, segmentBytes: 2048 },
    { seed: 2, steps: 60, outcomes: 2, segmentBytes: 16 * 1024 },
    { seed: 3, steps: 40, outcomes: 1, segmentBytes: 600 },
    { seed: 4, steps: 60, outcomes: 1, segmentBytes: 2048, withRuns: true },
  ])('[P1] [P2] [P4] [W7] [W9] yields a prefix with all that was durable: %o', async (options) => {
    const report = await runLogCrash(options);
    expect(report.operations).toBeGreaterThan(40);
    expect(report.warnings).toBeGreaterThan(0);
  });
});

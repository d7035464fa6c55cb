import { describe, expect, it } from 'vitest';
import { runHistoryCrash } from './history-crash.ts';

describe('a log over whose history passes are made, interrupted at each operation', () => {
  it.each([
    { seed: 1, steps: 22, outcomes: 1, segmentBytes: 900 },
    { seed: 7, steps: 22, outcomes: 1, segmentBytes: 1800 },
  ])('[history 3.1, 3.2, 3.3, 3.6, I1] keeps all that was durable: %o', async (options) => {
    const report = await runHistoryCrash(options);
    expect(report.operations).toBeGreaterThan(60);
    expect(report.deleted).toBeGreaterThan(50);
    expect(report.packed).toBeGreaterThan(50);
    expect(report.moved).toBeGreaterThan(20);
  });
});

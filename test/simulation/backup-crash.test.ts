import { describe, expect, it } from 'vitest';
import { runBackupCrash } from './backup-crash.ts';

describe('backups and archives, interrupted at their operations', () => {
  it.each([
    { seed: 1, steps: 14, every: 23 },
    { seed: 2, steps: 14, every: 23 },
  ])('[history 5.4, 5.9, 5.12, I6, I10] name only what is there: %o', async (options) => {
    const report = await runBackupCrash(options);
    expect(report.cuts).toBeGreaterThan(20);
    expect(report.manifests).toBeGreaterThan(10);
    expect(report.restores).toBeGreaterThan(10);
    expect(report.refused).toBeGreaterThan(10);
  });
});

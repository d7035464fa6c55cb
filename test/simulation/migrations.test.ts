import { describe, expect, it } from 'vitest';
import { type MigrationRunReport, runMigration } from './migration-model.ts';

describe('[living 5.6, 5.7] random migrations of random rows', () => {
  it('give what each row gives by itself, or leave everything, whatever is cut', async () => {
    const reports: MigrationRunReport[] = [];
    for (let seed = 1; seed <= 200; seed++) reports.push(await runMigration(seed, 2));
    const count = (is: (report: MigrationRunReport) => boolean) => reports.filter(is).length;
    expect(count(({ outcome }) => outcome === 'updated')).toBeGreaterThan(100);
    expect(count(({ outcome }) => outcome === 'refused')).toBeGreaterThan(5);
    expect(count(({ isOnline, changes }) => isOnline && changes > 0)).toBeGreaterThan(50);
    expect(count(({ old }) => old > 0)).toBeGreaterThan(50);
    expect(count(({ next }) => next > 0)).toBeGreaterThan(10);
    expect(count(({ cancelled }) => cancelled > 0)).toBeGreaterThan(100);
  });
});

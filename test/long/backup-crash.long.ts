import { afterAll, describe, expect, it } from 'vitest';
import { runBackupCrash } from '../simulation/backup-crash.ts';

const rounds = Number(process.env.BACKUP_ROUNDS ?? 6);
const firstSeed = Number(process.env.BACKUP_SEED ?? Date.now() % 1_000_000);

describe('backups and archives, interrupted at each operation, for a long time', () => {
  let cuts = 0;
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    it(`seed ${seed}`, async () => {
      const report = await runBackupCrash({ seed, steps: 20, every: 1 });
      expect(report.restores).toBeGreaterThan(0);
      cuts += report.cuts;
    });
  }
  afterAll(() => {
    expect(cuts).toBeGreaterThan(100 * rounds);
  });
});

import { describe, expect, it } from 'vitest';
import { runDisks } from './cluster/disk-run.ts';

describe('a simulated cluster of hosts with local logs', () => {
  it('[replication 17.1, 17.2] loses nothing that was acknowledged, and its hosts agree', async () => {
    const seeds = Number(process.env.SEEDS ?? 12);
    const first = Number(process.env.FIRST_SEED ?? 1);
    const all = { warnings: '', terms: 0, acknowledged: 0 };
    for (let seed = first; seed < first + seeds; seed++) {
      const run = await runDisks(seed);
      expect({ seed, wrong: run.wrong }).toEqual({ seed, wrong: [] });
      all.warnings += run.warnings.join('\n');
      all.terms += run.termCount;
      all.acknowledged += run.acknowledgedCount;
    }
    // What the test is for has happened.
    expect(all.terms).toBeGreaterThan(2 * seeds);
    expect(all.acknowledged).toBeGreaterThan(100 * seeds);
    if (seeds >= 12) expect(all.warnings).toContain('were set aside as');
  });
});

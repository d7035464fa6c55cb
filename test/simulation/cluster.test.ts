import { describe, expect, it } from 'vitest';
import { Member } from '../../src/shared-log/member.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import { ReadLease } from '../../src/shared-log/read-lease.ts';
import { runCluster } from './cluster/cluster-run.ts';
import { isMutationFound } from './cluster/find-mutation.ts';
import { mutations } from './cluster/mutations.ts';
import { isFooledByOldPrimary, isLateAppendStored } from './cluster/scenarios.ts';

const parts = { Member, MemoryEngine, ReadLease };

/** 200 seeds together; the long run has thousands of each. */
const seeds = { faults: 80, shortened: 40, lying: 40, leases: 40 };

describe('a simulated cluster', () => {
  it('[replication 17.1, 17.2, 17.6] keeps every promise through faults of all kinds', async () => {
    for (let seed = 1; seed <= seeds.faults; seed++) {
      const run = await runCluster({ seed, parts });
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] });
      expect(run.acknowledgedCount).toBeGreaterThan(10);
    }
  });

  it('[replication 6.5, 17.1] a host at an old primary keeps what it knows to be acknowledged', async () => {
    // Its engine shows it the other end of the log that was never acknowledged.
    const { violations } = await runCluster({ seed: 920, parts });
    expect(violations).toEqual([]);
  });

  it('[replication 6.2, 6.8, 17.1, 17.6] goes on from snapshots when entries were removed', async () => {
    let [truncated, restarted] = [0, 0];
    for (let seed = 1; seed <= seeds.shortened; seed++) {
      const run = await runCluster({ seed, parts, isShortened: true });
      truncated += run.truncatedCount;
      restarted += run.restartCount;
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] });
    }
    expect([truncated > 0, restarted > 0]).toEqual([true, true]);
  });

  it('[replication 17.1, 17.6, 6.9] restores, or refuses, what an engine that lies has lost', async () => {
    // In the last one, another host claims before the leader has restored what the engine lost.
    const lying = Array.from({ length: seeds.lying - 1 }, (_, index) => index + 1);
    for (const seed of [...lying, 2_151]) {
      const run = await runCluster({ seed, parts, isEngineLying: true });
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] });
    }
  });

  it('[replication 9.4, 17.1] moves its leader by plan, and no call that ran is left without an answer', async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const run = await runCluster({ seed, parts, isOnlyMoved: true });
      const { violations, failedCount } = run;
      expect({ seed, violations, failedCount }).toEqual({ seed, violations: [], failedCount: 0 });
      expect(run.termCount).toBeGreaterThan(5);
      expect(run.longestGapMillis).toBeLessThan(1_000);
    }
  });

  it('[replication 5.11, 17.1, 17.6] reads within leases are never old, with clocks that run unlike', async () => {
    let leaseReadCount = 0;
    for (let seed = 1; seed <= seeds.leases; seed++) {
      const run = await runCluster({ seed, parts, isReadByLease: true });
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] });
      leaseReadCount += run.leaseReadCount;
    }
    expect(leaseReadCount).toBeGreaterThan(500);
  });

  it('[replication 14.5] is not fooled by an old primary, nor by an append that comes late', async () => {
    expect(await isFooledByOldPrimary(parts)).toBe(false);
    expect(await isLateAppendStored(parts)).toBe(false);
  });
});

/** Those that show within a few seeds; the long run has them all. */
const quick = mutations.filter(({ isRare }) => isRare !== true);

describe('a broken fence', () => {
  it.each(quick)('[replication 17.3] is found: $name', async (mutation) => {
    expect(await isMutationFound(mutation, 40)).toBe(true);
  });
});

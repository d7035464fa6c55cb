import { describe, expect, it } from 'vitest';
import { Member } from '../../src/shared-log/member.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import { runCluster } from './cluster/cluster-run.ts';
import { isMutationFound } from './cluster/find-mutation.ts';
import { mutations } from './cluster/mutations.ts';
import { isFooledByOldPrimary, isLateAppendStored } from './cluster/scenarios.ts';

const parts = { Member, MemoryEngine };

describe('a simulated cluster', () => {
  it('[replication 17.1, 17.2] keeps every promise through faults of all kinds', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const run = await runCluster({ seed, parts });
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] });
      expect(run.acknowledgedCount).toBeGreaterThan(10);
    }
  });

  it('[replication 17.1, 6.9] restores, or refuses, what an engine that lies has lost', async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const run = await runCluster({ seed, parts, isEngineLying: true });
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] });
    }
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

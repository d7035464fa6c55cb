import { expect, it } from 'vitest';
import { Member } from '../../src/shared-log/member.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import { ReadLease } from '../../src/shared-log/read-lease.ts';
import { runCluster } from '../simulation/cluster/cluster-run.ts';
import { isMutationFound } from '../simulation/cluster/find-mutation.ts';
import { mutations } from '../simulation/cluster/mutations.ts';

/** `SEEDS` runs, from `FIRST_SEED` on; a seed that fails is printed with what happened. */
const seedCount = Number(process.env.SEEDS ?? 2_000);
const firstSeed = Number(process.env.FIRST_SEED ?? 1);
const parts = { Member, MemoryEngine, ReadLease };

const kinds = [
  ['faults of all kinds', {}],
  ['logs that are shortened', { isShortened: true }],
  ['an engine that lies once', { isEngineLying: true }],
  ['reads within leases', { isReadByLease: true }],
] as const;

for (const [kind, more] of kinds) {
  it(`[replication 17.1, 17.2] a cluster lives through ${kind}`, async () => {
    const failed: number[] = [];
    for (let seed = firstSeed; seed < firstSeed + seedCount; seed++) {
      const { violations, story } = await runCluster({ seed, parts, ...more });
      if (violations.length === 0) continue;
      failed.push(seed);
      console.error(`seed ${seed}`, violations.slice(0, 3), story.join('\n'));
    }
    expect(failed).toEqual([]);
  });
}

it.each(mutations)('[replication 17.3] a broken fence is found: $name', async (mutation) => {
  expect(await isMutationFound(mutation, seedCount)).toBe(true);
});

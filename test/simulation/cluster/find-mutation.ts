import { runCluster } from './cluster-run.ts';
import { type Mutation, mutated } from './mutations.ts';
import { isFooledByOldPrimary, isLateAppendStored } from './scenarios.ts';
import type { ClusterParts } from './simulated-host.ts';

/** Whether a mistake in a fence shows within so many seeds. */
export async function isMutationFound(mutation: Mutation, seedCount: number): Promise<boolean> {
  const parts = await mutated(mutation);
  if (mutation.foundBy === 'old primary') return isFooledByOldPrimary(parts);
  if (mutation.foundBy === 'late append') return isLateAppendStored(parts);
  for (let seed = 1; seed <= seedCount; seed++) {
    if (await isSeedRed(mutation, parts, seed)) return true;
  }
  return false;
}

async function isSeedRed(mutation: Mutation, parts: ClusterParts, seed: number): Promise<boolean> {
  const isEngineLying = mutation.foundBy === 'lies';
  const isShortened = mutation.foundBy === 'shortened';
  const isReadByLease = mutation.foundBy === 'leased';
  const more = { isEngineLying, isShortened, isReadByLease };
  const { violations } = await runCluster({ seed, parts, ...more });
  return violations.length > 0;
}

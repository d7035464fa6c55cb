import { listBackups, listedArchives } from '../backup/list.ts';
import { type PrunePolicy, type PruneReport, pruneBackups } from '../backup/prune.ts';
import type { Repository } from '../backup/repository.ts';
import { type VerifyDepth, type VerifyReport, verifyBackup } from '../backup/verify.ts';
import { replayPlan } from '../host/backups/replay-plan.ts';
import {
  type HostRestore,
  type LeftOut,
  planHost,
  restoreHost,
} from '../host/backups/restore-host.ts';
import { shownRepository } from '../host/backups/shown-repository.ts';
import type { JobProgress } from '../host/databases/jobs.ts';
import { usable } from './open-repository.ts';

/** What a repository holds, as the service shows it. */
export function listRepository(repository: Repository) {
  return usable(async () => {
    const backups = await listBackups(repository);
    return shownRepository({ backups, archives: await listedArchives(repository) });
  });
}

/** Checks one backup. */
export function verifyIn(
  repository: Repository,
  id: string,
  depth: VerifyDepth,
  show: (progress: JobProgress) => void,
): Promise<VerifyReport> {
  return usable(() =>
    verifyBackup(repository, id, {
      depth,
      nowMicros: Date.now() * 1_000,
      onProgress: ({ phase, bytesDone: done, bytesTotal: total }) => show({ phase, done, total }),
      replay: (plan) => replayPlan(repository, plan),
    }),
  );
}

/** Removes backups that a policy does not keep, or says which they are. */
export function pruneIn(
  repository: Repository,
  policy: PrunePolicy,
  isDry: boolean,
): Promise<PruneReport> {
  return usable(() => pruneBackups(repository, policy, { nowMicros: Date.now() * 1_000, isDry }));
}

export interface PlannedHost {
  readonly backup: string;
  readonly timeMicros: number;
  readonly databases: readonly { readonly names: readonly string[]; readonly fault: string }[];
  /** Databases of which nothing can be restored. */
  readonly leftOut: readonly LeftOut[];
  /** Newer backups that cannot be read, and why. */
  readonly passedOver: readonly { readonly id: string; readonly fault: string }[];
  readonly bytes: number;
  readonly freeBytes: number | undefined;
  /** Does it; resolves with the databases that are not there. */
  run(show: (progress: JobProgress) => void): Promise<readonly LeftOut[]>;
}

/** Plans the restore of a whole host into an empty folder. */
export function planHostRestore(
  repository: Repository,
  order: Omit<HostRestore, 'show'>,
): Promise<PlannedHost> {
  return usable(async () => {
    const plan = await planHost(repository, order);
    const { manifest, leftOut, passedOver, bytes, freeBytes } = plan;
    return {
      backup: manifest.id,
      timeMicros: manifest.timeMicros,
      databases: manifest.databases.map(({ record, fault }) => ({ names: record.names, fault })),
      leftOut,
      passedOver,
      bytes,
      freeBytes,
      run: (show) => usable(() => restoreHost(repository, plan, { ...order, show })),
    };
  });
}

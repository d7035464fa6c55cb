import type { Report } from '../node/report-line.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { HistoryControl } from './databases/history-control.ts';
import type { RunningDatabases } from './databases/running-databases.ts';
import type { Canaries } from './deploys/canaries.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { MetricsHour } from './metrics/metrics-hour.ts';
import type { ServiceOutbound } from './outbound/outbound.ts';
import type { Publisher } from './publishing/publish.ts';
import type { EnvStore } from './registry/env-store.ts';
import type { Listeners } from './registry/listeners.ts';
import type { Quotas } from './registry/quotas.ts';
import type { Registry } from './registry/registry.ts';

interface Followers {
  readonly registry: Registry;
  readonly running: RunningDatabases;
  readonly env: EnvStore;
  readonly quotas: Quotas;
  readonly changes: Listeners<DatabaseIdentity>;
  readonly report: Report;
  readonly kept: KeptOfDatabases;
}

/** What else is kept of a database, and let go with it. */
interface KeptOfDatabases {
  readonly canaries: Pick<Canaries, 'stop'>;
  readonly publisher: Pick<Publisher, 'forget'>;
  readonly outbound: Pick<ServiceOutbound, 'forget'>;
  readonly metrics: Pick<MetricsHour, 'forget'>;
  readonly history: Pick<HistoryControl, 'removed'>;
  readonly ledger: Pick<Ledger, 'forget'> | undefined;
}

/**
 * Has this host do what its copy of the cluster's registry says: databases that others have
 * created, reset or deleted, values, quotas, pauses of schedules. Does nothing on a single machine.
 */
export function followRegistry(followers: Followers): void {
  const { registry, running, env, quotas, changes, kept } = followers;
  let hasSwept = false;
  registry.onCopied(async () => {
    const { removed, followed } = await running.reconcile(
      registry,
      registry.role.kind === 'leader',
    );
    const strays = !hasSwept && isCurrent(registry) ? await sweep(followers) : undefined;
    hasSwept ||= strays !== undefined;
    for (const database of [...removed, ...(strays ?? [])]) await forget(database, kept);
    await env.copied();
    for (const owner of new Set([...registry.databases].map((one) => one.owner))) {
      quotas.apply(owner);
    }
    for (const database of [...removed, ...followed]) changes.tell(database);
  });
}

/** True if it knows all that the cluster does. */
function isCurrent({ role }: Registry): boolean {
  return role.kind === 'leader' || (role.kind === 'follower' && role.isAtEnd);
}

/** Removes what is left of databases that were deleted while this host was down. */
async function sweep({ registry, running, report }: Followers): Promise<DatabaseIdentity[]> {
  try {
    return await running.removeStrays((identity) => registry.database(identity) !== undefined);
  } catch (error) {
    const message = `the folder of a deleted database stays until the next start: ${error}`;
    report({ level: 'warn', message });
    return [];
  }
}

async function forget(database: DatabaseIdentity, kept: KeptOfDatabases): Promise<void> {
  kept.canaries.stop(database);
  kept.publisher.forget(database);
  kept.outbound.forget(database);
  kept.metrics.forget(database);
  kept.history.removed(database);
  await kept.ledger?.forget(database);
}

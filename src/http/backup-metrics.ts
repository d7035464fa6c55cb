import type { Registry } from 'prom-client';
import type { Host } from '../host/host.ts';
import { identityToHex } from '../values/identity.ts';
import { instrument } from './instruments.ts';

/** Adds how far the archives of databases are behind, and when their backups succeeded. */
export function addBackups(registry: Registry, { backups, databases }: Host): void {
  const of = (name: string, help: string) => instrument(registry, { name, help }, ['database']);
  const lagSeconds = of(
    'reducerdb_archive_lag_seconds',
    'Time since the archive had all durable commits',
  );
  const lagBytes = of('reducerdb_archive_lag_bytes', 'Log that the archive did not have');
  const gap = of('reducerdb_archive_gap', '1 if the archive lacks commits that are gone');
  const failures = of('reducerdb_archive_failures_total', 'Passes of the archive that failed');
  const success = of(
    'reducerdb_backup_last_success_seconds',
    'When the last backup succeeded, in seconds since the Unix epoch',
  );
  for (const { identity } of databases) {
    const labels = { database: identityToHex(identity) };
    const seconds = backups.control.lastSuccessSeconds(identity);
    if (seconds !== undefined) success(labels, seconds);
    const archived = backups.archived(identity);
    if (archived === undefined) continue;
    lagSeconds(labels, archived.lagMillis / 1_000);
    lagBytes(labels, archived.lagBytes);
    gap(labels, archived.hasGap ? 1 : 0);
    failures(labels, archived.failures);
  }
}

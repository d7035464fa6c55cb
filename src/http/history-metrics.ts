import type { Registry } from 'prom-client';
import type { Host } from '../host/host.ts';
import type { HostedStatistics } from '../host/hosted-database.ts';
import { identityToHex } from '../values/identity.ts';
import { instrument } from './instruments.ts';

/** Adds what is kept of the histories of these databases, as far as they were looked at. */
export function addHistories(
  registry: Registry,
  { historyKeeper }: Host,
  databases: readonly Pick<HostedStatistics, 'identity'>[],
): void {
  const metric = (name: string, help: string, ...labels: readonly string[]) =>
    instrument(registry, { name: `reducerdb_history_${name}`, help }, ['database', ...labels]);
  const floor = metric('floor_offset', 'First commit whose state can still be read');
  const age = metric('floor_age_seconds', 'Age of that commit; absent while nothing was deleted');
  const bytes = metric('bytes', 'Bytes of the files of a log, with snapshots', 'kind');
  const held = metric('held_bytes', 'Bytes that are kept for somebody, by whom', 'by');
  const shrunk = metric('shrunk_total', 'Times that old commits were deleted, by reason', 'reason');
  for (const { identity } of databases) {
    const database = identityToHex(identity);
    const replaced = historyKeeper.replacedBytes(identity);
    if (replaced > 0) bytes({ database, kind: 'replaced' }, replaced);
    const known = historyKeeper.known(identity);
    if (known === undefined) continue;
    const { facts } = known;
    floor({ database }, facts.floorOffset);
    if (facts.floorMicros > 0) age({ database }, Date.now() / 1_000 - facts.floorMicros / 1e6);
    for (const [kind, count] of Object.entries(facts.bytes)) bytes({ database, kind }, count);
    for (const { by, bytes: count } of facts.held) held({ database, by }, count);
    for (const [reason, count] of known.shrunk) shrunk({ database, reason }, count);
  }
}

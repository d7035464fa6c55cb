import type { Registry } from 'prom-client';
import type { Host } from '../host/host.ts';
import { identityToHex } from '../values/identity.ts';
import { instrument } from './instruments.ts';

/** Adds what was served of the static files of databases. */
export function addSites(registry: Registry, { sites, databases }: Host): void {
  const requests = instrument(
    registry,
    { name: 'reducerdb_static_requests_total', help: 'Requests for static files' },
    ['database'],
  );
  const sent = instrument(
    registry,
    { name: 'reducerdb_static_sent_bytes_total', help: 'Bytes of static files that were sent' },
    ['database'],
  );
  const kept = instrument(
    registry,
    { name: 'reducerdb_static_bytes', help: 'Bytes of static files that a database serves' },
    ['database'],
  );
  for (const { database, ...counts } of sites.figures) {
    const of = { database: identityToHex(database) };
    requests(of, counts.requests);
    sent(of, counts.bytes);
  }
  for (const { identity } of databases) {
    const bytes = sites.bytesOf(identity);
    if (bytes > 0) kept({ database: identityToHex(identity) }, bytes);
  }
}

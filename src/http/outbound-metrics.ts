import type { Registry } from 'prom-client';
import type { HostFigures } from '../host/outbound/host-counts.ts';
import { identityToHex } from '../values/identity.ts';
import { instrument } from './instruments.ts';

/**
 * Adds the HTTP requests that modules sent, by database and host. Modules choose the hosts, so few
 * of them have a label of their own; see `host/outbound/host-counts.ts`.
 */
export function addOutbound(registry: Registry, figures: readonly HostFigures[]): void {
  const labels = ['database', 'host'];
  const requests = instrument(
    registry,
    { name: 'reducerdb_outbound_requests_total', help: 'HTTP requests that modules sent' },
    [...labels, 'outcome'],
  );
  const bytes = instrument(
    registry,
    { name: 'reducerdb_outbound_body_bytes_total', help: 'Bodies of these requests and answers' },
    [...labels, 'direction'],
  );
  for (const { database, host, ...counts } of figures) {
    const of = { database: identityToHex(database), host };
    requests({ ...of, outcome: 'answered' }, counts.responses);
    requests({ ...of, outcome: 'failed' }, counts.failures);
    bytes({ ...of, direction: 'sent' }, counts.bytesSent);
    bytes({ ...of, direction: 'received' }, counts.bytesReceived);
  }
}

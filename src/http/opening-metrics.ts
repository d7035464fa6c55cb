import { Gauge, type Registry } from 'prom-client';
import type { HostedStatistics } from '../host/hosted-database.ts';
import { identityToHex } from '../values/identity.ts';

const states = ['closed', 'asleep', 'opening', 'serving', 'broken'] as const;

/** Adds the databases by state, and the progress of those that are opening. */
export function addOpenings(registry: Registry, databases: readonly HostedStatistics[]): void {
  const gauge = (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const byState = gauge('reducerdb_databases', 'Databases by state', ['state']);
  for (const state of states) {
    byState.set({ state }, databases.filter((one) => one.state === state).length);
  }
  const bytes = gauge('reducerdb_opening_log_bytes', 'Log size of a database that is opening', [
    'database',
  ]);
  const read = gauge('reducerdb_opening_read_bytes', 'Bytes of that log read so far', ['database']);
  const waiting = gauge('reducerdb_opening_requests', 'Requests that wait for the database', [
    'database',
  ]);
  for (const { identity, opening } of databases) {
    if (opening === undefined) continue;
    const labels = { database: identityToHex(identity) };
    bytes.set(labels, opening.bytes);
    read.set(labels, opening.readBytes);
    waiting.set(labels, opening.waiting);
  }
}

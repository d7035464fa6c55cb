import type { Registry } from 'prom-client';
import type { DeployOutcome } from '../host/deploys/deploy-counts.ts';
import type { Host } from '../host/host.ts';
import { identityToHex } from '../values/identity.ts';
import { instrument } from './instruments.ts';

const outcomeLabels: Readonly<Record<DeployOutcome, string>> = {
  published: 'published',
  refused: 'refused',
  rolledBack: 'rolled_back',
  canary: 'canary_rolled_back',
};

/** Adds what deploys of databases came to, and what the last update of each has taken. */
export function addDeploys(registry: Registry, { deployCounts, databases }: Host): void {
  const of = (name: string, help: string, ...labels: readonly string[]) =>
    instrument(registry, { name: `reducerdb_${name}`, help }, ['database', ...labels]);
  const deploys = of('deploys_total', 'Deploys since the service started, by outcome', 'outcome');
  const rows = of('migration_rows', 'Rows that the last update of a program has rewritten');
  const seconds = of('migration_seconds', 'How long the last update of a program took');
  const pause = of('migration_pause_seconds', 'How long writers waited for the last update');
  for (const { identity } of databases) {
    const figures = deployCounts.of(identity);
    if (figures === undefined) continue;
    const database = identityToHex(identity);
    for (const [outcome, label] of Object.entries(outcomeLabels)) {
      deploys({ database, outcome: label }, figures.outcomes[outcome as DeployOutcome]);
    }
    if (figures.last === undefined) continue;
    rows({ database }, figures.last.rows);
    seconds({ database }, figures.last.millis / 1_000);
    pause({ database }, figures.last.pauseMillis / 1_000);
  }
}

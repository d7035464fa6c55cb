import type { RequestCaller } from '../auth/caller.ts';
import type { Host } from '../host/host.ts';
import type { HostedStatistics } from '../host/hosted-database.ts';
import type { DatabaseRecord } from '../host/registry/database-record.ts';
import { limits } from '../limits.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import type { CallRates } from './call-rates.ts';
import { callerOf, type HttpContext } from './context.ts';
import { badQuery, type Exchange, json, type Reply } from './exchange.ts';

/**
 * `GET /v1/databases?detail=true`: the databases in which the caller has a role, for an operator
 * all of them, and for a limited token its own; with `after`, those created after that one.
 */
export async function detailedDatabases(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const { host, callRates } = context;
  const caller = callerOf(exchange);
  const statistics = new Map(host.statistics().databases.map((one) => [one.identity, one]));
  const all = laterThan(exchange.query.string('after'), host.databases).filter((record) =>
    isListed(host, caller, record),
  );
  const shown: object[] = [];
  for (const record of all.slice(0, limits.databasesDetailedMax)) {
    const figures = statistics.get(record.identity);
    if (figures === undefined) continue;
    shown.push(await detailed({ host, caller, callRates }, record, figures));
  }
  const body = { databases: shown, more: all.length > limits.databasesDetailedMax };
  return json(200, JSON.stringify(body), { 'cache-control': 'no-store' });
}

function laterThan(after: string | undefined, records: readonly DatabaseRecord[]) {
  if (after === undefined) return records;
  const identity = identityFromHex(after);
  if (identity === undefined) throw badQuery('`after` must be the identity of a database');
  return records.slice(records.findIndex((one) => one.identity === identity) + 1);
}

function isListed(host: Host, caller: RequestCaller, record: DatabaseRecord): boolean {
  const { capability, identity } = caller;
  if (capability !== undefined) return capability.database === record.identity;
  return host.access.standing(identity, record) !== 'stranger';
}

interface Looker {
  readonly host: Host;
  readonly caller: RequestCaller;
  readonly callRates: CallRates;
}

/** What the caller may not see is null, and so is what nobody knows. */
async function detailed(
  { host, caller, callRates }: Looker,
  record: DatabaseRecord,
  figures: HostedStatistics,
): Promise<object> {
  const { identity } = record;
  const isMeasured = figures.state === 'serving';
  const calls = figures.callsCommitted + figures.callsAborted;
  const rate = callRates.of(identity, calls, performance.now());
  const seesFigures = host.access.allows(caller, record, 'viewHealth');
  const deploy = await host.deploys.newest(caller, record);
  const at = deploy?.micros === undefined ? null : new Date(deploy.micros / 1_000).toISOString();
  return {
    identity: identityToHex(identity),
    names: host.namesOf(identity),
    owner: identityToHex(record.owner),
    is_locked: record.isLocked,
    state: stateOf(figures),
    rows: seesFigures && isMeasured ? figures.rowCount : null,
    memory_bytes: seesFigures && isMeasured ? figures.rowBytes + figures.indexBytes : null,
    calls_per_second: seesFigures ? (rate ?? null) : null,
    last_deploy: deploy === undefined ? null : { at, by: deploy.by ?? null, number: deploy.number },
    health: healthOf(figures),
  };
}

function stateOf({ state }: HostedStatistics): string {
  if (state === 'broken') return 'failed';
  return state === 'stopped' ? 'closed' : state;
}

function healthOf(figures: HostedStatistics): 'ok' | 'degraded' | 'failed' {
  if (figures.state === 'broken') return 'failed';
  return figures.health().isFine ? 'ok' : 'degraded';
}

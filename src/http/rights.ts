import type { RequestCaller } from '../auth/caller.ts';
import type { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { actions, type DatabaseAction, type Standing } from '../host/registry/access.ts';
import { identityToHex } from '../values/identity.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';

/** What is done with a database, by the words of the answer, and the action that allows it. */
const byAction = {
  publish: 'update',
  roll_back: 'update',
  reset: 'reset',
  delete: 'delete',
  lock: 'lock',
  rename: 'rename',
  view_logs: 'viewLogs',
  view_health: 'viewHealth',
  view_schedules: 'viewSchedules',
  control_schedules: 'controlSchedules',
  view_history: 'viewHistory',
  change_history: 'changeHistory',
  export: 'exportRows',
  import: 'importRows',
  maintain: 'maintain',
  back_up: 'backUp',
  restore: 'restore',
  view_env: 'viewEnv',
  set_env: 'setEnv',
  view_ledger: 'viewLedger',
  view_metrics: 'viewMetrics',
  view_connections: 'viewConnections',
  disconnect_clients: 'disconnectClients',
  view_watches: 'viewWatches',
  view_source: 'viewSource',
  view_deploys: 'viewDeploys',
  view_quota: 'viewQuota',
  view_grants: 'viewGrants',
  grant: 'grant',
  grant_admin: 'grantAdmin',
  create_token: 'createToken',
  view_tokens: 'viewTokens',
} as const satisfies Record<string, DatabaseAction>;

/** What rows and calls allow, and the weakest standing that has it. */
const ofRows = {
  call: 'stranger',
  read_private: 'reader',
  call_private: 'developer',
  preview: 'developer',
  write_sql: 'admin',
  set_quota: 'operator',
} as const satisfies Record<string, Standing>;

/**
 * `GET /v1/database/:db/rights`: who the caller is, and what it may do. `needs` has the weakest
 * standing that may, for each word of `may`.
 */
export function databaseRights(exchange: Exchange, { host }: HttpContext): Reply {
  const database = host.database(targetOf(exchange));
  const caller = callerOf(exchange);
  const { identity, capability } = caller;
  const may = { ...mayWithRows(host, caller, database), ...mayByAction(host, caller, database) };
  const body = {
    identity: identityToHex(identity),
    role: host.access.standing(capability?.by ?? identity, database),
    limited: capability !== undefined,
    may,
    needs: { ...ofRows, ...neededByAction() },
  };
  return json(200, JSON.stringify(body), { 'cache-control': 'no-store' });
}

function mayWithRows(
  host: Host,
  caller: RequestCaller,
  database: HostedDatabase,
): Record<keyof typeof ofRows, boolean> {
  const { rights } = host.callerFor(caller, database);
  const isDirect = !rights.isReadOnly && rights.writesByPreview !== true;
  const calls = isDirect && rights.reducers?.size !== 0;
  return {
    call: calls,
    read_private: rights.readsPrivateTables && rights.tables?.size !== 0,
    call_private: calls && rights.callsPrivateReducers,
    preview: rights.previews,
    write_sql: isDirect && rights.writes,
    set_quota: host.access.isOperator(caller),
  };
}

function mayByAction(host: Host, caller: RequestCaller, database: HostedDatabase) {
  return Object.fromEntries(
    Object.entries(byAction).map(([word, action]) => [
      word,
      host.access.allows(caller, database, action),
    ]),
  );
}

function neededByAction(): Record<string, Standing> {
  return Object.fromEntries(
    Object.entries(byAction).map(([word, action]) => [word, weakest(actions[action].allowed)]),
  );
}

/** Standings, weakest first. An operator has what an owner has. */
const byPower: readonly Standing[] = [
  'stranger',
  'reader',
  'developer',
  'admin',
  'owner',
  'operator',
];

function weakest(allowed: readonly Standing[]): Standing {
  return byPower.find((one) => allowed.includes(one)) ?? 'operator';
}

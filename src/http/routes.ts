import { parseTarget } from '../host/registry/names.ts';
import { appPathRoutes } from './app-files.ts';
import { auditLog } from './audit.ts';
import {
  backUp,
  backUpHost,
  backupManifest,
  backupObject,
  endBackup,
  listBackups,
  listOwnBackups,
  listReplaced,
  restore,
} from './backups.ts';
import { call } from './call.ts';
import { clusterRoutes } from './cluster.ts';
import { consoleRoutes } from './console.ts';
import { consoleLoginRoutes, type LoginContext } from './console-login.ts';
import { consoleSessionRoutes } from './console-sessions.ts';
import { type HttpContext, targetOf } from './context.ts';
import { type DatabaseEndpoint, databaseRouter } from './database-route.ts';
import {
  addName,
  databaseIdentity,
  describeDatabase,
  listDatabases,
  listNames,
  replaceNames,
} from './databases.ts';
import { listDeploys, rollBack } from './deploys.ts';
import { energyRoute } from './energy.ts';
import { deleteEnv, getEnv, listEnv, putEnv } from './env.ts';
import { type Exchange, empty, json, type Reply, text } from './exchange.ts';
import { exportRows } from './export.ts';
import { listGrants, putGrant, removeGrant } from './grants.ts';
import { databaseHealth, processHealth } from './health.ts';
import {
  forgetHistory,
  historyStatus,
  putHistory,
  rowHistory,
  takeSnapshot,
  verifyHistory,
} from './history.ts';
import { identityRoutes } from './identity.ts';
import { importRows } from './import.ts';
import { insideRoutes } from './inside-routes.ts';
import { cancelJob, showJob } from './jobs.ts';
import { ledger } from './ledger.ts';
import { logs } from './logs.ts';
import { type McpDoor, type McpRules, mcpRoutes } from './mcp.ts';
import { metricsRoutes } from './metrics.ts';
import { moduleRoute } from './module-route.ts';
import { prePublish } from './pre-publish.ts';
import { protectedResourceRoutes } from './protected-resource.ts';
import { cancelPublish, lock, publish, remove, reset, unlock } from './publish.ts';
import { databaseQuota, identityQuota, putDatabaseQuota, putIdentityQuota } from './quota.ts';
import { wishIn } from './reading.ts';
import { readiness, readyPath } from './ready.ts';
import { databaseRights } from './rights.ts';
import type { Method, Route } from './route.ts';
import { controlSchedules, listSchedules, scheduleOrders } from './schedules.ts';
import { schema } from './schema.ts';
import { serviceRoutes } from './service-description.ts';
import { moduleSourceOf } from './source.ts';
import { sql } from './sql.ts';
import { announceStatic, putStatic } from './static-files.ts';
import { templateRoutes } from './templates.ts';
import { createToken, listTokens, revokeToken } from './tokens.ts';

export interface RoutesOptions extends LoginContext {
  /** Returns why the address of a WebSocket is invalid; `undefined` if it is valid. */
  readonly subscribeFault: (query: URLSearchParams) => string | undefined;
  readonly mcp: McpDoor;
  readonly mcpRules: McpRules;
}

/** Every path that the HTTP door answers. */
export function makeRoutes(options: RoutesOptions): Route[] {
  return [
    ...hostRoutes(options),
    ...serviceRoutes(options),
    ...clusterRoutes(options),
    ...templateRoutes(options),
    ...consoleRoutes(options),
    ...consoleSessionRoutes(options),
    ...consoleLoginRoutes(options),
    ...identityRoutes(options).map((route): Route => ({ ...route, isOfApps: true })),
    ...databaseRoutes(options),
    ...appPathRoutes({ ...options, nowMillis: () => Number(options.nowMicros() / 1_000n) }),
    ...mcpRoutes(options.mcp, options.mcpRules),
    ...protectedResourceRoutes(options.mcpRules.login, options.mcpRules.origins),
  ];
}

function hostRoutes(context: HttpContext): Route[] {
  return [
    {
      path: '/v1/ping',
      isOfApps: true,
      methods: { GET: { token: 'optional', run: () => empty(200) } },
    },
    {
      path: '/v1/health',
      methods: { GET: { token: 'none', run: (exchange) => processHealth(exchange, context) } },
    },
    {
      path: readyPath,
      methods: { GET: { token: 'none', run: () => readiness(context.stopping, context.cluster) } },
    },
    {
      path: '/v1/audit',
      methods: {
        GET: { token: 'required', run: (exchange) => auditLog(exchange, context) },
      },
    },
    {
      path: '/v1/databases',
      methods: {
        GET: { token: 'required', run: (exchange) => listDatabases(exchange, context) },
      },
    },
    {
      path: '/v1/jobs/:id',
      methods: {
        GET: { token: 'required', run: (exchange) => showJob(exchange, context) },
        DELETE: { token: 'required', run: (exchange) => cancelJob(exchange, context) },
      },
    },
    {
      path: '/v1/backups',
      methods: {
        GET: { token: 'required', run: (exchange) => listBackups(exchange, context) },
        POST: { token: 'required', run: (exchange) => backUpHost(exchange, context) },
      },
    },
    {
      path: '/v1/quota/:identity',
      methods: {
        GET: { token: 'required', run: (exchange) => identityQuota(exchange, context) },
        PUT: { token: 'required', run: (exchange) => putIdentityQuota(exchange, context) },
      },
    },
    ...metricsRoutes(context),
    energyRoute(),
  ];
}

/** Returns routes that settle the caller; those that take a program use `?token=` themselves. */
function databaseRoutes(context: RoutesOptions): Route[] {
  const { resolve, method, below } = databaseRouter(context);
  const upload = (run: DatabaseEndpoint<RoutesOptions>): Method => ({
    ...method(run),
    ignoresQueryToken: true,
  });
  const ofApps = (route: Route): Route => ({ ...route, isOfApps: true });
  return [
    { path: '/v1/database', methods: { POST: upload(publish) } },
    {
      path: '/v1/database/:db',
      resolve,
      methods: { GET: method(describeDatabase), PUT: upload(publish), DELETE: method(remove) },
    },
    ofApps({ path: '/v1/database/:db/identity', methods: { GET: method(databaseIdentity) } }),
    below('names', {
      GET: method(listNames),
      POST: method(addName),
      PUT: method(replaceNames),
    }),
    below('rights', { GET: method(databaseRights) }),
    below('grants', { GET: method(listGrants) }),
    below('grants/:identity', { PUT: method(putGrant), DELETE: method(removeGrant) }),
    below('quota', { GET: method(databaseQuota), PUT: method(putDatabaseQuota) }),
    below('tokens', { GET: method(listTokens), POST: method(createToken) }),
    below('tokens/:id', { DELETE: method(revokeToken) }),
    ofApps(below('call/:name', { POST: method(call) })),
    ...insideRoutes(context),
    ofApps(below('schema', { GET: { ...method(schema), wish: wishIn } })),
    below('logs', { GET: method(logs) }),
    ofApps(below('health', { GET: method(databaseHealth) })),
    below('ledger', { GET: method(ledger) }),
    below('source', { GET: method(moduleSourceOf) }),
    below('deploys', { GET: method(listDeploys) }),
    below('rollback', { POST: method(rollBack) }),
    below('env', { GET: method(listEnv) }),
    below('env/:name', { GET: method(getEnv), PUT: method(putEnv), DELETE: method(deleteEnv) }),
    below('snapshot', { POST: method(takeSnapshot) }),
    below('verify', { POST: method(verifyHistory) }),
    below('export', { GET: method(exportRows) }),
    below('import', { POST: method(importRows) }),
    below('backup', { GET: method(listOwnBackups), POST: method(backUp) }),
    below('backup/manifest', { GET: method(backupManifest), DELETE: method(endBackup) }),
    below('backup/objects/:name', { GET: method(backupObject) }),
    below('backup/replaced', { GET: method(listReplaced) }),
    { path: '/v1/database/:db/restore', methods: { POST: method(restore) } },
    below('history', { GET: method(rowHistory) }),
    below('history/status', { GET: method(historyStatus) }),
    below('history/settings', { PUT: method(putHistory) }),
    below('history/forget', { POST: method(forgetHistory) }),
    below('schedules', { GET: method(listSchedules) }),
    ...scheduleOrders.map((kind) =>
      below(`schedules/${kind}`, { POST: method(controlSchedules(kind)) }),
    ),
    ofApps(below('sql', { POST: { ...method(sql), wish: wishIn } })),
    below('static', { POST: method(announceStatic) }),
    below('static/:hash', { PUT: method(putStatic) }),
    below('pre_publish', { POST: upload(prePublish) }),
    below('publish', { DELETE: method(cancelPublish) }),
    below('reset', { PUT: upload(reset) }),
    below('lock', { POST: method(lock) }),
    below('unlock', { POST: method(unlock) }),
    ofApps({
      path: '/v1/database/:db/subscribe',
      methods: { GET: method((exchange) => upgradeRequired(exchange, context)) },
    }),
    ofApps(below('unstable/timestamp', { GET: method(timestamp) })),
    ofApps({
      path: '/v1/database/:db/route/*',
      methods: {},
      isOfModules: true,
      everyMethod: { token: 'none', run: (exchange) => moduleRoute(exchange, context) },
    }),
  ];
}

/** Responds to plain HTTP on the WebSocket path, and to upgrades with an invalid address. */
function upgradeRequired(exchange: Exchange, { host, subscribeFault }: RoutesOptions): Reply {
  const target = targetOf(exchange);
  if (parseTarget(target).kind === 'invalid') host.resolve(target);
  const fault = subscribeFault(exchange.query.parameters);
  if (fault !== undefined) return text(400, fault);
  const headers = { connection: 'upgrade', upgrade: 'websocket' };
  return text(426, 'This service requires use of the websocket protocol', headers);
}

function timestamp(exchange: Exchange, { host, nowMicros }: HttpContext): Reply {
  host.database(targetOf(exchange));
  return json(200, `{"__timestamp_micros_since_unix_epoch__":${nowMicros()}}`);
}

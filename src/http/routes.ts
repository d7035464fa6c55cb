import { auditLog } from './audit.ts';
import { call } from './call.ts';
import { type HttpContext, targetOf } from './context.ts';
import {
  addName,
  databaseIdentity,
  describeDatabase,
  listNames,
  replaceNames,
} from './databases.ts';
import { type Exchange, empty, json, type Reply, text } from './exchange.ts';
import { listGrants, putGrant, removeGrant } from './grants.ts';
import { identityRoutes } from './identity.ts';
import { logs } from './logs.ts';
import { type McpDoor, mcpRoutes } from './mcp.ts';
import { metrics } from './metrics.ts';
import type { OriginRules } from './origin.ts';
import { lock, prePublish, publish, remove, reset, unlock } from './publish.ts';
import type { Method, Route } from './route.ts';
import { schema } from './schema.ts';
import { sql } from './sql.ts';
import { createToken, listTokens, revokeToken } from './tokens.ts';

export interface RoutesOptions extends HttpContext {
  readonly mcp: McpDoor;
  readonly originRules: OriginRules;
}

/** Every path that the HTTP door answers. */
export function makeRoutes(options: RoutesOptions): Route[] {
  return [
    ...serviceRoutes(options),
    ...identityRoutes(options),
    ...databaseRoutes(options),
    ...mcpRoutes(options.mcp, options.originRules),
  ];
}

function serviceRoutes(context: HttpContext): Route[] {
  return [
    { path: '/v1/ping', methods: { GET: { token: 'optional', run: () => empty(200) } } },
    { path: '/v1/health', methods: { GET: { token: 'none', run: () => health(context) } } },
    {
      path: '/v1/audit',
      methods: {
        GET: { token: 'required', run: (exchange) => auditLog(exchange, context) },
      },
    },
    { path: '/v1/metrics', methods: { GET: { token: 'none', run: () => metrics(context) } } },
  ];
}

/** All of these settle the caller; those that take a program keep `?token=` for themselves. */
function databaseRoutes(context: HttpContext): Route[] {
  const method = (run: DatabaseEndpoint): Method => ({
    token: 'anonymous',
    run: (exchange) => run(exchange, context),
  });
  const upload = (run: DatabaseEndpoint): Method => ({ ...method(run), ignoresQueryToken: true });
  /** Below a database: that it does not exist is said before that a method is wrong. */
  const below = (path: string, methods: Route['methods']): Route => ({
    path: `/v1/database/:db/${path}`,
    resolve: (exchange) => void context.host.database(targetOf(exchange)),
    methods,
  });
  return [
    { path: '/v1/database', methods: { POST: upload(publish) } },
    {
      path: '/v1/database/:db',
      methods: { GET: method(describeDatabase), PUT: upload(publish), DELETE: method(remove) },
    },
    { path: '/v1/database/:db/identity', methods: { GET: method(databaseIdentity) } },
    below('names', {
      GET: method(listNames),
      POST: method(addName),
      PUT: method(replaceNames),
    }),
    below('grants', { GET: method(listGrants) }),
    below('grants/:identity', { PUT: method(putGrant), DELETE: method(removeGrant) }),
    below('tokens', { GET: method(listTokens), POST: method(createToken) }),
    below('tokens/:id', { DELETE: method(revokeToken) }),
    below('call/:name', { POST: method(call) }),
    below('schema', { GET: method(schema) }),
    below('logs', { GET: method(logs) }),
    below('sql', { POST: method(sql) }),
    below('pre_publish', { POST: upload(prePublish) }),
    below('reset', { PUT: upload(reset) }),
    below('lock', { POST: method(lock) }),
    below('unlock', { POST: method(unlock) }),
    below('subscribe', { GET: method(upgradeRequired) }),
    below('unstable/timestamp', { GET: method(timestamp) }),
  ];
}

/** What connects to this path as a WebSocket never comes here. */
function upgradeRequired(): Reply {
  const headers = { connection: 'upgrade', upgrade: 'websocket' };
  return text(426, 'This service requires use of the websocket protocol', headers);
}

type DatabaseEndpoint = (exchange: Exchange, context: HttpContext) => Reply | Promise<Reply>;

function health({ packageName, version }: HttpContext): Reply {
  const body = { nodes: [0], package_name: packageName, schedulable: true, version };
  return json(200, JSON.stringify(body));
}

function timestamp(exchange: Exchange, { host, nowMicros }: HttpContext): Reply {
  host.database(targetOf(exchange));
  return json(200, `{"__timestamp_micros_since_unix_epoch__":${nowMicros()}}`);
}

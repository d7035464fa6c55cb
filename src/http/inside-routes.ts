import { Previews } from '../doors/previews.ts';
import { bindings } from './bindings.ts';
import { disconnect, listConnections, listWatches } from './connections.ts';
import { type HttpContext, targetOf } from './context.ts';
import { deploySchema } from './deploys.ts';
import type { Exchange, Reply } from './exchange.ts';
import { databaseMetrics, serviceMetrics } from './metrics-hour.ts';
import { applyPreview, dropPreview, preview } from './previews.ts';
import type { Method, Route } from './route.ts';

/** The paths by which people look inside a database: what would happen, and what goes on. */
export function insideRoutes(context: HttpContext): Route[] {
  const previews = { ...context, previews: new Previews() };
  return [
    below(context, 'previews', { POST: (exchange) => preview(exchange, previews) }),
    below(context, 'previews/:id', { DELETE: (exchange) => dropPreview(exchange, previews) }),
    below(context, 'previews/:id/apply', { POST: (exchange) => applyPreview(exchange, previews) }),
    below(context, 'connections', { GET: (exchange) => listConnections(exchange, context) }),
    below(context, 'connections/:id', { DELETE: (exchange) => disconnect(exchange, context) }),
    below(context, 'watches', { GET: (exchange) => listWatches(exchange, context) }),
    below(context, 'deploys/:number/schema', {
      GET: (exchange) => deploySchema(exchange, context),
    }),
    below(context, 'bindings', { GET: (exchange) => bindings(exchange, context) }),
    below(context, 'metrics', { GET: (exchange) => databaseMetrics(exchange, context) }),
    {
      path: '/v1/service/metrics',
      methods: { GET: { token: 'required', run: (exchange) => serviceMetrics(exchange, context) } },
    },
  ];
}

type Endpoints = Readonly<Record<string, (exchange: Exchange) => Reply | Promise<Reply>>>;

/** An unknown database is reported before an unsupported method. */
function below({ host }: HttpContext, path: string, endpoints: Endpoints): Route {
  const methods = Object.entries(endpoints).map(([verb, run]): [string, Method] => {
    return [verb, { token: 'anonymous', run }];
  });
  return {
    path: `/v1/database/:db/${path}`,
    resolve: (exchange) => void host.database(targetOf(exchange)),
    methods: Object.fromEntries(methods),
  };
}

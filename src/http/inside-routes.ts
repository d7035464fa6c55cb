import { Previews } from '../doors/previews.ts';
import { bindings } from './bindings.ts';
import { disconnect, listConnections, listWatches } from './connections.ts';
import type { HttpContext } from './context.ts';
import { databaseRouter } from './database-route.ts';
import { deploySchema } from './deploys.ts';
import { databaseMetrics, serviceMetrics } from './metrics-hour.ts';
import { applyPreview, dropPreview, preview } from './previews.ts';
import type { Route } from './route.ts';

/** The paths by which people look inside a database: what would happen, and what goes on. */
export function insideRoutes(context: HttpContext): Route[] {
  const { method, below } = databaseRouter({ ...context, previews: new Previews() });
  return [
    below('previews', { POST: method(preview) }),
    below('previews/:id', { DELETE: method(dropPreview) }),
    below('previews/:id/apply', { POST: method(applyPreview) }),
    below('connections', { GET: method(listConnections) }),
    below('connections/:id', { DELETE: method(disconnect) }),
    below('watches', { GET: method(listWatches) }),
    below('deploys/:number/schema', { GET: method(deploySchema) }),
    below('bindings', { GET: method(bindings) }),
    below('metrics', { GET: method(databaseMetrics) }),
    {
      path: '/v1/service/metrics',
      methods: { GET: { token: 'required', run: (exchange) => serviceMetrics(exchange, context) } },
    },
  ];
}

import type { AuditAction } from '../host/registry/audit-log.ts';
import { jsonObject } from './body.ts';
import { type ClusterDesk, ClusterRefusal } from './cluster-desk.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';
import type { Method, Route } from './route.ts';

/** What operators see of a cluster, and do with its hosts; any host answers for all. */
export function clusterRoutes(context: HttpContext): Route[] {
  const get = (show: (desk: ClusterDesk) => object | Promise<object>): Route['methods'] => ({
    GET: operators(context, 'view cluster', async (desk) => shown(await show(desk))),
  });
  return [
    { path: '/v1/cluster', methods: get((desk) => desk.status()) },
    { path: '/v1/cluster/hosts', methods: get((desk) => ({ hosts: desk.hosts() })) },
    {
      path: '/v1/cluster/databases',
      methods: get(async (desk) => ({ databases: await desk.databases() })),
    },
    {
      path: '/v1/cluster/databases/:db/move',
      methods: { POST: operators(context, 'move database', moved(context)) },
    },
    {
      path: '/v1/cluster/hosts/:host/drain',
      methods: { POST: operators(context, 'drain host', drained(true)) },
    },
    {
      path: '/v1/cluster/hosts/:host/undrain',
      methods: { POST: operators(context, 'undrain host', drained(false)) },
    },
    {
      path: '/v1/cluster/hosts/:host',
      methods: { DELETE: operators(context, 'forget host', forgotten) },
    },
    {
      path: '/v1/cluster/check',
      methods: {
        POST: operators(context, 'check engine', async (desk) => shown(await desk.check())),
      },
    },
  ];
}

type Run = (desk: ClusterDesk, exchange: Exchange) => Promise<Reply>;

/** An endpoint of operators, at a service that is a host; what changes something is noted. */
function operators(
  { host, cluster }: HttpContext,
  action: AuditAction | 'view cluster',
  run: Run,
): Method {
  return {
    token: 'required',
    run: async (exchange) => {
      const caller = callerOf(exchange);
      host.access.requireOperator(caller, action);
      if (cluster === undefined) throw new HttpError(text(404, aloneText));
      try {
        const reply = await run(cluster, exchange);
        if (exchange.method !== 'GET') {
          const { host: name, db: database } = exchange.params;
          const detail = {
            ...(name !== undefined && { host: name }),
            ...(database && { database }),
          };
          await host.audit.note({ action, caller, outcome: 'done', detail });
        }
        return reply;
      } catch (error) {
        if (!(error instanceof ClusterRefusal)) throw error;
        throw new HttpError(text(error.status, error.message));
      }
    },
  };
}

/** `POST …/databases/:db/move` with `{"host":"b"}`. */
function moved({ host }: HttpContext): Run {
  return async (desk, exchange) => {
    const { identity } = host.database(targetOf(exchange));
    const { host: to } = await jsonObject(exchange);
    if (typeof to !== 'string') throw new HttpError(text(422, 'expected {"host": "‹name›"}'));
    await desk.move(identity, to);
    return empty(200);
  };
}

function drained(isDraining: boolean): Run {
  return async (desk, { params }) => {
    await desk.drain(params.host ?? '', isDraining);
    return empty(200);
  };
}

async function forgotten(desk: ClusterDesk, { params }: Exchange): Promise<Reply> {
  await desk.forget(params.host ?? '');
  return empty(200);
}

function shown(body: object): Reply {
  return json(200, JSON.stringify(body), { 'cache-control': 'no-store' });
}

const aloneText = 'This service is no host of a cluster: it was started without --cluster.';

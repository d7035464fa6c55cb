import type { AuditAction } from '../host/registry/audit-log.ts';
import { limits } from '../limits.ts';
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
      path: '/v1/cluster/databases/:db/verify',
      methods: { POST: { ...operators(context, 'verify shared log', verified), isOfHost: true } },
    },
    {
      path: '/v1/cluster/databases/:db/repair',
      methods: { POST: { ...operators(context, 'repair shared log', repaired), isOfHost: true } },
    },
    {
      path: '/v1/cluster/databases/:db/set',
      methods: { POST: operators(context, 'set copies', copiesSet(context)) },
    },
    {
      path: '/v1/cluster/databases/:db/export',
      methods: { GET: operators(context, 'export from cluster', exported(context)) },
    },
    {
      path: '/v1/cluster/databases/:db/entries',
      methods: { GET: operators(context, 'view cluster', entries(context)) },
    },
    {
      path: '/v1/cluster/databases/:db/snapshot',
      methods: { GET: operators(context, 'view cluster', snapshot(context)) },
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
    { path: '/v1/cluster/keys', methods: get((desk) => desk.keys()) },
    {
      path: '/v1/cluster/keys/rotate',
      methods: { POST: operators(context, 'rotate keys', keysRotated) },
    },
    {
      path: '/v1/cluster/keys/retire',
      methods: { POST: operators(context, 'retire key', keyRetired) },
    },
    {
      path: '/v1/cluster/secret/rotate',
      methods: { POST: operators(context, 'rotate cluster secret', secretRotated) },
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

/** `POST …/databases/:db/verify`: reads the whole log, and answers when it is at its end. */
async function verified(desk: ClusterDesk, exchange: Exchange): Promise<Reply> {
  const database = desk.databaseOf(targetOf(exchange));
  return shown(await desk.verify(database, exchange.abandoned));
}

/** `POST …/databases/:db/set` with `{"copies":3}`; null: as many as of any database. */
function copiesSet({ host }: HttpContext): Run {
  return async (desk, exchange) => {
    const { identity } = host.database(targetOf(exchange));
    const { copies } = await jsonObject(exchange);
    const isCount = typeof copies === 'number' && Number.isSafeInteger(copies);
    const isFitting = isCount && copies >= 1 && copies <= limits.copiesMax;
    if (copies !== null && !isFitting) {
      const wanted = `‹a whole number from 1 to ${limits.copiesMax}, or null›`;
      throw new HttpError(text(422, `expected {"copies": ${wanted}}`));
    }
    await desk.setCopies(identity, isFitting ? copies : undefined);
    return empty(200);
  };
}

/** `POST …/databases/:db/repair` with `{"from":"b"}`. */
async function repaired(desk: ClusterDesk, exchange: Exchange): Promise<Reply> {
  const database = desk.databaseOf(targetOf(exchange));
  const { from } = await jsonObject(exchange);
  if (typeof from !== 'string') throw new HttpError(text(422, 'expected {"from": "‹host›"}'));
  return shown(await desk.repair(database, from));
}

function exported({ host }: HttpContext): Run {
  return async (desk, exchange) => {
    const { identity } = host.database(targetOf(exchange));
    const found = await desk.exported(identity);
    const caller = callerOf(exchange);
    const detail = { database: exchange.params.db ?? '' };
    await host.audit.note({ action: 'export from cluster', caller, outcome: 'done', detail });
    return shown(found);
  };
}

/** `GET …/databases/:db/entries?generation=1&from=0`: see `encodeEntries`. */
function entries({ host }: HttpContext): Run {
  return async (desk, exchange) => {
    const { identity } = host.database(targetOf(exchange));
    const generation = wholeIn(exchange, 'generation');
    const page = await desk.entries(identity, generation, wholeIn(exchange, 'from'));
    const headers = { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' };
    return { status: 200, headers, body: page };
  };
}

/** `GET …/databases/:db/snapshot?generation=1&position=0`: one that covers that log position. */
function snapshot({ host }: HttpContext): Run {
  return async (desk, exchange) => {
    const { identity } = host.database(targetOf(exchange));
    const generation = wholeIn(exchange, 'generation');
    const pieces = await desk.snapshot(identity, generation, wholeIn(exchange, 'position'));
    const headers = { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' };
    return { status: 200, headers, body: ReadableStream.from(pieces) };
  };
}

function wholeIn({ query }: Exchange, name: string): number {
  const found = query.count(name);
  if (found === undefined) throw new HttpError(text(422, `expected ?${name}=‹a whole number›`));
  return found;
}

function drained(isDraining: boolean): Run {
  return async (desk, { params }) => {
    const left = await desk.drain(params.host ?? '', isDraining);
    return isDraining ? shown({ left }) : empty(200);
  };
}

async function forgotten(desk: ClusterDesk, { params }: Exchange): Promise<Reply> {
  await desk.forget(params.host ?? '');
  return empty(200);
}

/** `POST …/keys/rotate` with `{}`, `{"retire":true}` or `{"secrets":true}`. */
async function keysRotated(desk: ClusterDesk, exchange: Exchange): Promise<Reply> {
  const { retire = false, secrets = false } = await jsonObject(exchange);
  if (typeof retire !== 'boolean' || typeof secrets !== 'boolean' || (retire && secrets)) {
    const message = 'expected {}, {"retire": true} or {"secrets": true}';
    throw new HttpError(text(422, message));
  }
  await desk.rotateKeys({ retire, secrets });
  return shown(await desk.keys());
}

/** `POST …/keys/retire` with `{"number":1}`, and `"secrets":true` for a key of secrets. */
async function keyRetired(desk: ClusterDesk, exchange: Exchange): Promise<Reply> {
  const { number, secrets = false } = await jsonObject(exchange);
  if (typeof number !== 'number' || typeof secrets !== 'boolean') {
    throw new HttpError(text(422, 'expected {"number": ‹of an old key›}'));
  }
  await desk.retireKey({ number, secrets });
  return shown(await desk.keys());
}

/** `POST …/secret/rotate`, without a body: the secret itself never comes this way. */
async function secretRotated(desk: ClusterDesk): Promise<Reply> {
  await desk.rotateSecret();
  return shown(await desk.keys());
}

function shown(body: object): Reply {
  return json(200, JSON.stringify(body), { 'cache-control': 'no-store' });
}

const aloneText = 'This service is not a host of a cluster: it was started without --cluster.';

import type { RequestCaller } from '../auth/caller.ts';
import { Refusal } from '../database/outcome.ts';
import { parseDuration } from '../doors/duration.ts';
import type { Host } from '../host/host.ts';
import { clearsNothingText, type PublishOutcome } from '../host/publishing/publish-request.ts';
import type { StaticChoice } from '../host/sites/site.ts';
import type {
  ProgramSource,
  UpdatePermission,
  UpdateWatch,
} from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type ProgramBody, programWithEnv, programWithEnvType } from './env.ts';
import { badQuery, type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';
import { publishEvents, wantsEvents } from './publish-events.ts';
import { templateProgram } from './templates.ts';

/** `POST /v1/database` and `PUT /v1/database/:db`: creates, updates, or clears a database. */
export async function publish(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const target = exchange.params.db;
  const clear = exchange.query.boolean('clear', false);
  if (clear && target === undefined) {
    throw new HttpError(text(400, clearsNothingText));
  }
  checkReplicas(exchange);
  checkRelations(exchange, context, clear);
  checkPage(exchange, context);
  const { permission, confirmMillis } = updatePermission(exchange);
  const choice = staticChoice(exchange);
  const message = exchange.query.string('message');
  const canarySeconds = exchange.query.count('canary');
  const template = templateIn(exchange, context);
  const kind = template === undefined ? programKind(exchange) : 'js';
  const caller = callerOf(exchange);
  const who = { caller, target, clear };
  const { bytes, env } = await refusingNames(target, async () => {
    context.host.requirePublish(who);
    if (template !== undefined) return templateBody(exchange, context, template);
    return programBody(exchange, context);
  });
  const request = {
    ...who,
    program: { kind, bytes },
    ...(env !== undefined && { env }),
    ...permission,
    ...{ confirmMillis, static: choice, message, canarySeconds },
  };
  const isAsked = message !== undefined || canarySeconds !== undefined;
  const run = async (watch: UpdateWatch) => {
    const work = () => context.host.publish({ ...request, watch });
    return success(await refusingNames(target, work), isAsked);
  };
  if (!wantsEvents(exchange)) {
    return json(200, JSON.stringify(await run({ signal: exchange.abandoned })));
  }
  return publishEvents(exchange, {
    plan: () => shownPlan(caller, clear ? undefined : target, request.program, context.host),
    publish: run,
    onError: (error) => context.onError(error, exchange.method, exchange.path),
  });
}

/** The template that a new database is to be made of. */
function templateIn({ query, params }: Exchange, { host }: HttpContext): string | undefined {
  const name = query.string('template');
  if (name === undefined || !exists(host, params.db)) return name;
  const words = `A template makes a new database, and \`${params.db}\` is there already`;
  throw new HttpError(text(409, words));
}

async function templateBody(
  exchange: Exchange,
  context: HttpContext,
  name: string,
): Promise<ProgramBody> {
  const { length } = await exchange.body(context.programBytesMax);
  if (length > 0) throw new HttpError(text(400, 'Send either a program or `template`, not both'));
  return { bytes: await templateProgram(context, name) };
}

/** The plan as the first event has it; of a database that is new or cleared, there is none. */
async function shownPlan(
  caller: RequestCaller,
  target: string | undefined,
  program: ProgramSource,
  host: Host,
): Promise<object> {
  if (!exists(host, target)) return { migrate_plan: '', break_clients: false };
  const plan = await host.plans.plan(caller, host.database(target ?? ''), program);
  if (plan.kind === 'manual') return { reason: plan.reason };
  const { text, breaksClients, warnings } = plan;
  const shown = { migrate_plan: text, break_clients: breaksClients };
  return warnings.length > 0 ? { ...shown, warnings } : shown;
}

/** What a client consents to, and how long it waits. */
export function updatePermission(exchange: Exchange): {
  readonly permission: UpdatePermission;
  readonly confirmMillis: number;
} {
  const { query } = exchange;
  const given = query.oneOf('policy', ['Compatible', 'BreakClients']);
  const policy = given === 'BreakClients' ? 'breakClients' : 'compatible';
  const confirmMillis = confirmationMillis(exchange);
  return { permission: { policy, token: query.string('token') }, confirmMillis };
}

/** `PUT /v1/database/:db/reset`: drops all rows; an empty body keeps the program. */
export async function reset(exchange: Exchange, context: HttpContext): Promise<Reply> {
  checkReplicas(exchange);
  const kind = programKind(exchange);
  context.host.requireReset(callerOf(exchange), targetOf(exchange));
  const program = { kind, bytes: await exchange.body(context.programBytesMax) };
  const replacement = program.bytes.length === 0 ? undefined : program;
  const outcome = await context.host.reset(callerOf(exchange), targetOf(exchange), replacement);
  return json(200, JSON.stringify(success(outcome, false)));
}

/** `DELETE /v1/database/:db`. */
export async function remove(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  await host.remove(callerOf(exchange), targetOf(exchange));
  return empty(200);
}

/** `DELETE /v1/database/:db/publish`: abandons the publish that is under way. */
export function cancelPublish(exchange: Exchange, { host }: HttpContext): Reply {
  const cancelled = host.plans.cancel(callerOf(exchange), host.database(targetOf(exchange)));
  return json(200, JSON.stringify({ cancelled }));
}

/** `POST /v1/database/:db/lock`: the database can be neither deleted nor reset until unlocked. */
export function lock(exchange: Exchange, context: HttpContext): Promise<Reply> {
  return setLock(exchange, context, true);
}

/** `POST /v1/database/:db/unlock`. */
export function unlock(exchange: Exchange, context: HttpContext): Promise<Reply> {
  return setLock(exchange, context, false);
}

async function setLock(
  exchange: Exchange,
  { host }: HttpContext,
  isLocked: boolean,
): Promise<Reply> {
  await host.setLock(callerOf(exchange), targetOf(exchange), isLocked);
  return empty(200);
}

/** `static=none`, or the id of an announced set; absent: the files stay. */
function staticChoice({ query }: Exchange): StaticChoice | undefined {
  const id = query.string('static');
  if (id === undefined) return undefined;
  return id === 'none' ? { kind: 'none' } : { kind: 'set', id };
}

/** The program, with the values that come with it where the type of the body says so. */
async function programBody(exchange: Exchange, context: HttpContext): Promise<ProgramBody> {
  if (exchange.header('content-type') !== programWithEnvType) {
    return { bytes: await exchange.body(context.programBytesMax) };
  }
  return programWithEnv(await exchange.body(context.programBytesMax + limits.publishEnvBytesMax));
}

export function programKind(exchange: Exchange): ProgramSource['kind'] {
  const kind = exchange.query.oneOf('host_type', ['Wasm', 'Js']) ?? 'Wasm';
  return kind === 'Js' ? 'js' : 'wasm';
}

/** Checks the range of the replica count, which has no other effect: replication is not offered. */
function checkReplicas(exchange: Exchange): void {
  const replicas = exchange.query.count('num_replicas');
  if (replicas !== undefined && replicas > 255) {
    throw new HttpError(text(400, `Replication factor ${replicas} out of bounds`));
  }
}

/** Checks that a named parent and organization exist. They have no other effect here. */
function checkRelations({ params, query }: Exchange, { host }: HttpContext, clear: boolean): void {
  const parent = query.string('parent');
  if (parent !== undefined) {
    host.database(parent);
    if (clear && exists(host, params.db)) {
      const words = 'Setting the parent of an existing database is not supported';
      throw new HttpError(text(400, words));
    }
  }
  const organization = query.string('organization') ?? query.string('org');
  if (organization !== undefined) host.resolve(organization);
}

/**
 * Rejects creation by an unknown page where strangers can create databases. The page could
 * otherwise create databases through its visitors, on a service that only they can reach.
 */
function checkPage({ sender, params }: Exchange, context: HttpContext): void {
  if (sender === 'program' || sender === 'known' || !context.strangersCreate) return;
  if (exists(context.host, params.db)) return;
  throw new HttpError(text(403, pageText));
}

const pageText =
  'A page of this origin may not create databases. To allow it, set http.allowed-origins ' +
  '(--allowed-origin).';

function exists(host: Host, target: string | undefined): boolean {
  try {
    return target !== undefined && host.database(target) !== undefined;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function confirmationMillis(exchange: Exchange): number {
  const given = exchange.query.string('update_confirmation_timeout');
  if (given === undefined) return 5_000;
  const millis = parseDuration(given);
  if (millis === undefined) throw badQuery(`invalid duration \`${given}\`, such as \`5s\``);
  return Math.min(millis, 300_000);
}

/** Replaces the body of the error for a name that belongs to someone else. */
async function refusingNames<T>(target: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal) || error.body.code !== 'name.notYours') throw error;
    const body = JSON.stringify({ PermissionDenied: { name: target ?? error.message } });
    throw new HttpError(json(401, body));
  }
}

/** `hasDeploy`: with the deploy that was made, if any. */
function success({ kind, identity, name, deploy }: PublishOutcome, hasDeploy: boolean): object {
  const database = { domain: name ?? null, database_identity: identityToHex(identity) };
  return { Success: { ...database, op: kind, ...(hasDeploy && { deploy: deploy ?? null }) } };
}

import { shownSchemaJson } from '../doors/shown-schema.ts';
import { trialJson } from '../doors/trial-json.ts';
import type { Deploy } from '../host/deployed/deploy.ts';
import type { KnownDeploys } from '../host/deploys/deploy-list.ts';
import { callerOf, type HttpContext, openTarget, targetOf } from './context.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';
import { updatePermission } from './publish.ts';
import { schemaVersion } from './schema.ts';

/** `GET /v1/database/:db/deploys`: what was published, the newest first. */
export async function listDeploys(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const known = await host.deploys.list(callerOf(exchange), host.database(targetOf(exchange)));
  const deploys = known.deploys.toReversed().map((one) => shown(one, known));
  const body = { running: known.running ?? null, deploys };
  return json(200, JSON.stringify(body), { 'cache-control': 'no-cache' });
}

/** `GET /v1/database/:db/deploys/:number/schema`: what the program of a deploy declared. */
export async function deploySchema(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const by = callerOf(exchange);
  host.access.require(by, database, 'viewDeploys');
  const version = schemaVersion(exchange);
  const { number = '' } = exchange.params;
  if (!/^\d{1,9}$/.test(number)) throw new HttpError(text(400, 'A deploy is named by its number'));
  const definition = await host.deploys.definition(by, database, Number(number));
  return json(200, await shownSchemaJson(definition, by, caller.rights, version));
}

/**
 * `POST /v1/database/:db/rollback`: puts the program of an earlier deploy back. With
 * `dry_run=true`, what that would do; with `trial=true`, also to the rows of this moment.
 */
export async function rollBack(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { query } = exchange;
  const number = query.count('deploy');
  const isDry = query.boolean('dry_run', false);
  const isTried = query.boolean('trial', false);
  const permission = updatePermission(exchange);
  const message = query.string('message') ?? '';
  const by = callerOf(exchange);
  const database = host.database(targetOf(exchange));
  if (isDry) {
    const { of, text, breaksClients, token } = await host.deploys.plan(by, database, number);
    const plan = { of: of.number, program: of.program, message: of.message, migrate_plan: text };
    const planned = JSON.stringify({ ...plan, break_clients: breaksClients, token });
    if (!isTried) return json(200, planned);
    const trial = await host.deploys.trial(by, database, of, exchange.abandoned);
    return json(200, `${planned.slice(0, -1)},"trial":${trialJson(trial)}}`);
  }
  const done = await host.deploys.rollBack(by, database, { number, message, ...permission });
  const { deploy, of, static: files } = done;
  const { number: made, program, commit } = deploy;
  const body = { deploy: made, of: of.number, program, offset: commit, static: files };
  return json(200, JSON.stringify(body));
}

/** Times are microseconds since the Unix epoch. */
function shown(one: Deploy, { running, kept }: KnownDeploys) {
  const { number, kind, program, plan, migrations, message, canary } = one;
  const isRunning = number === running;
  return {
    ...{ deploy: number, kind, program, offset: one.commit, generation: one.generation },
    time: one.micros ?? null,
    by: one.by ?? null,
    of: one.of ?? null,
    ...{ message, plan, migrations },
    static: one.staticSet !== undefined,
    kept: isRunning || kept.has(program),
    canary: canary === undefined ? null : shownCanary(canary),
  };
}

function shownCanary({ seconds, state, reason, before }: NonNullable<Deploy['canary']>) {
  const { calls, failed, p99Millis } = before;
  return { seconds, state, reason, before: { calls, failed, p99_millis: p99Millis } };
}

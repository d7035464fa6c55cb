import { databasePath, requestJson } from './http.ts';
import { type Json, listOf, numberOf, objectOf, textOf } from './json.ts';

/** A program that was published, or put back. */
export interface Deploy {
  readonly number: number;
  readonly kind: string;
  /** The hash of the program, as hex digits. */
  readonly program: string;
  /** RFC 3339; `null`: from before times were kept. */
  readonly at: string | null;
  readonly by: string | null;
  readonly message: string | null;
  /** The deploy that was put back. */
  readonly of: number | null;
  /** What it did to the tables, line by line. */
  readonly plan: string;
  readonly migrations: readonly string[];
  /** Whether its program is there, to be put back or compared. */
  readonly isKept: boolean;
  readonly isRunning: boolean;
  readonly canary: { readonly state: string; readonly reason: string | null } | null;
}

/** `GET /v1/database/:db/deploys`, the newest first. */
export async function readDeploys(
  database: string,
  signal?: AbortSignal,
): Promise<readonly Deploy[]> {
  const path = databasePath(database, 'deploys');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  const running = numberOf(body.running);
  return listOf(body.deploys).map((each) => deployOf(each, running));
}

function deployOf(value: Json, running: number | null): Deploy {
  const body = objectOf(value);
  const number = numberOf(body.deploy) ?? 0;
  const micros = numberOf(body.time);
  const canary = body.canary === null || body.canary === undefined ? null : objectOf(body.canary);
  return {
    number,
    kind: textOf(body.kind),
    program: textOf(body.program),
    at: micros === null ? null : new Date(micros / 1_000).toISOString(),
    by: orNull(body.by),
    message: orNull(body.message),
    of: numberOf(body.of),
    plan: textOf(body.plan),
    migrations: listOf(body.migrations).map(textOf),
    isKept: body.kept === true,
    isRunning: number === running,
    canary: canary === null ? null : { state: textOf(canary.state), reason: orNull(canary.reason) },
  };
}

/** What is not said is an empty text, or nothing. */
function orNull(value: Json | undefined): string | null {
  const text = value === undefined || value === null ? '' : textOf(value);
  return text === '' ? null : text;
}

/** What putting an earlier program back would do. */
export interface RollbackPlan {
  /** In the words of the service; empty: nothing that has rows. */
  readonly text: string;
  readonly breaksClients: boolean;
  /** Lets exactly this be done, where clients would be disconnected. */
  readonly token: string | null;
}

/** `POST /v1/database/:db/rollback?dry_run=true`. */
export async function planRollback(
  database: string,
  deploy: number,
  signal?: AbortSignal,
): Promise<RollbackPlan> {
  const path = `${databasePath(database, 'rollback')}?dry_run=true&deploy=${deploy}`;
  const answer = await requestJson(path, {
    method: 'POST',
    ...(signal === undefined ? {} : { signal }),
  });
  const body = objectOf(answer);
  return {
    text: textOf(body.migrate_plan),
    breaksClients: body.break_clients === true,
    token: orNull(body.token),
  };
}

/** `POST /v1/database/:db/rollback`: the number of the deploy that this makes. */
export async function rollBack(
  database: string,
  deploy: number,
  options: { readonly message: string; readonly plan: RollbackPlan },
): Promise<number> {
  const { message, plan } = options;
  const query = new URLSearchParams({ deploy: String(deploy) });
  if (message !== '') query.set('message', message);
  if (plan.breaksClients) query.set('policy', 'BreakClients');
  if (plan.token !== null) query.set('token', plan.token);
  const path = `${databasePath(database, 'rollback')}?${query}`;
  return numberOf(objectOf(await requestJson(path, { method: 'POST' })).deploy) ?? 0;
}

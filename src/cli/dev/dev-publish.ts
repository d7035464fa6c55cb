import {
  boolean,
  either,
  nullable,
  number,
  object,
  optional,
  string,
  word,
} from '../../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from '../api.ts';

/** What became of one publish. */
export type PublishResult =
  | {
      readonly kind: 'published';
      /** True for a database that was not there. */
      readonly isCreated: boolean;
      /** False: the program ran already. */
      readonly isNew: boolean;
      readonly identity: string;
    }
  /** The tables cannot become those of the program, or their rows stand against it. */
  | { readonly kind: 'conflict'; readonly reason: string }
  | { readonly kind: 'failed'; readonly text: string };

export interface PublishOrder {
  readonly api: Api;
  readonly database: string;
  readonly program: Uint8Array;
  /** True: all rows are deleted. */
  readonly clear: boolean;
}

/**
 * Publishes without asking for a plan first: most changes need none. One that only disconnects
 * clients is agreed to.
 */
export async function publishProgram(order: PublishOrder): Promise<PublishResult> {
  const first = await put(order, order.clear ? { clear: 'true' } : {});
  if (first.kind !== 'failed' || first.status < 400 || first.status >= 500) return first;
  const plan = await planOf(order);
  if (plan === undefined) return first;
  if ('ManualMigrate' in plan) return { kind: 'conflict', reason: plan.ManualMigrate.reason };
  const { break_clients: breaksClients, token, migrate_plan: steps } = plan.AutoMigrate;
  if (breaksClients) {
    const second = await put(order, { policy: 'BreakClients', token });
    if (second.kind === 'published') return second;
  }
  return steps.trim() === '' ? first : { kind: 'conflict', reason: first.text };
}

const done = object({
  Success: object({
    op: word('created', 'updated'),
    database_identity: string,
    deploy: optional(nullable(number)),
  }),
});

type PutResult =
  | Extract<PublishResult, { kind: 'published' }>
  | { readonly kind: 'failed'; readonly text: string; readonly status: number };

async function put(
  { api, database, program }: PublishOrder,
  given: Readonly<Record<string, string>>,
): Promise<PutResult> {
  // A message has the answer say which deploy it was, and so whether it was one.
  const query = new URLSearchParams({ host_type: 'Js', message: 'dev', ...given });
  const answer = await api.send('PUT', databasePath(database, `?${query}`), bodyOf(program));
  const text = await answer.text();
  const { status } = answer;
  if (!answer.ok) return { kind: 'failed', text: api.failureText(status, text), status };
  const { op, database_identity: identity, deploy } = readAnswer(text, done).Success;
  return { kind: 'published', isCreated: op === 'created', isNew: deploy !== null, identity };
}

const planShape = either(
  object({ AutoMigrate: object({ migrate_plan: string, break_clients: boolean, token: string }) }),
  object({ ManualMigrate: object({ reason: string }) }),
);

async function planOf({ api, database, program }: PublishOrder) {
  const where = databasePath(database, '/pre_publish?host_type=Js&style=NoColor');
  const answer = await api.send('POST', where, bodyOf(program));
  return answer.ok ? readAnswer(await answer.text(), planShape) : undefined;
}

function bodyOf(program: Uint8Array) {
  const body = new Uint8Array(program.buffer as ArrayBuffer, program.byteOffset, program.length);
  return { headers: { 'content-type': 'text/javascript' }, body };
}

import {
  boolean,
  either,
  list,
  object,
  optional,
  type Shaped,
  string,
} from '../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from './api.ts';
import { hasTableChanges } from './deploys.ts';
import { CliError, confirm, type Io } from './io.ts';
import { trialShape } from './plan-report.ts';
import type { YesKind } from './session.ts';

/** The text where the user has refused a server, or the deletion of rows. */
export const publishAbortedText = 'Publish aborted by user.';

export type DeleteData = 'always' | 'on-conflict' | 'never';

/** How to upload: the query parameters besides the kind of program. */
export interface UpdateChoice {
  readonly query: Readonly<Record<string, string>>;
}

export interface UpdateQuestion {
  readonly api: Api;
  readonly io: Io;
  readonly program: Uint8Array<ArrayBuffer>;
  readonly database: string | undefined;
  readonly deleteData: DeleteData;
  readonly mayBreakClients: boolean;
  readonly answersYes: (kind: YesKind) => boolean;
}

/**
 * Asks the server what the upload would change, shows it, and asks the user to confirm where
 * needed. Throws when the user declines.
 */
export async function prepareUpdate(question: UpdateQuestion): Promise<UpdateChoice> {
  const { database, deleteData } = question;
  if (database === undefined) return { query: {} };
  if (deleteData === 'always') return clearing(question, database);
  question.io.out('Checking for breaking changes...');
  const { hasColours } = question.io;
  const plan = await prePublish({ ...question, hasColours }, database);
  if (plan === undefined) return { query: {} };
  if ('ManualMigrate' in plan) return manual(question, database, plan.ManualMigrate.reason);
  return automatic(question, plan.AutoMigrate);
}

const automaticPlan = object({
  migrate_plan: string,
  break_clients: boolean,
  token: string,
  /** Of a service from before there were any, absent. */
  warnings: optional(list(string)),
  trial: optional(trialShape),
});

const shownPlan = either(
  object({ AutoMigrate: automaticPlan }),
  object({ ManualMigrate: object({ reason: string }) }),
);

export type ShownPlan = Shaped<typeof shownPlan>;

interface PlanQuestion extends Pick<UpdateQuestion, 'api' | 'program'> {
  readonly hasColours: boolean;
  /** Whether it is tried on the rows. */
  readonly isTried?: boolean;
}

/** The server's plan; `undefined` when there is no such database yet. */
export async function prePublish(
  { api, program, hasColours, isTried = false }: PlanQuestion,
  database: string,
): Promise<ShownPlan | undefined> {
  const style = hasColours ? 'AnsiColor' : 'NoColor';
  const query = `host_type=Js&style=${style}${isTried ? '&trial=true' : ''}`;
  const where = databasePath(database, `/pre_publish?${query}`);
  const headers = { 'content-type': 'text/javascript' };
  const answer = await api.send('POST', where, { headers, body: program });
  const text = await answer.text();
  if (answer.status === 404) return undefined;
  if (answer.ok) return readAnswer(text, shownPlan);
  if (answer.status === 403) throw notYours(api, database);
  const reason = api.failureText(answer.status, text);
  throw new CliError(`Pre-publish check failed with status ${answer.status}: ${reason}`);
}

/** The error for a database that exists and belongs to another identity. */
export function notYours({ token }: Api, database: string | undefined): CliError {
  return new CliError(
    token === undefined
      ? `You need to be logged in as the owner of ${database} to publish to ${database}`
      : `The database ${database} is not registered to the identity you provided.\n` +
          'Publish under another name, or log in as its owner.',
  );
}

async function automatic(
  { io, mayBreakClients, answersYes }: UpdateQuestion,
  plan: Shaped<typeof automaticPlan>,
): Promise<UpdateChoice> {
  if (plan.migrate_plan !== '') io.outPainted(shownPlanText(plan.migrate_plan));
  for (const warning of plan.warnings ?? []) io.err(`Warning: ${warning}.`);
  if (plan.break_clients && !mayBreakClients) {
    const question = 'The above changes will BREAK existing clients. Do you want to proceed?';
    const refused = 'Publishing aborted by user';
    if (!(await confirm(io, question, answersYes('break-clients'), refused))) {
      throw new CliError(refused);
    }
  }
  return { query: { policy: 'BreakClients', token: plan.token } };
}

/** A plan as it is shown: what has no entries says so. */
export function shownPlanText(plan: string): string {
  const text = plan.trimEnd();
  if (hasTableChanges(text)) return text;
  return text === '' ? 'No table changes.' : `${text}\n\nNo table changes.`;
}

const columnAdvice = 'Put a new column last in its table, and give it a default.';

async function manual(
  question: UpdateQuestion,
  database: string,
  reason: string,
): Promise<UpdateChoice> {
  const { io } = question;
  io.out(reason);
  if (reason.includes('Reordering table ')) io.out(columnAdvice);
  if (question.deleteData === 'on-conflict') {
    io.out('Proceeding with database clear due to --delete-data=on-conflict.');
    return clearing(question, database);
  }
  io.out('Aborting publish due to required manual migration.');
  throw new CliError(
    'Aborting because publishing would require manual migration or deletion of data and ' +
      '--delete-data was not specified.',
  );
}

async function clearing(
  { io, answersYes }: UpdateQuestion,
  database: string,
): Promise<UpdateChoice> {
  io.out(`This will DESTROY the current ${database} module, and ALL corresponding data.`);
  const question = `Are you sure you want to proceed? [deleting ${database}]`;
  const isSure = await confirm(io, question, answersYes('delete-data'), publishAbortedText);
  if (isSure) return { query: { clear: 'true' } };
  io.out('Aborted.');
  throw new CliError(publishAbortedText);
}

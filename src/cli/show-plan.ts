import { type Api, statusText } from './api.ts';
import { CliError, type Io } from './io.ts';
import { type Trial, trialText } from './plan-report.ts';
import { prePublish, shownPlanText } from './prepare-update.ts';

export interface PlanRequest {
  readonly api: Api;
  readonly io: Io;
  readonly program: Uint8Array<ArrayBuffer>;
  readonly database: string | undefined;
  readonly isJson: boolean;
  /** The flags that say what is published, and where. */
  readonly flags: readonly string[];
}

/** The document of `publish --plan --json`; fields are added, and never change. */
interface PlanDocument {
  readonly database: string;
  /** `create`: there is no such database yet. `refused`: `reason` says why. */
  readonly plan: 'create' | 'update' | 'refused';
  readonly reason: string | null;
  /** The steps, for people. */
  readonly text: string;
  readonly break_clients: boolean;
  /** For `publish --token`. */
  readonly token: string | null;
  readonly warnings: readonly string[];
  readonly trial: Trial | null;
  /** Whether a publish of this very moment would succeed. */
  readonly succeeds: boolean;
}

/**
 * Shows what a publish would do to the rows of this moment, and publishes nothing. Throws where it
 * would fail, after it has shown why.
 */
export async function showPlan({ io, isJson, flags, ...request }: PlanRequest): Promise<void> {
  const { database } = request;
  if (database === undefined) {
    throw new CliError('--plan needs the name of the database that would be published to', 2);
  }
  const hasColours = io.hasColours && !isJson;
  const document = documentOf(
    database,
    await prePublish({ ...request, hasColours, isTried: true }, database),
  );
  if (isJson) io.outAsIs(JSON.stringify(document, null, 2));
  else io.outPainted(planText(document, flags));
  if (!document.succeeds) throw new CliError('This publish would fail. Nothing was changed.');
}

function documentOf(database: string, shown: Awaited<ReturnType<typeof prePublish>>): PlanDocument {
  const no = { warnings: [], trial: null };
  const nothing = { reason: null, text: '', break_clients: false, token: null, ...no };
  if (shown === undefined) return { database, plan: 'create', ...nothing, succeeds: true };
  if ('ManualMigrate' in shown) {
    const reason = statusText(400, shown.ManualMigrate.reason);
    return { database, plan: 'refused', ...nothing, reason, succeeds: false };
  }
  const { migrate_plan: text, break_clients, token, ...more } = shown.AutoMigrate;
  const { warnings = [], trial = null } = more;
  const succeeds = trial === null || trial.failure === null;
  const found = { text, break_clients, token, warnings, trial, succeeds };
  return { database, plan: 'update', reason: null, ...found };
}

function planText(document: PlanDocument, flags: readonly string[]): string {
  const { database, plan, reason, text, token, warnings, trial, succeeds } = document;
  if (plan === 'create') return `There is no database ${database} yet: a publish creates it.`;
  if (reason !== null) return reason;
  const parts = [shownPlanText(text), ...warnings.map((warning) => `Warning: ${warning}.`)];
  if (trial !== null) parts.push(trialText(trial));
  if (succeeds && token !== null) {
    const words = ['reducerdb', 'publish', database, ...flags, '--token', token];
    parts.push(`To publish exactly this: ${words.map(shellWord).join(' ')}`);
  }
  return parts.join('\n\n');
}

function shellWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

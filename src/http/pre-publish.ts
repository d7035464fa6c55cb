import { trialJson } from '../doors/trial-json.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import type { PlanOutcome, ProgramSource } from '../host/supervision/database-handle.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';
import { programKind } from './publish.ts';

/**
 * `POST /v1/database/:db/pre_publish`: what a publish would do. `trial=true`: to the rows of this
 * moment, too; `definition=true`: with the definition that it would begin with.
 */
export async function prePublish(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const styles = ['AnsiColor', 'NoColor'] as const;
  const named = exchange.query.oneOf('pretty_print_style', styles);
  const style = exchange.query.oneOf('style', styles) ?? named ?? 'AnsiColor';
  const kind = programKind(exchange);
  const wantsTrial = exchange.query.boolean('trial', false);
  const wantsDefinition = exchange.query.boolean('definition', false);
  const { host } = context;
  const by = callerOf(exchange);
  host.access.require(by, host.database(targetOf(exchange)), 'update');
  const program = { kind, bytes: await exchange.body(context.programBytesMax) };
  const database = host.database(targetOf(exchange));
  const plan = await host.plans.plan(by, database, program, exchange.abandoned);
  const members = [
    ...planMembers(plan, style === 'AnsiColor'),
    '"major_version_upgrade":false',
    ...(wantsTrial ? await trialMembers(exchange, context, { database, plan, program }) : []),
    ...(wantsDefinition ? await definitionMembers(exchange, context, database) : []),
  ];
  const kindName = plan.kind === 'automatic' ? 'AutoMigrate' : 'ManualMigrate';
  return json(200, `{"${kindName}":{${members.join(',')}}}`);
}

function planMembers(plan: PlanOutcome, hasColours: boolean): string[] {
  if (plan.kind === 'manual') return [`"reason":${JSON.stringify(plan.reason)}`];
  return [
    `"migrate_plan":${JSON.stringify(hasColours ? plan.colouredText : plan.text)}`,
    `"break_clients":${plan.breaksClients}`,
    `"token":${JSON.stringify(plan.token)}`,
    ...(plan.warnings.length > 0 ? [`"warnings":${JSON.stringify(plan.warnings)}`] : []),
  ];
}

interface Planned {
  readonly database: HostedDatabase;
  readonly plan: PlanOutcome;
  readonly program: ProgramSource;
}

/** Nothing where there is no plan, and so nothing to try. */
async function trialMembers(
  exchange: Exchange,
  { host }: HttpContext,
  { database, plan, program }: Planned,
): Promise<string[]> {
  if (plan.kind === 'manual') return [];
  const by = callerOf(exchange);
  const trial = await host.plans.trial(by, database, program, exchange.abandoned);
  return [`"trial":${trialJson(trial)}`];
}

async function definitionMembers(
  exchange: Exchange,
  { host }: HttpContext,
  database: HostedDatabase,
): Promise<string[]> {
  const described = await host.plans.described(callerOf(exchange), database);
  return [`"definition":"${Buffer.from(described).toString('base64')}"`];
}

import { planMembersJson, succeeds, type TriedPlan } from '../../doors/plan-json.ts';
import { limits } from '../../limits.ts';
import { bytesText } from '../../values/bytes-text.ts';
import type { JsonObject } from '../../values/json.ts';
import { utf8Length } from '../../values/utf8.ts';
import { databaseArgument } from '../database-argument.ts';
import { fenced } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { structuredJson } from '../structured.ts';
import {
  objectSchema,
  stringArgument,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

const maybeText = { type: ['string', 'null'] } as const;

/** Shows what a publish would do. Publishing is not among the tools: it is the work of people. */
export const previewPublish: ToolSource = {
  name: 'preview_publish',
  title: 'Preview publish',
  description:
    'Tries a publish of a built program on the rows of this moment, and throws it away: the ' +
    'steps, rows before and after, whether it works, and whether one could go back.',
  properties: {
    program: { type: 'string', description: 'The text of the file that reducerdb build writes.' },
  },
  required: ['program'],
  outputSchema: objectSchema({
    database: { type: 'string' },
    plan: { enum: ['update', 'refused'] },
    reason: maybeText,
    text: { type: 'string' },
    break_clients: { type: 'boolean' },
    token: maybeText,
    warnings: { type: 'array', items: { type: 'string' } },
    trial: { type: ['object', 'null'] },
    succeeds: { type: 'boolean' },
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const database = databaseArgument(args, context);
    const bytes = programOf(args);
    openDatabase(database, context);
    const tried = await tryPublish(database, bytes, context);
    const members = planMembersJson(tried);
    return {
      texts: [opening(tried), fenced(structuredJson(members)), ...howToPublish(tried)],
      structured: structuredJson(members),
    };
  },
};

function programOf(args: JsonObject): Uint8Array {
  const program = stringArgument(args, 'program');
  const most = limits.agentProgramBytesMax;
  if (utf8Length(program) <= most) return new TextEncoder().encode(program);
  const text = `program must have at most ${bytesText(most)}`;
  throw new ToolFailure(text, 'For a larger one, run: reducerdb publish --plan --json');
}

async function tryPublish(
  name: string,
  bytes: Uint8Array,
  { session: { host, caller }, signal }: ToolContext,
): Promise<TriedPlan> {
  const program = { kind: 'js', bytes } as const;
  const database = host.database(name);
  const plan = await host.plans.plan(caller, database, program);
  const isTried = plan.kind === 'automatic';
  const trial = isTried ? await host.plans.trial(caller, database, program, signal) : undefined;
  return { database: name, plan, trial };
}

function opening(tried: TriedPlan): string {
  const { plan, trial } = tried;
  const start = 'Nothing has happened: a publish of this moment would';
  if (plan.kind === 'manual') return `${start} be refused; \`reason\` says why.`;
  if (!succeeds(tried)) return `${start} fail; \`failure\` of \`trial\` says why.`;
  const clients = trial?.report.clients ?? 0;
  const left = clients === 1 ? '1 client' : `${clients} clients`;
  return `${start} succeed, and disconnect ${left}. ${goingBack(trial?.back)}`;
}

function goingBack(back: NonNullable<TriedPlan['trial']>['back']): string {
  if (back === undefined) return 'Going back works.';
  const { reason, losses, report } = back;
  if (reason !== undefined || losses.length > 0) {
    return 'Going back would not work as it is; see `back`.';
  }
  if (report === undefined) return 'Going back works.';
  if (report.changed === undefined) {
    return 'Going back works, but whether all rows come back as they are is not known; see `back`.';
  }
  if (report.changed.length === 0) return 'Going back works.';
  return 'Going back works, but not all rows come back as they are; see `back`.';
}

function howToPublish(tried: TriedPlan): string[] {
  const { plan } = tried;
  if (plan.kind === 'manual' || !succeeds(tried)) return [];
  const command = `reducerdb publish ${tried.database} --token ${plan.token}`;
  return [
    `To publish exactly this, a person runs, in the project of the module and with the server of ` +
      `this database: ${command}`,
  ];
}

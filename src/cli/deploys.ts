import {
  boolean,
  list,
  nullable,
  number,
  object,
  type Shaped,
  string,
  word,
} from '../values/json-shape.ts';
import { type Api, databasePath, readAnswer, Unreachable } from './api.ts';
import { CliError, type Io } from './io.ts';

const canary = object({
  seconds: number,
  state: word('watched', 'passed', 'rolled-back', 'ended', 'stuck'),
  reason: string,
});

const listedDeploy = object({
  deploy: number,
  kind: string,
  program: string,
  offset: number,
  /** Microseconds since the Unix epoch. */
  time: nullable(number),
  by: nullable(string),
  /** The deploy whose program was put back. */
  of: nullable(number),
  message: string,
  plan: string,
  migrations: list(string),
  kept: boolean,
  canary: nullable(canary),
});

export type ListedDeploy = Shaped<typeof listedDeploy>;

/** The answer of `GET …/deploys`; the newest first. */
export const deployList = object({ running: nullable(number), deploys: list(listedDeploy) });

/** What became of a deploy, in a few words. */
export function deployText({ kind, of, canary: watched, message, plan }: ListedDeploy): string {
  const words = kind.replace('-', ' ');
  const what = of === null ? words : `${words} to deploy ${of}`;
  const state = watched === null ? [] : [canaryText(watched)];
  const first = message.split('\n', 1)[0] ?? '';
  const change = hasTableChanges(plan) ? [changeText(plan)] : [];
  return [what, ...state, ...(first === '' ? change : [first])].join(': ');
}

function canaryText({ state, reason, seconds }: Shaped<typeof canary>): string {
  return state === 'watched' ? `canary for ${seconds} s` : `canary ${state}, ${reason}`;
}

/** False for a plan of a program whose code alone is another. */
export function hasTableChanges(plan: string): boolean {
  return plan.includes('▸ ');
}

/** The first change of a plan. */
function changeText(plan: string): string {
  const entries = plan.split('\n').filter((line) => line.startsWith('▸ '));
  const [first = ''] = entries;
  const more = entries.length > 1 ? `, and ${entries.length - 1} more` : '';
  return first.replace(/^(▸ )+/, '').replace(/:$/, '') + more;
}

/** All changes of a plan in one line, each with what belongs to it. */
export function planChanges(plan: string): string {
  const entries: string[][] = [];
  for (const line of plan.split('\n')) {
    if (line.startsWith('▸ ')) entries.push([line.replace(/^(▸ )+/, '').replace(/:$/, '')]);
    else if (line.trim() !== '') entries.at(-1)?.push(line.trim());
  }
  const texts = entries.map(([what = '', ...parts]) => {
    return parts.length === 0 ? what : `${what} (${parts.join(', ')})`;
  });
  return texts.join('; ');
}

/** How often a canary is asked for, and for how long a service that is away is waited for. */
const askMillis = 500;
const awayMillisMax = 60_000;

/**
 * Waits until a deploy is no longer watched, also while the service restarts. Throws unless it was
 * left in place.
 */
export async function awaitCanary(
  api: Api,
  io: Io,
  { database, deploy, seconds }: { database: string; deploy: number; seconds: number },
): Promise<void> {
  io.out(`Watching the calls of deploy ${deploy} for ${seconds} s...`);
  let seenAt = performance.now();
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, askMillis));
    const found = await stateOf(api, database, deploy).catch((error: unknown) => {
      const isAway = error instanceof Unreachable && performance.now() - seenAt < awayMillisMax;
      if (!isAway) throw error;
      return undefined;
    });
    if (found === undefined) continue;
    seenAt = performance.now();
    const { state, reason } = found;
    if (state === 'watched') continue;
    if (state === 'passed') {
      io.out(`Deploy ${deploy} stays: ${reason}.`);
      return;
    }
    throw new CliError(endText(deploy, state, reason));
  }
}

async function stateOf(api: Api, database: string, deploy: number) {
  const answer = await api.send('GET', databasePath(database, '/deploys'));
  const text = await answer.text();
  // A database that opens is asked again.
  if (answer.status === 503) return undefined;
  if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
  const found = readAnswer(text, deployList).deploys.find((one) => one.deploy === deploy);
  if (found?.canary === undefined || found.canary === null) {
    throw new CliError(`deploy ${deploy} is not among the deploys of ${database}`);
  }
  return found.canary;
}

function endText(deploy: number, state: string, reason: string): string {
  if (state === 'rolled-back') return `Deploy ${deploy} was rolled back: ${reason}`;
  if (state === 'stuck') return `Deploy ${deploy} runs, but should not: ${reason}`;
  return `Deploy ${deploy} was no longer watched: ${reason}`;
}

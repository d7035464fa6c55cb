import { refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { CanaryBefore, DeployKind, NextDeploy } from '../deployed/deploy.ts';
import { wayBackFault } from '../deploys/way-back.ts';
import type { StaticChoice } from '../sites/site.ts';
import type { PlannedUpdate } from '../supervision/database-handle.ts';
import type { PublishRequest } from './publish-request.ts';

/** How a program comes to run, as its deploy says it. */
export interface DeployOrder {
  readonly kind: DeployKind;
  /** `undefined`: the service itself. */
  readonly by: CallerIdentity | undefined;
  readonly message: string;
  /** The deploy whose program is put back. */
  readonly of?: number;
  /** For how long its calls are watched. */
  readonly canarySeconds?: number | undefined;
}

/** What comes to run, and where. */
export interface DeployFacts {
  readonly program: string;
  readonly generation: number;
  readonly micros: bigint;
  readonly plan: string;
  readonly migrations: readonly string[];
  /** The set of static files that is served, and what becomes of it. */
  readonly served: string | undefined;
  readonly choice: StaticChoice | undefined;
  /** What calls were like before. */
  readonly before: CanaryBefore;
}

export function nextDeploy(order: DeployOrder, facts: DeployFacts): NextDeploy {
  const { kind, by, message, of, canarySeconds: seconds } = order;
  const { program, generation, micros, plan, migrations, served, choice, before } = facts;
  return {
    ...{ kind, program, generation, message, of, migrations },
    micros: Number(micros),
    by: by === undefined ? undefined : identityToHex(by),
    plan: shortened(plan, limits.deployPlanBytesMax),
    staticSet: choice === undefined ? served : setOf(choice),
    canary: seconds === undefined ? undefined : { seconds, state: 'watched', reason: '', before },
  };
}

function setOf(choice: StaticChoice): string | undefined {
  return choice.kind === 'set' ? choice.id : undefined;
}

function shortened(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const cut = Buffer.from(text)
    .subarray(0, bytesMax - 4)
    .toString('utf8');
  return `${cut.replace(/\ufffd+$/, '')}…`;
}

/** Throws `Refusal` `publish.invalid`. */
export function checkMessage(message: string | undefined): void {
  const most = limits.deployMessageBytesMax;
  if (message === undefined || Buffer.byteLength(message) <= most) return;
  throw refusal('publish.invalid', `The message of a deploy has at most ${most} bytes`);
}

/** Throws `Refusal` `publish.invalid` for a canary of what has nothing to go back to. */
export function checkCanary(
  { canarySeconds: seconds, clear, env = [] }: PublishRequest,
  isNew: boolean,
): void {
  if (seconds === undefined) return;
  const most = limits.canarySecondsMax;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > most) {
    throw noCanary(`it is a number of seconds from 1 to ${most}`);
  }
  if (isNew) throw noCanary('there is no earlier program to go back to');
  if (clear) throw noCanary('the rows that are deleted would not come back');
  if (env.length === 0) return;
  throw noCanary('values that come with a program are not taken back; set them before');
}

/** Throws `Refusal` `publish.invalid` where going back could fail, or lose something. */
export function checkWayBack(
  { canarySeconds }: DeployOrder,
  { before, after, migrations }: PlannedUpdate,
): void {
  if (canarySeconds === undefined) return;
  if (migrations.length > 0) {
    throw noCanary(`it applies migrations (${migrations.join(', ')}): publish them before`);
  }
  const fault = wayBackFault(before, after);
  if (fault !== undefined) {
    throw noCanary(`the change could not be taken back by itself:\n${fault}`);
  }
}

function noCanary(reason: string) {
  return refusal('publish.invalid', `--canary is not possible: ${reason}`);
}

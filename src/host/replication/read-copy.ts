import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { CopyTimes } from './copy-times.ts';

/** From which host's rows a request wants to be answered. */
export interface ReadWish {
  /** `leader`: from those of the host that leads. */
  readonly from: 'leader' | 'any';
  /** The commit that the rows must have. */
  readonly offset: number | undefined;
  readonly maxAgeMillis: number | undefined;
}

/** One read of a copy, and what it has seen. */
export interface CopySeen<Answer> {
  readonly answer: Answer;
  /** The last commit in the rows. */
  readonly offset: number;
}

export type CopyRead<Answer> =
  | (CopySeen<Answer> & { readonly kind: 'read'; readonly ageMillis: number | undefined })
  /** It is the leader's to answer. */
  | { readonly kind: 'leader' }
  /** The copy is older than asked for, and nobody says how far the leader is. */
  | { readonly kind: 'tooOld' };

export interface ReadableCopy {
  readonly database: DatabaseIdentity;
  /** Resolves to `undefined` if it takes no reads within a time. */
  readonly copy: { ready(millisMax: number): Promise<unknown> };
  readonly times: CopyTimes;
}

/** Answers a request from this host's copy, if that has what the request wants. */
export async function readCopy<Answer>(
  { database, copy, times }: ReadableCopy,
  wish: ReadWish,
  read: () => Promise<CopySeen<Answer>>,
): Promise<CopyRead<Answer>> {
  if (wish.from === 'leader') return { kind: 'leader' };
  if (wish.offset !== undefined) {
    const hasIt = await times.untilSettled(database, wish.offset, {
      millisMax: limits.copyWaitMillisMax,
    });
    if (!hasIt) return { kind: 'leader' };
  }
  const { maxAgeMillis = Number.POSITIVE_INFINITY } = wish;
  const patience = Math.max(maxAgeMillis, limits.copyAnswerMillisMax);
  const until = performance.now() + Math.min(patience, limits.waitLeaderMillis);
  let hasAsked = false;
  for (let tries = 0; tries < limits.copyTriesMax; tries++) {
    if ((await copy.ready(limits.copyReadyMillisMax)) === undefined) return { kind: 'leader' };
    const seen = await readOnce(read);
    if (seen === undefined || seen.offset < (wish.offset ?? 0)) continue;
    const age = times.ageMillis(database, seen.offset);
    if (maxAgeMillis === Number.POSITIVE_INFINITY || isWithin(age, maxAgeMillis)) {
      return { kind: 'read', ...seen, ageMillis: age };
    }
    if (hasAsked) break;
    if (!(await isAnswered(database, times, until))) return { kind: 'tooOld' };
    hasAsked = true;
  }
  return { kind: 'leader' };
}

function isWithin(age: number | undefined, maxAgeMillis: number): boolean {
  return age !== undefined && age <= maxAgeMillis;
}

/** `undefined`: the copy has just ceased to take reads. */
async function readOnce<Seen>(read: () => Promise<Seen>): Promise<Seen | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refusal && error.body.code === 'database.notLeader') return undefined;
    throw error;
  }
}

/** False if neither leader nor engine says anything until then. */
async function isAnswered(
  database: DatabaseIdentity,
  times: CopyTimes,
  until: number,
): Promise<boolean> {
  for (;;) {
    const left = until - performance.now();
    const late = sleep(Math.max(left, 0), false, { ref: false });
    if (await Promise.race([times.ask(database), late])) return true;
    if (performance.now() >= until) return false;
    await sleep(limits.copyAskPauseMillis, undefined, { ref: false });
  }
}

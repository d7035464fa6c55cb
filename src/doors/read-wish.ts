import { Refusal } from '../database/outcome.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import type { ReadWish } from '../host/replication/read-copy.ts';
import { choiceFault } from './request-faults.ts';

/** A commit that a client has seen: `<generation>.<offset>`, or the offset alone. */
export interface OffsetToken {
  /** Absent: the one that the database has now. */
  readonly generation: number | undefined;
  readonly offset: number;
}

/** What a request says of the rows that it wants. */
export interface GivenWish {
  readonly from: ReadWish['from'];
  readonly token: OffsetToken | undefined;
  readonly maxAgeMillis: number | undefined;
}

/** A value that is none; the message says what is. */
export class ReadWishError extends Error {
  override readonly name = 'ReadWishError';
}

/**
 * Reads `consistency` and `max_age_ms`, as texts. Who bounds the age is content with the rows of
 * any host that are no older.
 */
export function readWishIn(consistency: string | undefined, maxAge: string | undefined): GivenWish {
  const maxAgeMillis = maxAge === undefined ? undefined : ageIn(maxAge);
  const token = /^offset:(.*)$/s.exec(consistency ?? '')?.[1];
  if (token !== undefined) return { from: 'any', token: tokenIn(token), maxAgeMillis };
  const isKnown = consistency === undefined || consistency === 'leader' || consistency === 'any';
  if (!isKnown) {
    const fault = choiceFault(consistency, ['leader', 'any', 'offset:TOKEN']);
    throw new ReadWishError(`consistency: ${fault}`);
  }
  const from = consistency ?? (maxAgeMillis === undefined ? 'leader' : 'any');
  return { from, token: undefined, maxAgeMillis };
}

/** What the rows of a database must have; the token is one of this generation. */
export function wishOf(
  { from, token, maxAgeMillis }: GivenWish,
  database: Pick<HostedDatabase, 'generation'>,
): ReadWish {
  const { generation = database.generation, offset } = token ?? { offset: undefined };
  if (generation < database.generation) throw wasReset(generation, database.generation);
  // A host that does not know of a reset yet asks the one that leads.
  const isLater = generation > database.generation;
  return { from: isLater ? 'leader' : from, offset, maxAgeMillis };
}

/** Where the database is led, all that was acknowledged is there: nothing is waited for. */
export async function checkWishHere(given: GivenWish, database: HostedDatabase): Promise<void> {
  const { token } = given;
  if (token === undefined) return;
  const { generation, handle } = database;
  wishOf(given, database);
  await handle.describe();
  const { offset } = handle.statistics();
  const isLater = token.generation !== undefined && token.generation > generation;
  if (!isLater && token.offset <= offset) return;
  throw new Refusal({
    code: 'history.future',
    message:
      `offset ${tokenText(token)} does not exist: the last commit is ${generation}.${offset}. ` +
      'It comes from another database, or was never acknowledged.',
  });
}

export function tokenText({ generation, offset }: OffsetToken): string {
  return generation === undefined ? String(offset) : `${generation}.${offset}`;
}

function tokenIn(text: string): OffsetToken {
  const [, generation, offset] = /^(?:(\d{1,15})\.)?(\d{1,15})$/.exec(text) ?? [];
  if (offset === undefined) {
    throw new ReadWishError(
      'consistency: after `offset:` comes what an answer had in `reducerdb-offset`, such as 1.42',
    );
  }
  return {
    generation: generation === undefined ? undefined : Number(generation),
    offset: Number(offset),
  };
}

function ageIn(text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw new ReadWishError('max_age_ms: a whole number of milliseconds, at most 999999999');
  }
  return Number(text);
}

function wasReset(generation: number, now: number): Refusal {
  return new Refusal({
    code: 'database.reset',
    message:
      `The database was reset since: the offset is of generation ${generation}, and this is ` +
      `generation ${now}. Read without it, and forget what was read before.`,
  });
}

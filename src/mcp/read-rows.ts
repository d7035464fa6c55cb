import { placeHeaders, type ReadPlace } from '../doors/read-place.ts';
import {
  checkWishHere,
  type GivenWish,
  ReadWishError,
  readWishIn,
  wishOf,
} from '../doors/read-wish.ts';
import { tooOldHere } from '../host/replication/leader-refusals.ts';
import { type CopySeen, readCopy } from '../host/replication/read-copy.ts';
import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import { JsonNumber, type JsonObject } from '../values/json.ts';
import type { OpenDatabase } from './open-database.ts';
import { optionalStringArgument, type ToolContext, ToolFailure } from './tool.ts';

/** Arguments that say from which rows a tool is to answer. */
export const rowsArguments = ['consistency', 'max_age_ms'] as const;

/** What reads a database, or a copy of it. */
export type ReadHandle = Pick<
  DatabaseHandle,
  'query' | 'disconnect' | 'describe' | 'description' | 'tables' | 'program'
>;

export interface ReadAnswer<Answer> {
  readonly answer: Answer;
  /** For `_meta`; absent: nobody asked, and this host is alone. */
  readonly meta: Readonly<Record<string, string>> | undefined;
}

/** Reads from the rows that the arguments ask for. `offset`: the last commit in what it saw. */
export async function readRows<Answer>(
  args: JsonObject,
  { session }: ToolContext,
  { database, handle }: OpenDatabase,
  read: (handle: ReadHandle) => Promise<{ answer: Answer; offset: number | undefined }>,
): Promise<ReadAnswer<Answer>> {
  const given = wishIn(args);
  const { offer, hostName } = session;
  const { generation } = database;
  const isAsked = rowsArguments.some((name) => args.get(name) !== undefined);
  const meta = (place: ReadPlace) => {
    if (hostName === undefined) return isAsked ? placeHeaders(place) : undefined;
    return { ...placeHeaders(place), 'reducerdb-host': hostName };
  };
  if (offer === undefined || offer.database !== database.identity) {
    await checkWishHere(given, database);
    const { answer, offset } = await read(handle);
    const seen = offset ?? handle.statistics().offset;
    return { answer, meta: meta({ role: 'leader', generation, offset: seen }) };
  }
  const found = await readCopy(
    offer,
    wishOf(given, database),
    async (): Promise<CopySeen<Answer>> => {
      const known = offer.times.settledOffset(database.identity);
      const { answer, offset } = await read(offer.copy);
      return { answer, offset: offset ?? known };
    },
  );
  if (found.kind === 'tooOld') throw tooOldHere();
  if (found.kind === 'leader') {
    offer.passOn();
    throw new ToolFailure('only the host that leads the database can answer; try again');
  }
  const { answer, offset, ageMillis } = found;
  return { answer, meta: meta({ role: 'follower', generation, offset, ageMillis }) };
}

function wishIn(args: JsonObject): GivenWish {
  const age = args.get('max_age_ms') ?? undefined;
  const maxAge = age instanceof JsonNumber ? age.text : age === undefined ? undefined : String(age);
  try {
    return readWishIn(optionalStringArgument(args, 'consistency'), maxAge);
  } catch (error) {
    if (error instanceof ReadWishError) throw new ToolFailure(error.message);
    throw error;
  }
}

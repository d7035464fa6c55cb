import type { HostedDatabase } from '../host/hosted-database.ts';

/** Where an answer comes from. */
export interface ReadPlace {
  readonly role: 'leader' | 'follower';
  readonly generation: number;
  /** The last commit in the rows that it is about. */
  readonly offset: number;
  /** Bound of the age of these rows; absent: not known, or of the leader. */
  readonly ageMillis?: number | undefined;
}

/** The same as headers, or as entries of `_meta`. */
export function placeHeaders({
  role,
  generation,
  offset,
  ageMillis,
}: ReadPlace): Record<string, string> {
  const age = ageMillis === undefined ? {} : { 'reducerdb-age-ms': String(Math.ceil(ageMillis)) };
  return { 'reducerdb-offset': `${generation}.${offset}`, 'reducerdb-role': role, ...age };
}

/** Of an answer of the host that leads; `offset` is that of now unless it is given. */
export function leaderPlace(
  { generation, handle }: HostedDatabase,
  offset?: number,
): Record<string, string> {
  return placeHeaders({
    ...{ role: 'leader', generation },
    offset: offset ?? handle.statistics().offset,
  });
}

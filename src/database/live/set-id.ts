import { AssertionError } from '../../assert.ts';
import type { Brand } from '../../brand.ts';

/** Id of a query set; its client, or its door, chooses it, unique among those of the connection. */
export type SetId = Brand<number, 'SetId'>;

/** Mints the id of a query set; asserts that it is a whole number that a double holds exactly. */
export function querySetId(raw: number): SetId {
  // Not `assert`: its message would be built for every request.
  if (!Number.isSafeInteger(raw) || raw < 0) throw new AssertionError(`not a query set: ${raw}`);
  return raw as SetId;
}

import { type Caller, Refusal } from '../database/outcome.ts';
import { Stay } from '../doors/stay.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { unknownNameText } from '../host/registry/resolve-target.ts';
import { identityFromHex } from '../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { McpSession } from './session.ts';
import { type ToolContext, ToolFailure } from './tool.ts';

/** A database, with the caller's view of it. */
export interface OpenDatabase {
  readonly database: HostedDatabase;
  readonly handle: HostedDatabase['handle'];
  readonly caller: Caller;
  /** Whether the caller still has its current rights. */
  readonly stay: Stay;
}

/**
 * Finds a database by name or identity. Returns `undefined` if it does not exist, if the caller has
 * no access, or if the session is for another one.
 */
export function findDatabase(given: string, session: McpSession): OpenDatabase | undefined {
  const { host, caller } = session;
  try {
    const database = host.database(given);
    const own = session.database === undefined ? database : host.database(session.database);
    if (own.identity !== database.identity) return undefined;
    const seen = host.callerFor(caller, database);
    const stay = new Stay(host, { caller, database, rights: seen.rights });
    return { database, handle: database.handle, caller: seen, stay };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * Whether a change of `database` may affect what `given` names or shows: it is that database, or no
 * database has the name now and this one may just have been deleted.
 */
export function mayConcern(
  given: string,
  session: McpSession,
  database: DatabaseIdentity,
): boolean {
  const found = findDatabase(given, session)?.database;
  return found === undefined || found.identity === database;
}

/** Returns the first name of a database given by its identity, or else what was given. */
export function shownName(given: string, { host }: McpSession): string {
  const identity = identityFromHex(given);
  return (
    (identity === undefined ? undefined : host.namesOf(databaseIdentity(identity))[0]) ?? given
  );
}

/** Opens a database, or fails with the same text whatever the reason. */
export function openDatabase(given: string, { session }: ToolContext): OpenDatabase {
  const found = findDatabase(given, session);
  if (found !== undefined) return found;
  const { host, caller } = session;
  if (caller.capability !== undefined) host.ledger.turnedAway(given, caller, 'token.limited');
  throw new ToolFailure(unknownNameText(given));
}

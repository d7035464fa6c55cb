import { type Caller, Refusal } from '../database/outcome.ts';
import type { HostedDatabase } from '../host/host-types.ts';
import { Stay } from '../host/stay.ts';
import { identityFromHex } from '../values/identity.ts';
import type { McpSession } from './session.ts';
import { type ToolContext, ToolFailure } from './tool.ts';

/** A database, with the caller as it sees it. */
export interface OpenDatabase {
  readonly database: HostedDatabase;
  readonly handle: HostedDatabase['handle'];
  readonly caller: Caller;
  /** Whether the caller keeps the rights that it has now. */
  readonly stay: Stay;
}

/**
 * The database that a name or an identity stands for. `undefined`: there is none, none for this
 * caller, or it is not the one that the session is for.
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
 * Whether a change of `database` may change what `given` stands for or shows: it is that one, or
 * there is none, and it may be the one that has just gone.
 */
export function mayConcern(given: string, session: McpSession, database: bigint): boolean {
  const found = findDatabase(given, session)?.database;
  return found === undefined || found.identity === database;
}

/** As people call a database: its first name, where an identity is given and it has one. */
export function shownName(given: string, { host }: McpSession): string {
  const identity = identityFromHex(given);
  return (identity === undefined ? undefined : host.namesOf(identity)[0]) ?? given;
}

/** Whatever keeps the value from naming a database, the caller reads one and the same text. */
export function openDatabase(given: string, { session }: ToolContext): OpenDatabase {
  const found = findDatabase(given, session);
  if (found === undefined) throw new ToolFailure(`\`${given}\` not found`);
  return found;
}

import { type Caller, Refusal } from '../database/outcome.ts';
import type { DatabaseHandle } from '../host/database-handle.ts';
import { type ToolContext, ToolFailure } from './tool.ts';

/**
 * The database that a tool works on, with the caller as it sees it. Whatever keeps the given value
 * from naming a database, the caller reads one and the same text.
 */
export function openDatabase(
  given: string,
  { session: { host, caller } }: ToolContext,
): { handle: DatabaseHandle; caller: Caller } {
  try {
    const database = host.database(given);
    return { handle: database.handle, caller: host.callerFor(caller, database) };
  } catch (error) {
    if (error instanceof Refusal) throw new ToolFailure(`\`${given}\` not found`);
    throw error;
  }
}

import type { JsonObject } from '../values/json.ts';
import { findDatabase, shownName } from './open-database.ts';
import { stringArgument, type ToolContext, ToolFailure } from './tool.ts';

/**
 * Returns the database for a data tool, from the path or the arguments. Throws `ToolFailure` where
 * the path names one and the arguments another: what was meant for that one is not done to this.
 */
export function databaseArgument(args: JsonObject, { session }: ToolContext): string {
  const { database } = session;
  if (database === undefined) return stringArgument(args, 'database');
  const given = args.get('database');
  if (typeof given !== 'string' || given === database) return database;
  const isServed = findDatabase(database, session) !== undefined;
  if (!isServed || findDatabase(given, session) !== undefined) return database;
  const own = shownName(database, session);
  throw new ToolFailure(`this server is for \`${own}\` only; leave out \`database\``);
}

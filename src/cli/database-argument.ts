import { isValueWord } from './env-values.ts';
import { CliError } from './io.ts';
import type { Target } from './project-config.ts';
import type { ServerAddress } from './server-choice.ts';
import type { Session } from './session.ts';

/**
 * The database a command refers to, named by its arguments or by the project configuration. A name
 * that matches no target is used as given, on the project's or the user's server.
 */
export interface ChosenDatabase {
  readonly database: string;
  readonly server: ServerAddress;
}

/** The database, and the words after it. */
export interface ChosenAndWords {
  readonly chosen: ChosenDatabase;
  readonly rest: readonly string[];
}

/** For commands whose only argument is the database. */
export function onlyDatabase(session: Session, word: string | undefined): ChosenDatabase {
  if (word !== undefined) return choose(session, word);
  const only = onlyTarget(session);
  if (only === undefined) throw missing('<database>');
  return only;
}

/** `call [database] <function> [argument…]`: with one target, the database can be left out. */
export function databaseAndFunction(session: Session, words: readonly string[]): ChosenAndWords {
  return databaseAndWords(session, words, '<function>');
}

/** `subscribe [database] <query>…`: with one target, the database can be left out. */
export function databaseAndQueries(session: Session, words: readonly string[]): ChosenAndWords {
  return databaseAndWords(session, words, '<query>…');
}

function databaseAndWords(
  session: Session,
  words: readonly string[],
  wanted: string,
): ChosenAndWords {
  const targets = namedTargets(session);
  const [first, ...others] = words;
  if (first === undefined) throw missing(targets.length === 1 ? wanted : '<database>');
  const isTarget = targets.some(({ database }) => database === first);
  const only = onlyTarget(session);
  if (!isTarget && targets.length > 1) throw ambiguous(targets, first);
  const found =
    isTarget || only === undefined
      ? { chosen: choose(session, first), rest: others }
      : { chosen: only, rest: words };
  if (found.rest.length === 0) throw missing(wanted);
  return found;
}

/** `env get [database] <name>`: of two words, the first is the database. */
export function databaseAndValue(
  session: Session,
  [first, second]: readonly [string, string | undefined],
): { readonly chosen: ChosenDatabase; readonly value: string } {
  if (second !== undefined) return { chosen: choose(session, first), value: second };
  const targets = namedTargets(session);
  if (targets.length > 1) throw missing('<database>');
  const only = onlyTarget(session);
  if (only === undefined) throw missing(isValueWord(first) ? '<database>' : '<name>');
  return { chosen: only, value: first };
}

/**
 * `schedule run [database] [name]`: of two words, the first is the database. One word is a schedule
 * of the project's only database, if `hasSchedule` says that there is one of this name, else a
 * database.
 */
export async function databaseAndSchedule(
  session: Session,
  [first, second]: readonly (string | undefined)[],
  hasSchedule: (chosen: ChosenDatabase, name: string) => Promise<boolean>,
): Promise<ChosenSchedule> {
  const only = onlyTarget(session);
  const isOther = first !== undefined && second === undefined && first !== only?.database;
  if (only === undefined || !isOther) {
    return { chosen: onlyDatabase(session, first), name: second, without: undefined };
  }
  if (await hasSchedule(only, first)) return { chosen: only, name: first, without: undefined };
  return { chosen: choose(session, first), name: undefined, without: only.database };
}

/** A database and one of its schedules; without a name, all of them. */
export interface ChosenSchedule {
  readonly chosen: ChosenDatabase;
  readonly name: string | undefined;
  /** The project's database, if it has no schedule of the name that was given for the database. */
  readonly without: string | undefined;
}

/** `sql [database] <query>`: of two words, the first is the database. */
export function databaseAndQuery(session: Session, words: readonly string[]): ChosenAndWords {
  if (words.length > 2) {
    throw new CliError('give one query, in quotes: reducerdb sql my-db "SELECT * FROM t"', 2);
  }
  const [first, second] = words;
  if (first === undefined) throw missing('<query>');
  if (second !== undefined) return { chosen: choose(session, first), rest: [second] };
  const only = onlyTarget(session);
  // A single word is not a query.
  if (only === undefined) throw missing(/\s/.test(first) ? '<database>' : '<query>');
  return { chosen: only, rest: [first] };
}

/** `describe [database] [reducer|table <name>]`: a project is described by its own targets only. */
export function databaseAndEntity(session: Session, words: readonly string[]): ChosenAndWords {
  const isNarrowed = words.length >= 2 && /^(reducer|table)$/.test(words.at(-2) ?? '');
  const rest = isNarrowed ? words.slice(-2) : [];
  const [database, unexpected] = words.slice(0, words.length - rest.length);
  if (unexpected !== undefined) throw new CliError(`unexpected argument \`${unexpected}\``, 2);
  const targets = namedTargets(session);
  if (targets.length > 0 && database !== undefined && findTarget(session, database) === undefined) {
    throw new CliError(
      `Database '${database}' is not in the config file. If you want to run against a database ` +
        'outside of the current project, pass --no-config.',
    );
  }
  return { chosen: onlyDatabase(session, database), rest };
}

function namedTargets({ project }: Session): Target[] {
  return (project?.targets ?? []).filter(({ database }) => database !== undefined);
}

function findTarget(session: Session, database: string): Target | undefined {
  return namedTargets(session).find((target) => target.database === database);
}

function onlyTarget(session: Session): ChosenDatabase | undefined {
  const [only, ...more] = namedTargets(session);
  if (only?.database === undefined || more.length > 0) return undefined;
  return choose(session, only.database);
}

/** A database that was named, on the server of its target. */
export function namedDatabase(session: Session, database: string): ChosenDatabase {
  return choose(session, database);
}

function choose(session: Session, database: string): ChosenDatabase {
  return { database, server: session.server(findTarget(session, database)?.server) };
}

function missing(argument: string): CliError {
  return new CliError(`the following required arguments were not provided:\n  ${argument}`, 2);
}

function ambiguous(targets: readonly Target[], first: string): CliError {
  const names = targets.map(({ database }) => database).join(', ');
  return new CliError(
    `Multiple databases found in config: ${names}. Please specify which database to use, ` +
      `or pass --no-config to use '${first}' directly.`,
  );
}

import { CliError } from './io.ts';
import type { Target } from './project-config.ts';
import type { ServerAddress } from './server-choice.ts';
import type { Session } from './session.ts';

/** A database that a command works on, and where it is. */
export interface ChosenDatabase {
  readonly database: string;
  readonly server: ServerAddress;
}

/**
 * Splits a command's words into the database and the rest. With a project that names one database the
 * database may be left out; `restMin` words always belong to the rest.
 */
export function splitDatabase(
  session: Session,
  words: readonly string[],
  restMin: number,
): { chosen: ChosenDatabase; rest: readonly string[] } {
  const targets = namedTargets(session);
  const [first, ...others] = words;
  const named = targets.find(({ database }) => database === first);
  if (first !== undefined && named !== undefined && others.length >= restMin) {
    return { chosen: choose(session, first, named), rest: others };
  }
  const only = targets.length === 1 ? targets[0] : undefined;
  if (only?.database !== undefined && words.length >= restMin) {
    return { chosen: choose(session, only.database, only), rest: words };
  }
  if (targets.length > 1 && restMin > 0 && first !== undefined) {
    throw new CliError(severalText(targets, first));
  }
  if (first === undefined || others.length < restMin) throw missingDatabase();
  return { chosen: choose(session, first, undefined), rest: others };
}

/** The database of a command that takes it as its only word, and may leave it out. */
export function onlyDatabase(session: Session, word: string | undefined): ChosenDatabase {
  const targets = namedTargets(session);
  if (word !== undefined) {
    return choose(
      session,
      word,
      targets.find(({ database }) => database === word),
    );
  }
  const [only, ...more] = targets;
  if (only?.database === undefined || more.length > 0) throw missingDatabase();
  return choose(session, only.database, only);
}

function namedTargets({ project }: Session): Target[] {
  return (project?.targets ?? []).filter(({ database }) => database !== undefined);
}

function choose(session: Session, database: string, target: Target | undefined): ChosenDatabase {
  return { database, server: session.server(target?.server) };
}

function missingDatabase(): CliError {
  return new CliError('the following required arguments were not provided:\n  <database>', 2);
}

function severalText(targets: readonly Target[], first: string): string {
  const names = targets.map(({ database }) => database).join(', ');
  return (
    `Multiple databases found in config: ${names}. Please specify which database to use, ` +
    `or pass --no-config to use '${first}' directly.`
  );
}

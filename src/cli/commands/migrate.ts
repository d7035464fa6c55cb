import path from 'node:path';
import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { defaultModuleFolder } from '../target-choice.ts';

/** Adds `migrate`, for migrations that a module declares. */
export function addMigrate(program: Command, io: Io): void {
  const migrate = program.command('migrate').description('write migrations of a module');
  withYes(withServer(migrate.command('new <name> [dir]')))
    .description('compare the module with its database, and write the steps from one to the other')
    .option('--database <database>', 'the database to compare with')
    .option('--env <name>', 'environment, whose files override the project configuration')
    .addHelpText('after', examples)
    .action(
      async (
        name: string,
        folder: string | undefined,
        flags: { readonly database?: string },
        command: Command,
      ) => {
        const session = new Session(io, command);
        const { project, database } = placesOf(session, folder, flags.database);
        // Loaded on demand: it pulls in the rules for definitions.
        const { writeNewMigration } = await import('../new-migration.ts');
        await writeNewMigration({
          io,
          name,
          project,
          database,
          isYes: session.answersYes('migrate'),
        });
      },
    );
}

const examples = `
Examples:
  reducerdb migrate new split-names app --database my-db
  reducerdb migrate new split-names              as service.json in this folder says
  reducerdb migrate new split-names app --yes    take what is likely for a rename`;

/** The module project, and its database: those of the flags, or of the project configuration. */
function placesOf(session: Session, folder: string | undefined, named: string | undefined) {
  const { io } = session;
  const targets = (session.project?.targets ?? []).filter(({ database }) => database !== undefined);
  const given = folder === undefined ? undefined : path.resolve(io.cwd, folder);
  const fitting = targets.filter((target) => {
    return named === undefined
      ? given === undefined || target.modulePath === given
      : target.database === named;
  });
  const [target, another] = fitting;
  const chosen = another === undefined ? target : undefined;
  const name = named ?? chosen?.database;
  const project = given ?? chosen?.modulePath ?? defaultModuleFolder(io.cwd);
  if (name === undefined) return { project, database: undefined };
  const api = () => session.api(session.server(chosen?.server));
  return { project, database: { name, api, isNamed: named !== undefined } };
}

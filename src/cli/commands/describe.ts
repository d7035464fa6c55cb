import type { Command } from 'commander';
import { type Api, databasePath } from '../api.ts';
import { splitDatabase } from '../database-argument.ts';
import { CliError, type Io, warnUnstable } from '../io.ts';
import { withAnonymous, withServer, withYes } from '../program.ts';
import { Session } from '../session.ts';

export function addDescribe(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('describe [words...]'))))
    .usage('[options] --json [database] [reducer|table <name>]')
    .description('print the schema of a database, or one table or reducer of it')
    .option('--json', 'print JSON (the only format so far)')
    .action(async (words: string[], flags: { json?: boolean }, command: Command) => {
      warnUnstable(io);
      if (flags.json !== true) throw new CliError('--json is required', 2);
      const session = new Session(io, command);
      const { chosen, rest } = splitEntity(session, words);
      const schema = await newestSchema(session.api(chosen.server), chosen.database);
      const shown = rest.length === 0 ? schema : findEntity(schema, rest[0] ?? '', rest[1] ?? '');
      io.out(JSON.stringify(shown, null, 2));
    });
}

function splitEntity(session: Session, words: readonly string[]) {
  const kind = words.at(-2);
  const isNarrowed = kind === 'reducer' || kind === 'table';
  const narrowing = isNarrowed ? words.slice(-2) : [];
  const { chosen, rest } = splitDatabase(
    session,
    words.slice(0, words.length - narrowing.length),
    0,
  );
  if (rest.length > 0) throw new CliError(`unexpected argument \`${rest[0]}\``, 2);
  return { chosen, rest: narrowing };
}

/** The newest form that the server knows. */
async function newestSchema(api: Api, database: string): Promise<unknown> {
  const answer = await api.send('GET', databasePath(database, '/schema?version=10'));
  if (answer.ok) return answer.json();
  return api.json('GET', databasePath(database, '/schema?version=9'));
}

interface Named {
  readonly source_name?: string;
  readonly name?: string;
}

function findEntity(schema: unknown, kind: string, name: string): unknown {
  const wanted = kind === 'table' ? 'Tables' : 'Reducers';
  const { sections } = schema as { sections?: Record<string, Named[]>[] };
  const section = sections?.find((candidate) => wanted in candidate);
  const found = section?.[wanted]?.find((entity) => (entity.source_name ?? entity.name) === name);
  if (found === undefined) throw new CliError(`No such ${kind}: ${name}`);
  return found;
}

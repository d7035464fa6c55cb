import type { Command } from 'commander';
import { parseJson } from '../../values/json.ts';
import { databasePath } from '../api.ts';
import { type ChosenDatabase, databaseAndQuery, onlyDatabase } from '../database-argument.ts';
import { CliError, type Io, warnUnstable } from '../io.ts';
import { withAnonymous, withServer, withYes } from '../program.ts';
import { Session } from '../session.ts';
import { interactiveSql } from '../sql-prompt.ts';
import { drawTable, readResult } from '../sql-table.ts';

interface SqlFlags {
  readonly interactive?: boolean;
  readonly confirmed?: string;
  readonly format: string;
}

export function addSql(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('sql [words...]'))))
    .usage('[options] [database] <query>')
    .description('run one SQL statement and show its rows')
    .option('--interactive', 'read statements line by line')
    .option('--confirmed <bool>', 'wait until what is shown is durable (default: true)')
    .option('--format <format>', 'text or json', 'text')
    .action(async (words: string[], flags: SqlFlags, command: Command) => {
      warnUnstable(io);
      const session = new Session(io, command);
      checkFlags(flags);
      if (flags.interactive === true) {
        if (words.length > 1) throw new CliError(`unexpected argument \`${words[1]}\``, 2);
        const chosen = onlyDatabase(session, words[0]);
        await interactiveSql(io, chosen.database, (text) => run(session, chosen, text, flags));
        return;
      }
      const { chosen, rest } = databaseAndQuery(session, words);
      const text = await run(session, chosen, rest[0] ?? '', flags);
      const shown = flags.format === 'json' ? text : asTables(text);
      if (shown !== '') io.out(shown);
    });
}

function checkFlags({ format, confirmed }: SqlFlags): void {
  if (format !== 'text' && format !== 'json') throw new CliError('--format: text or json', 2);
  if (confirmed !== undefined && confirmed !== 'true' && confirmed !== 'false') {
    throw new CliError('--confirmed: true or false', 2);
  }
}

/** Runs a statement and gives the service's answer as JSON text. */
async function run(
  session: Session,
  { database, server }: ChosenDatabase,
  statement: string,
  flags: SqlFlags,
): Promise<string> {
  const confirmed = flags.confirmed === undefined ? '' : `?confirmed=${flags.confirmed}`;
  const where = databasePath(database, `/sql${confirmed}`);
  return session.api(server).text('POST', where, { body: statement });
}

/** One table for each result that has columns. */
function asTables(answer: string): string {
  const results = parseJson(answer);
  if (!Array.isArray(results)) throw new CliError('the server did not answer with results');
  return results
    .map(readResult)
    .filter(({ header }) => header.length > 0)
    .map(drawTable)
    .join('\n\n');
}

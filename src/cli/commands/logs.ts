import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { isShown, type LogLevelName, logLevels, logText, parseRecord } from '../log-text.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

interface LogFlags {
  readonly numLines?: string;
  readonly follow?: boolean;
  readonly format: string;
  readonly level?: string;
  readonly levelExact?: boolean;
}

export function addLogs(program: Command, io: Io): void {
  withYes(withServer(program.command('logs [database]')))
    .description('print what a module has logged')
    .option('-n, --num-lines <n>', 'only the last lines (default: all, or 10 with --follow)')
    .option('-f, --follow', 'go on with lines as they are written')
    .option('--format <format>', 'text or json', 'text')
    .option('-l, --level <level>', `lowest level to show: ${logLevels.join(', ')}`)
    .option('--level-exact', 'show that level only')
    .action(async (word: string | undefined, flags: LogFlags, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const level = levelOf(flags);
      const api = await session.apiWithIdentity(server);
      const pieces = api.pieces(databasePath(database, `/logs?${queryOf(flags)}`));
      for await (const line of linesOf(pieces)) {
        const record = parseRecord(line);
        if (!isShown(record, level, flags.levelExact === true)) continue;
        io.out(flags.format === 'json' ? line : logText(record, io.hasColours));
      }
    });
}

/** The level to show; rejects invalid flags. */
function levelOf(flags: LogFlags): LogLevelName {
  if (flags.level === undefined && flags.levelExact === true) {
    throw new CliError('--level-exact needs --level', 2);
  }
  const given = flags.level ?? 'trace';
  const level = logLevels.find((candidate) => candidate === given);
  if (level === undefined) throw new CliError(`--level: one of ${logLevels.join(', ')}`, 2);
  if (flags.format !== 'text' && flags.format !== 'json') {
    throw new CliError('--format: text or json', 2);
  }
  if (flags.numLines !== undefined && !/^\d+$/.test(flags.numLines)) {
    throw new CliError('--num-lines: a whole number', 2);
  }
  return level;
}

function queryOf(flags: LogFlags): string {
  const query = new URLSearchParams();
  const lines = flags.numLines ?? (flags.follow === true ? '10' : undefined);
  if (lines !== undefined) query.set('num_lines', lines);
  if (flags.follow === true) query.set('follow', 'true');
  return query.toString();
}

/** The lines of an answer as they arrive. */
async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

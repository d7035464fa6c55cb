import type { Command } from 'commander';
import { databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { logLines } from '../log-lines.ts';
import { isShown, type LogLevelName, logLevels, logText, parseRecord } from '../log-text.ts';
import { Session } from '../session.ts';
import { checkFormat, lineCountFault, withFormat, withServer, withYes } from '../shared-flags.ts';

interface LogFlags {
  readonly numLines?: string;
  readonly follow?: boolean;
  readonly format: string;
  readonly level?: string;
  readonly levelExact?: boolean;
}

export function addLogs(program: Command, io: Io): void {
  withFormat(withYes(withServer(program.command('logs [database]'))))
    .description('print the log of a module')
    .option(
      '-n, --num-lines <n>',
      'print only the last <n> lines (default: all, or 10 with --follow)',
    )
    .option('-f, --follow', 'keep printing lines as they are written')
    .option('-l, --level <level>', `lowest level to print: ${logLevels.join(', ')}`)
    .option('--level-exact', 'print only that level')
    .action(async (word: string | undefined, flags: LogFlags, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const level = levelOf(flags);
      const api = await session.apiWithIdentity(server);
      const pieces = api.pieces(databasePath(database, `/logs?${queryOf(flags)}`));
      for await (const line of logLines(pieces)) {
        const record = parseRecord(line);
        if (!isShown(record, level, flags.levelExact === true)) continue;
        if (flags.format === 'json') io.out(line);
        else io.outAsIs(logText(record, io.hasColours));
      }
    });
}

/** The level to show; rejects invalid flags. */
function levelOf(flags: LogFlags): LogLevelName {
  if (flags.level === undefined && flags.levelExact === true) {
    throw new CliError('--level-exact requires --level', 2);
  }
  const given = flags.level ?? 'trace';
  const level = logLevels.find((candidate) => candidate === given);
  if (level === undefined) throw new CliError(`--level must be one of ${logLevels.join(', ')}`, 2);
  checkFormat(flags.format);
  if (flags.numLines !== undefined && !/^\d+$/.test(flags.numLines)) {
    throw new CliError(lineCountFault, 2);
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

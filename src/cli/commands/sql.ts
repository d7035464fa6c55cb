import type { Command } from 'commander';
import { limits } from '../../limits.ts';
import { sqlBodyType } from '../../protocol/sql-result.ts';
import { parseJson } from '../../values/json.ts';
import { type ApiRequest, databasePath, hintedText, hintLines } from '../api.ts';
import { type ChosenDatabase, databaseAndQuery, onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import {
  checkConfirmed,
  checkFormat,
  withAnonymous,
  withFormat,
  withServer,
  withYes,
} from '../shared-flags.ts';
import { parametersJson } from '../sql-parameters.ts';
import { interactiveSql } from '../sql-prompt.ts';
import { resultText } from '../sql-table.ts';

interface SqlFlags {
  readonly interactive?: boolean;
  readonly confirmed?: string;
  readonly consistency?: string;
  readonly maxAgeMs?: string;
  readonly format: string;
  readonly param?: readonly string[];
}

export function addSql(program: Command, io: Io): void {
  withFormat(withAnonymous(withYes(withServer(program.command('sql [words...]')))))
    .usage('[options] [database] <query>')
    .description('run one SQL statement and print its rows')
    .option('--interactive', 'read statements from standard input, one per line')
    .option('--confirmed <bool>', 'wait until the result is durable (default: true)')
    .option('--consistency <rows>', 'in a cluster: leader, any, or offset:TOKEN (default: leader)')
    .option('--max-age-ms <k>', 'in a cluster: rows of any host that are at most so old')
    .option('--param <[name=]value>', 'value of $1, $2, … or :name (repeatable)', collect)
    .addHelpText('after', examples)
    .action(async (words: string[], flags: SqlFlags, command: Command) => {
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

const examples = `
Examples:
  reducerdb sql my-db "SELECT * FROM task ORDER BY id LIMIT 10"
  reducerdb sql my-db 'SELECT * FROM task WHERE title = $1' --param "drink tea"
  reducerdb sql my-db --interactive`;

function checkFlags({ format, confirmed }: SqlFlags): void {
  checkFormat(format);
  checkConfirmed(confirmed);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Runs a statement and returns the service's answer as JSON text. */
async function run(
  session: Session,
  { database, server }: ChosenDatabase,
  statement: string,
  flags: SqlFlags,
): Promise<string> {
  const { confirmed, consistency, maxAgeMs: max_age_ms } = flags;
  const asked = Object.entries({ confirmed, consistency, max_age_ms }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const query = asked.length === 0 ? '' : `?${asked.join('&')}`;
  const where = databasePath(database, `/sql${query}`);
  const api = await session.api(server);
  const answer = await api.send('POST', where, requestOf(statement, flags.param));
  const whole = await answer.text();
  if (answer.ok) return whole;
  const { text, hint } = hintedText(answer, whole);
  const place = answer.headers.get('reducerdb-error-place');
  throw new CliError(
    [
      api.failureText(answer.status, text),
      ...(place === null ? [] : [placeText(statement, place)]),
      ...hintLines(hint),
    ].join('\n'),
  );
}

function requestOf(statement: string, parameters: readonly string[] = []): ApiRequest {
  const answerBytesMax = limits.rowsAnswerBytesMax;
  if (parameters.length === 0) return { body: statement, answerBytesMax };
  const body = `{"sql":${JSON.stringify(statement)},"params":${parametersJson(parameters)}}`;
  return { body, headers: { 'content-type': sqlBodyType }, answerBytesMax };
}

/** The line of the statement at `place` (`line:column`), with a mark below it. */
function placeText(statement: string, place: string): string {
  const [line = 1, column = 1] = place.split(':').map(Number);
  const text = statement.split('\n')[line - 1] ?? '';
  const before = Math.min(text.length, Math.max(0, Math.trunc(column) - 1));
  return `  ${text}\n  ${' '.repeat(before)}^`;
}

/** One table for each result that has columns, and what was written. */
function asTables(answer: string): string {
  const results = parseJson(answer);
  if (!Array.isArray(results)) throw new CliError('the server did not return results');
  return results.map(resultText).join('\n\n');
}

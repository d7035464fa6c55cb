import { createInterface } from 'node:readline';
import { JsonNumber, type JsonValue, member, parseJson } from '../values/json.ts';
import { JsonError } from '../values/json-error.ts';
import { unfittingText } from './api.ts';
import { CliError, type Io } from './io.ts';
import { drawTable, readResult } from './sql-table.ts';

const help = `Each line is a statement, such as SHOW TABLES, DESCRIBE task or SELECT * FROM task.
  .help   this text; also help, \\h and \\?
  .clear  clear the screen
  .exit   end; also exit, quit, \\q and Ctrl-D`;

const helpWords: ReadonlySet<string> = new Set(['.help', 'help', '\\h', '\\?']);
const exitWords: ReadonlySet<string> = new Set(['.exit', '.quit', 'exit', 'quit', '\\q']);

/**
 * Reads statements line by line until `.exit` or the end of input; `askLine` asks for a line where
 * standard input is read by others, too.
 */
export async function interactiveSql(
  io: Io,
  database: string,
  run: (statement: string) => Promise<string>,
  askLine?: (prompt: string) => Promise<string | undefined>,
): Promise<void> {
  const prompt = `${database}> `;
  if (io.isInteractive)
    io.err('Each line is a statement. .help lists what else there is; .exit ends.');
  for await (const line of askLine === undefined
    ? promptedLines(prompt)
    : askedLines(prompt, askLine)) {
    const statement = line.trim();
    // Statements may end with a semicolon, so people write one here, too.
    const word = statement.replace(/\s*;$/, '').toLowerCase();
    if (exitWords.has(word)) break;
    if (helpWords.has(word)) io.out(help);
    else if (statement === '.clear') process.stdout.write('\u001b[2J\u001b[H');
    else if (statement !== '') await show(io, statement, run);
  }
}

async function* promptedLines(prompt: string): AsyncGenerator<string> {
  const { stdin: input, stdout: output } = process;
  const lines = createInterface({ input, output, prompt, historySize: 1_000 });
  // Input that is not a terminal may end while its first lines are still being processed.
  let isOpen = true;
  lines.once('close', () => {
    isOpen = false;
  });
  const ask = () => {
    if (isOpen) lines.prompt();
    else output.write(prompt);
  };
  try {
    ask();
    for await (const line of lines) {
      yield line;
      ask();
    }
  } finally {
    lines.close();
  }
}

async function* askedLines(
  prompt: string,
  ask: (prompt: string) => Promise<string | undefined>,
): AsyncGenerator<string> {
  for (;;) {
    const line = await ask(prompt);
    if (line === undefined) return;
    yield line;
  }
}

async function show(
  io: Io,
  statement: string,
  run: (statement: string) => Promise<string>,
): Promise<void> {
  const started = performance.now();
  try {
    const answer = parseJson(await run(statement));
    const roundtrip = performance.now() - started;
    for (const result of Array.isArray(answer) ? answer : []) {
      const table = readResult(result);
      if (table.header.length > 0) io.out(drawTable(table));
      io.out(summary(result, table.rows.length));
    }
    io.out(`Roundtrip time: ${roundtrip.toFixed(2)} ms`);
  } catch (error) {
    if (error instanceof JsonError) io.err(`Error: ${unfittingText(error)}`);
    else if (error instanceof CliError) io.err(`Error: ${error.message}`);
    else throw error;
  }
}

/** `(2 rows) [inserted: 1, server: 0.12 ms]`; counters that are zero are left out. */
function summary(result: JsonValue, rows: number): string {
  const stats = member(result, 'stats');
  const counts = ['inserted', 'deleted', 'updated']
    .map((word) => [word, count(member(stats, `rows_${word}`))] as const)
    .filter(([, value]) => value > 0)
    .map(([word, value]) => `${word}: ${value}`);
  const millis = count(member(result, 'total_duration_micros')) / 1000;
  const parts = [...counts, `server: ${millis.toFixed(2)} ms`];
  return `(${rows} ${rows === 1 ? 'row' : 'rows'}) [${parts.join(', ')}]`;
}

function count(value: JsonValue | undefined): number {
  return value instanceof JsonNumber ? Number(value.text) : 0;
}

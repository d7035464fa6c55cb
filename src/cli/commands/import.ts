import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { importModes } from '../../protocol/import-modes.ts';
import { type RowFormat, rowFormats } from '../../transfer/row-table.ts';
import { onlyDatabase } from '../database-argument.ts';
import { requireEmpty } from '../import-empty.ts';
import type { RowFile } from '../import-parts.ts';
import { type ImportCounts, importTable, type RowFault } from '../import-rows.ts';
import { importedTables } from '../import-target.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { WorkProgress } from '../work-progress.ts';

interface ImportFlags {
  readonly mode: string;
  readonly format?: string;
  readonly onError: string;
  readonly atomic?: boolean;
  readonly ignoreUnknown?: boolean;
  readonly importId?: string;
  readonly report?: string;
  readonly json?: boolean;
}

const examples = `
Examples:
  reducerdb import my-db person people.csv          rows of a file into a table that is empty
  reducerdb import my-db person new.ndjson.gz --mode upsert
  reducerdb import my-db backup/                    a folder that \`export\` has written`;

/** Adds `import`, which reads rows from files. */
export function addImport(program: Command, io: Io): void {
  withYes(withServer(program.command('import <database> [words...]')))
    .usage('[options] <database> [table] <files…>')
    .option(
      '--mode <mode>',
      `${importModes.join(', ')}: what happens to rows that are there`,
      'empty',
    )
    .option(
      '--format <format>',
      `of the files: ${rowFormats.join(' or ')} (default: by their names)`,
    )
    .option('--atomic', 'all rows of a table in one commit')
    .option('--on-error <what>', 'stop at a row that cannot be taken, or skip it', 'stop')
    .option('--ignore-unknown', 'leave out columns that the table does not have')
    .option('--import-id <id>', 'go on with an import that was cut off')
    .option('--report <file>', 'write rows that were not taken to a file, as NDJSON')
    .option('--json', 'print progress and the result as JSON lines')
    .description('read rows from NDJSON or CSV files into tables')
    .addHelpText('after', examples)
    .action(async (database: string, words: string[], flags: ImportFlags, command: Command) => {
      checkFlags(flags);
      const format = rowFormats.find((one) => one === flags.format);
      await runImport({ session: new Session(io, command), io, flags }, database, words, format);
    });
}

function checkFlags({ mode, format, onError, importId }: ImportFlags): void {
  const isOneOf = (word: string, words: readonly string[]): boolean => words.includes(word);
  if (!isOneOf(mode, importModes)) {
    throw new CliError(`--mode must be one of ${importModes.join(', ')}`, 2);
  }
  if (format !== undefined && !isOneOf(format, rowFormats)) {
    throw new CliError(`--format must be ${rowFormats.join(' or ')}`, 2);
  }
  if (!isOneOf(onError, ['stop', 'skip'])) throw new CliError('--on-error must be stop or skip', 2);
  if (importId !== undefined && !/^[\w-]{1,128}$/.test(importId)) {
    throw new CliError('--import-id must be 1 to 128 letters, digits, `-` and `_`', 2);
  }
}

interface Given {
  readonly session: Session;
  readonly io: Io;
  readonly flags: ImportFlags;
}

async function runImport(
  { session, io, flags }: Given,
  word: string,
  words: readonly string[],
  format: RowFormat | undefined,
): Promise<void> {
  const { database, server } = onlyDatabase(session, word);
  const tables = await importedTables(words, format, io.cwd);
  const isAtomic = flags.atomic === true || flags.mode === 'replace';
  const many = tables.find(({ files }) => files.length > 1);
  if (isAtomic && many !== undefined) {
    throw new CliError(`one commit is one file: \`${many.table}\` has ${many.files.length}`, 2);
  }
  const api = await session.apiWithIdentity(server);
  // An import that goes on has rows of its own in them.
  if (flags.mode === 'empty' && flags.importId === undefined && tables.length > 1) {
    await requireEmpty(api, database, tables);
  }
  const importId = flags.importId ?? randomBytes(8).toString('hex');
  const rules = {
    mode: flags.mode,
    importId,
    isAtomic,
    skips: flags.onError === 'skip',
    ignoresUnknown: flags.ignoreUnknown === true,
  };
  const counts: ImportCounts = { imported: 0, skipped: 0, there: 0 };
  const files = tables.flatMap((table) => table.files);
  const report = new Report(io, flags, files.length);
  const progress = new WorkProgress(io, flags.json === true);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  try {
    for (const table of tables) {
      const onProgress = (readBytes: number): void => {
        progress.show({ phase: 'importing', done: before + readBytes, total, unit: 'bytes' });
      };
      const onFault = report.add;
      const { imported, skipped } = counts;
      await importTable({ api, database, rules, counts, onFault, onProgress }, table);
      if (tables.length > 1 && flags.json !== true) {
        const own = `imported ${counts.imported - imported}, skipped ${counts.skipped - skipped}`;
        io.err(`${table.table}: ${own}`);
      }
      before += table.files.reduce((sum, { bytes }) => sum + bytes, 0);
    }
  } catch (error) {
    progress.end();
    if (error instanceof CliError) throw cutOff(error, counts, importId);
    throw error;
  } finally {
    progress.end();
    report.close();
  }
  io.out(resultText(counts, importId, flags));
  if (counts.skipped > 0) throw new CliError(skippedText(counts.skipped, flags));
}

function skippedText(count: number, { report }: ImportFlags): string {
  const what = count === 1 ? '1 row was skipped' : `${count} rows were skipped`;
  return report === undefined ? what : `${what}; ${report} says which, and why`;
}

/** Says what is there, and how the import goes on. */
function cutOff(error: CliError, { imported, skipped }: ImportCounts, importId: string): CliError {
  const summary = `imported ${imported}, skipped ${skipped}`;
  const advice = `To go on with it: the same command with --import-id ${importId}`;
  return new CliError(`${error.message}\n${summary}. ${advice}`, error.exitCode, { cause: error });
}

function resultText(
  { imported, skipped, there }: ImportCounts,
  importId: string,
  { json }: ImportFlags,
): string {
  if (json === true) {
    return JSON.stringify({ imported, skipped, batches_there: there, import_id: importId });
  }
  const were = there === 1 ? 'batch was' : 'batches were';
  const again = there === 0 ? '' : ` (${there} ${were} there already)`;
  return `imported ${imported}, skipped ${skipped}${again}`;
}

/** Rows that were not taken: a file of them, or the first ones for people. */
class Report {
  readonly #io: Io;
  readonly #fileCount: number;
  readonly #descriptor: number | undefined;
  #count = 0;

  constructor(io: Io, { report }: ImportFlags, fileCount: number) {
    this.#io = io;
    this.#fileCount = fileCount;
    this.#descriptor =
      report === undefined ? undefined : openSync(path.resolve(io.cwd, report), 'w');
  }

  /** With several files, each row says in which it is. */
  readonly add = (file: RowFile, fault: RowFault, isEnd: boolean): void => {
    const { line, column, message, row } = fault;
    this.#count += 1;
    if (this.#descriptor !== undefined) {
      const where = this.#fileCount > 1 ? { file: file.path } : {};
      const entry = JSON.stringify({ ...where, line, column, message, row });
      writeSync(this.#descriptor, `${entry}\n`);
      return;
    }
    // The error of the command says why it ended.
    if (isEnd || this.#count > shownMax) return;
    const place = column === null ? '' : `, column \`${column}\``;
    this.#io.err(`${file.path}, line ${line}${place}: ${message}`);
    if (this.#count === shownMax) {
      this.#io.err('No more rows are shown here; --report writes all of them to a file.');
    }
  };

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}

const shownMax = 20;

import type { Command } from 'commander';
import { list, number, object, optional, type Shaped, string } from '../../values/json-shape.ts';
import { databasePath, readAnswer } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { safeText } from '../safe-text.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

interface SourceFlags {
  readonly file?: string;
  readonly lines?: string;
  readonly json?: boolean;
}

const indexShape = object({
  kind: string,
  files: list(object({ file: string, lines: number })),
  functions: list(object({ name: string, kind: string, file: string, lines: string })),
  left_out: optional(list(string)),
});

type Index = Shaped<typeof indexShape>;

const partShape = object({ text: string });

/** Adds `source`, for the module as it was published. */
export function addSource(program: Command, io: Io): void {
  withYes(withServer(program.command('source [database] [function]')))
    .description('print the source of a module as it was published: a function, a file, or a list')
    .option('--file <file>', 'print this file')
    .option('--lines <range>', 'only these lines of it: `12`, `12-40` or `12-`')
    .option('--json', 'print JSON')
    .action(
      async (
        word: string | undefined,
        called: string | undefined,
        flags: SourceFlags,
        command: Command,
      ) => {
        const { file, lines } = flags;
        if (called !== undefined && (file ?? lines) !== undefined) {
          throw new CliError('a function excludes --file and --lines', 2);
        }
        const session = new Session(io, command);
        const { database, server } = onlyDatabase(session, word);
        const api = await session.apiWithIdentity(server);
        const query = queryOf({ function: called, file, lines });
        const text = await api.text('GET', databasePath(database, `/source${query}`));
        if (flags.json === true) io.out(text);
        else if (query === '') io.out(indexText(readAnswer(text, indexShape)));
        else io.out(safeText(readAnswer(text, partShape).text.replace(/\n$/, '')));
      },
    );
}

function queryOf(given: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) query.set(name, value);
  }
  return query.size === 0 ? '' : `?${query}`;
}

function indexText({ kind, files, functions, left_out: leftOut }: Index): string {
  const isBundle = kind === 'bundle';
  const table = (header: string[], rows: string[][]) =>
    rows.length === 0 ? [] : [drawTable({ header, rows })];
  const all = [
    ...(isBundle ? ['It was published without its sources: this is its program.'] : []),
    ...table(
      ['FILE', 'LINES'],
      files.map(({ file, lines }) => [safeText(file), String(lines)]),
    ),
    ...table(
      ['FUNCTION', 'KIND', 'PLACE'],
      functions.map((one) => [one.name, one.kind, safeText(`${one.file}:${one.lines}`)]),
    ),
    ...(leftOut === undefined ? [] : [`Not shown: ${safeText(leftOut.join(', '))}`]),
  ];
  return all.join('\n');
}

import path from 'node:path';
import { type Command, Option } from 'commander';
import { rowFormats } from '../../transfer/row-table.ts';
import { type Api, databasePath } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { exportPieces } from '../export-blocks.ts';
import { ExportFolder, type Manifest } from '../export-folder.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withRequired, withServer, withYes } from '../shared-flags.ts';
import { WorkProgress } from '../work-progress.ts';

interface ExportFlags {
  readonly to: string;
  readonly tables?: string;
  readonly format: string;
  readonly at?: string;
  readonly json?: boolean;
}

/** Adds `export`, which writes the rows of a database into a folder. */
export function addExport(program: Command, io: Io): void {
  withRequired(withYes(withServer(program.command('export <database>'))), {
    flags: '--to <folder>',
    help: 'folder to write, which must not exist yet',
  })
    .option('--tables <names>', 'tables to export, separated by commas (default: all)')
    .option('--format <format>', `of the rows: ${rowFormats.join(' or ')}`, 'ndjson')
    .addOption(new Option('--at <position>').hideHelp())
    .option('--json', 'print progress and the result as JSON lines')
    .description('write the rows of a database, as of one commit, into a folder')
    .action(async (word: string, flags: ExportFlags, command: Command) => {
      const format = rowFormats.find((one) => one === flags.format);
      if (format === undefined) {
        throw new CliError(`--format must be ${rowFormats.join(' or ')}`, 2);
      }
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const folder = new ExportFolder(path.resolve(io.cwd, flags.to), format);
      let manifest: Manifest;
      try {
        manifest = await writeExport({ api, io, database, flags, folder });
      } catch (error) {
        folder.discard();
        throw error;
      }
      io.out(flags.json === true ? JSON.stringify(manifest) : resultText(manifest, flags.to));
    });
}

interface ExportWork {
  readonly api: Api;
  readonly io: Io;
  readonly database: string;
  readonly flags: ExportFlags;
  readonly folder: ExportFolder;
}

async function writeExport({ api, io, database, flags, folder }: ExportWork): Promise<Manifest> {
  const schemaPath = databasePath(database, '/schema?version=10');
  const query = new URLSearchParams({ format: flags.format });
  if (flags.tables !== undefined) query.set('tables', flags.tables);
  if (flags.at !== undefined) query.set('at', flags.at);
  const answer = await api.open('GET', databasePath(database, `/export?${query}`));
  if (answer.statusCode !== 200) throw await api.failure(answer);
  const schema = await api.text('GET', schemaPath);
  const progress = new WorkProgress(io, flags.json === true);
  const pieces = exportPieces(answer);
  let done = 0;
  try {
    for (;;) {
      const { done: isOver, value } = await pieces.next();
      if (isOver === true) {
        progress.end();
        const { position, program } = value;
        // An update ends an export that is under way, but it can come just after it.
        if ((await api.text('GET', schemaPath)) !== schema) {
          throw new CliError('The program was updated while it was exported; export it again');
        }
        return await folder.finish({ database, position, program }, schema);
      }
      const { table, rows, bytes } = value;
      done += rows;
      progress.show({ phase: 'exporting', done, total: 0, unit: 'rows' });
      await folder.add(table, rows, bytes);
    }
  } finally {
    progress.end();
    answer.destroy();
  }
}

function resultText({ tables, position, database }: Manifest, folder: string): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const what = `${rows} rows of ${tables.length} tables`;
  return `Exported ${what} of ${database}, at ${position}, to ${folder}`;
}

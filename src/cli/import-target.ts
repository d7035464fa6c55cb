import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { RowFormat } from '../transfer/row-table.ts';
import { readExport } from './export-folder.ts';
import { isRowFile, type RowFile, rowFile } from './import-parts.ts';
import { CliError } from './io.ts';

/** The files of one table. */
export interface ImportedTable {
  readonly table: string;
  readonly files: readonly RowFile[];
}

/**
 * `[TABLE] FILES…`: a single folder is an export; a first word that is not a file of rows is the
 * table of all files; otherwise each file is that of the table that it is named after. Throws
 * `CliError`.
 */
export async function importedTables(
  words: readonly string[],
  format: RowFormat | undefined,
  cwd: string,
): Promise<readonly ImportedTable[]> {
  const [first, ...others] = words;
  if (first === undefined) throw new CliError('name files of rows, or the folder of an export', 2);
  const at = (word: string): string => path.resolve(cwd, word);
  if (others.length === 0 && isFolder(at(first))) return exportedTables(at(first), format);
  if (!isRowFile(first) && others.length > 0) {
    return [{ table: first, files: others.map((word) => rowFile(at(word), format)) }];
  }
  const byTable = new Map<string, RowFile[]>();
  for (const word of words) {
    const file = rowFile(at(word), format);
    const table = path.basename(word).replace(/\.(?:ndjson|jsonl|csv)?(?:\.gz)?$/i, '');
    byTable.set(table, [...(byTable.get(table) ?? []), file]);
  }
  return [...byTable].map(([table, files]) => ({ table, files }));
}

async function exportedTables(
  folder: string,
  format: RowFormat | undefined,
): Promise<readonly ImportedTable[]> {
  const manifest = await readExport(folder);
  if (format !== undefined && format !== manifest.format) {
    throw new CliError(`${folder} has rows as ${manifest.format}; leave out --format`, 2);
  }
  return manifest.tables.map(({ name, file }) => {
    return { table: name, files: [rowFile(path.join(folder, file), manifest.format)] };
  });
}

function isFolder(file: string): boolean {
  return existsSync(file) && statSync(file).isDirectory();
}

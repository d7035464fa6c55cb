import { type ImportStyle, SourceFile } from './source-file.ts';
import type { GeneratedFile } from './typescript.ts';

/**
 * The schema endpoint's answer as a file, for clients that are typed by the module: with it they
 * need not fetch the schema. `json` is written verbatim, so that it equals the endpoint's to the
 * last digit.
 */
export function schemaModule(json: string, style: ImportStyle): GeneratedFile {
  const file = new SourceFile('schema.ts', style);
  const type = file.libraryType('RawSchema');
  file.add(
    '/** What the database has: `connect({ schema, … })` asks nobody for it. */',
    `export const schema: ${type} = ${json};`,
  );
  return { path: file.path, text: file.toString() };
}

/**
 * A module's doc comments, and how the program carries them:
 *
 * ```
 * //# reducerdb-docs={"functions":{NAME:ENTRY, …},"tables":{NAME:ENTRY, …}}
 * ENTRY = {"text":TEXT,"parts":{PART:TEXT, …}}
 * ```
 *
 * One line of JSON after the program and before its source map. A comment does not change what the
 * program does or declares, and reading it runs no code. Names are those of the source: of the
 * export, or of the table in its schema; parts are parameters and columns.
 */
import { limits } from '../limits.ts';

/** The comments on one function or table. */
export interface EntityDocs {
  /** Empty when only parts are described. */
  readonly text: string;
  /** Parameters of a function, columns of a table. */
  readonly parts: ReadonlyMap<string, string>;
}

export interface ProgramDocs {
  readonly functions: ReadonlyMap<string, EntityDocs>;
  readonly tables: ReadonlyMap<string, EntityDocs>;
}

const noDocs: ProgramDocs = { functions: new Map(), tables: new Map() };

const lineStart = '//# reducerdb-docs=';

/**
 * The line to append to a program; empty if there are no comments. `undefined` if it would exceed
 * `limits.programDocsBytesMax`.
 */
export function docsLine(docs: ProgramDocs): string | undefined {
  if (docs.functions.size + docs.tables.size === 0) return '';
  const json = JSON.stringify({
    functions: plainEntities(docs.functions),
    tables: plainEntities(docs.tables),
  });
  // These two end a line of a program, and so a comment, but JSON does not escape them.
  const line = json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  return Buffer.byteLength(line) > limits.programDocsBytesMax ? undefined : `${lineStart}${line}\n`;
}

function plainEntities(entities: ProgramDocs['functions']): object {
  return Object.fromEntries(
    [...entities].map(([name, { text, parts }]) => [name, { text, parts: plainTexts(parts) }]),
  );
}

function plainTexts(texts: EntityDocs['parts']): object {
  return Object.fromEntries(texts);
}

/**
 * Reads the line in a published program. It is not trusted: a line of another shape, or one that is
 * too long, is ignored.
 */
export function readDocs(program: Uint8Array): ProgramDocs {
  const bytes = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  const at = bytes.lastIndexOf(`\n${lineStart}`);
  if (at < 0) return noDocs;
  const start = at + 1 + lineStart.length;
  const end = bytes.indexOf('\n', start);
  const line = bytes.subarray(start, end < 0 ? bytes.length : end);
  if (line.length > limits.programDocsBytesMax) return noDocs;
  try {
    const { functions, tables } = record(JSON.parse(line.toString()));
    return { functions: readEntities(functions), tables: readEntities(tables) };
  } catch (error) {
    if (error instanceof SyntaxError) return noDocs;
    throw error;
  }
}

function readEntities(json: unknown): ReadonlyMap<string, EntityDocs> {
  const entries = Object.entries(record(json)).map(([name, entity]) => {
    const { text, parts } = record(entity);
    const texts = Object.entries(record(parts)).map(
      ([part, words]) => [part, readText(words)] as const,
    );
    return [name, { text: readText(text), parts: new Map(texts) }] as const;
  });
  return new Map(entries);
}

function readText(json: unknown): string {
  return typeof json === 'string' ? cutDocText(json) : '';
}

/** Cuts a text to `limits.docTextCharactersMax`, with a mark at the end if there was more. */
export function cutDocText(text: string): string {
  if (text.length <= limits.docTextCharactersMax) return text;
  const kept = text.slice(0, limits.docTextCharactersMax - 1);
  return `${kept.replace(/[\ud800-\udbff]$/, '')}…`;
}

function record(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? { ...json } : {};
}

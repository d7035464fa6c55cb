import type { FunctionLines, ProgramFile, ProgramFiles } from '../bundle/program-files.ts';
import { TextLines } from '../bundle/text-lines.ts';
import { SourceReader } from '../host/publishing/source-reader.ts';
import type { DatabaseDescription, DatabaseHandle } from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { LooseNames } from '../values/loose-names.ts';
import { namesHint } from './names-hint.ts';

/** The source of a module as it was published. */
export interface ModuleSource extends Omit<ProgramFiles, 'files' | 'functions'> {
  /** Hash of the program, as 64 hex digits: another program has another source. */
  readonly program: string;
  readonly files: readonly SourceFile[];
  readonly functions: readonly SourceFunction[];
}

interface SourceFile extends ProgramFile {
  /** `text` by lines. */
  readonly lines: TextLines;
}

export interface SourceFunction extends FunctionLines {
  readonly kind: 'reducer' | 'procedure' | 'view' | 'handler';
  readonly sourceName: string;
}

/** What somebody asks of a source, as they wrote it. */
export interface WrittenSourceAsk {
  readonly file: string | undefined;
  readonly function: string | undefined;
  /** `12`, `12-40` or `12-`, counted from 1. */
  readonly lines: string | undefined;
}

/** Lines of one file. */
export interface SourcePart {
  readonly file: string;
  readonly first: number;
  readonly last: number;
  /** Lines of the whole file. */
  readonly count: number;
  readonly text: string;
}

/** Why there is no such part. */
export interface SourceFault {
  readonly kind: 'absent' | 'unfit';
  readonly message: string;
  readonly hint?: string;
}

const reader = new SourceReader();

/** Of the programs that were asked for last. */
const known = new Map<DatabaseDescription, Promise<ModuleSource>>();

/**
 * Reads the source that the running program carries, without running its code. It is what the
 * publisher sent beside the code that runs: nothing proves that the one was made from the other.
 */
export async function moduleSource(handle: DatabaseHandle): Promise<ModuleSource> {
  const description = await handle.describe();
  const found = known.get(description) ?? read(handle, description);
  known.delete(description);
  known.set(description, found);
  const [oldest] = known.keys();
  if (known.size > limits.sourcesKeptMax && oldest !== undefined) known.delete(oldest);
  try {
    return await found;
  } catch (error) {
    known.delete(description);
    throw error;
  }
}

async function read(
  handle: DatabaseHandle,
  description: DatabaseDescription,
): Promise<ModuleSource> {
  const { bytes } = await handle.program();
  // A publish came in between: what was read is about another program.
  if (handle.description !== description) return moduleSource(handle);
  const { kind, files, leftOut, functions } = await reader.read(bytes);
  return {
    program: description.programHash,
    kind,
    files: files.map((file) => ({ ...file, lines: new TextLines(file.text) })),
    leftOut,
    functions: ofDefinition(functions, flatDefinition(description.definition)),
  };
}

/** The functions of a flat definition, under the names that clients know. */
function ofDefinition(
  functions: readonly FunctionLines[],
  { reducers, procedures, views, httpHandlers }: ModuleDefinition,
): readonly SourceFunction[] {
  const lines = new Map(functions.map((one) => [one.name, one]));
  const found = (
    kind: SourceFunction['kind'],
    ones: readonly { readonly name: string; readonly sourceName: string }[],
  ): SourceFunction[] =>
    ones.flatMap(({ name, sourceName }) => {
      const place = lines.get(sourceName);
      return place === undefined ? [] : [{ ...place, name, sourceName, kind }];
    });
  return [
    ...found('reducer', reducers),
    ...found('procedure', procedures),
    ...found('view', views),
    ...found('handler', httpHandlers),
  ];
}

/** Finds the part of a source that is asked for, which names a file, a function or lines. */
export function sourcePart(source: ModuleSource, ask: WrittenSourceAsk): SourcePart | SourceFault {
  if (ask.function === undefined) return filePart(source, ask);
  if (ask.file !== undefined || ask.lines !== undefined) {
    return unfit('`function` excludes `file` and `lines`: it stands for the lines of the function');
  }
  const { functions } = source;
  const at = foundAt(functions, ask.function);
  const found = functions[at];
  if (found !== undefined) return partOf(source, found.file, found);
  const message = `the source has no function \`${ask.function}\``;
  const hint = namesHint(
    ask.function,
    functions.map(({ name }) => name),
  );
  const isKnown = functions.length > 0;
  return { kind: 'absent', message, hint: isKnown ? hint : noFunctionsHint };
}

const noFunctionsHint = 'It does not say where functions are: read its files.';

/** By the name that clients know, or the module's own. */
function foundAt(functions: readonly SourceFunction[], given: string): number {
  const at = new LooseNames(functions).find(given);
  return at >= 0 ? at : functions.findIndex(({ sourceName }) => sourceName === given);
}

function filePart(source: ModuleSource, { file, lines }: WrittenSourceAsk) {
  const [only, ...others] = source.files;
  const name = file ?? (others.length === 0 ? only?.name : undefined);
  const names = source.files.map((one) => one.name);
  if (name === undefined) return unfit('`lines` needs `file`', namesHint('', names));
  const range = rangeIn(lines ?? '1-');
  if (range === undefined) return unfit('`lines` must be as in 12, 12-40 or 12-');
  return partOf(source, name, range);
}

interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeIn(text: string): Range | undefined {
  const [, first = '', dash, last = ''] = /^([1-9]\d{0,8})(-([1-9]\d{0,8})?)?$/.exec(text) ?? [];
  if (first === '') return undefined;
  const end = last === '' ? Number.MAX_SAFE_INTEGER : Number(last);
  const range = { first: Number(first), last: dash === undefined ? Number(first) : end };
  return range.last < range.first ? undefined : range;
}

function partOf(
  { files, leftOut }: ModuleSource,
  name: string,
  { first, last }: Range,
): SourcePart | SourceFault {
  const found = files.find((one) => one.name === name);
  if (found === undefined) {
    const isKept = leftOut.includes(name);
    const message = `the source has no file \`${name}\``;
    const names = files.map((one) => one.name);
    const hint = isKept ? 'It is not shown: it is no part of the project, or too long.' : undefined;
    return { kind: 'absent', message, hint: hint ?? namesHint(name, names) };
  }
  const { lines } = found;
  const count = countOf(lines);
  if (first > count) return unfit(`\`lines\`: ${name} has ${count}`);
  const end = Math.min(last, count);
  return { file: name, first, last: end, count, text: lines.range(first, end) };
}

/** A line end at the end of a file begins no line. */
function countOf(lines: TextLines): number {
  return Math.max(1, lines.count - (lines.line(lines.count) === '' ? 1 : 0));
}

function unfit(message: string, hint?: string): SourceFault {
  return { kind: 'unfit', message, ...(hint !== undefined && { hint }) };
}

/** What there is to read: files, functions, and names of what is left out. */
export function sourceIndex({ program, kind, files, functions, leftOut }: ModuleSource) {
  return {
    program,
    kind,
    files: files.map(fileJson),
    functions: functions.map(functionJson),
    ...(leftOut.length > 0 && { left_out: leftOut }),
  };
}

export function fileJson({ name, lines }: SourceFile) {
  return { file: name, lines: countOf(lines) };
}

export function functionJson({ name, kind, file, first, last }: SourceFunction) {
  return { name, kind, file, lines: `${first}-${last}` };
}

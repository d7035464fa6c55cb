import { databasePath, requestJson } from './http.ts';
import { type Json, listOf, numberOf, objectOf, textOf } from './json.ts';

/** Lines of a file of the module as its author wrote it. */
export interface SourcePart {
  readonly file: string;
  /** Number of the first line, from 1. */
  readonly first: number;
  readonly lines: readonly string[];
}

export interface SourceFunction {
  readonly name: string;
  readonly kind: 'reducer' | 'procedure' | 'view' | 'handler';
  readonly file: string;
  readonly first: number;
}

/** `GET /v1/database/:db/source`: which functions are where. */
export async function readSourceFunctions(
  database: string,
  signal?: AbortSignal,
): Promise<readonly SourceFunction[]> {
  const path = databasePath(database, 'source');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return listOf(body.functions).map((each) => {
    const { name, kind, file, lines } = objectOf(each);
    return {
      name: textOf(name),
      kind: textOf(kind) as SourceFunction['kind'],
      file: textOf(file),
      first: firstOf(lines),
    };
  });
}

/** `GET /v1/database/:db/source?file=…`: a whole file. */
export async function readSourceFile(
  database: string,
  file: string,
  signal?: AbortSignal,
): Promise<SourcePart> {
  const path = `${databasePath(database, 'source')}?${new URLSearchParams({ file })}`;
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  const lines = textOf(body.text).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return { file: textOf(body.file), first: firstOf(body.lines), lines };
}

function firstOf(lines: Json | undefined): number {
  return numberOf(textOf(lines).split('-')[0]) ?? 1;
}

/** File and line of a place such as `src/index.ts:16:34`. */
export function placeOf(
  text: string,
): { readonly file: string; readonly line: number } | undefined {
  const [, file, line] = /^(.+?):(\d+)(?::\d+)?$/.exec(text) ?? [];
  return file === undefined ? undefined : { file, line: Number(line) };
}

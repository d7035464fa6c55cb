import {
  fileJson,
  functionJson,
  type ModuleSource,
  type SourcePart,
} from '../doors/module-source.ts';
import { utf8Length } from '../values/utf8.ts';

/**
 * Where a page of a source begins. A cursor is `<program>.<file>.<from>.<to>`, in characters of a
 * file, or `<program>.<from>` of what there is to read; it is of no use for another program.
 */
export type SourcePlace =
  | { readonly kind: 'index'; readonly from: number }
  | { readonly kind: 'text'; readonly at: number; readonly from: number; readonly to: number };

/** One page, and the cursor of what follows. */
export interface SourcePage<Shown> {
  readonly shown: Shown;
  readonly cursor: string | undefined;
}

/** Reads a cursor; `undefined`: it is none, or of another program. */
export function sourcePlace(source: ModuleSource, cursor: string): SourcePlace | undefined {
  const [program, ...rest] = cursor.split('.');
  const numbers = rest.map((word) => (/^\d{1,9}$/.test(word) ? Number(word) : Number.NaN));
  const [first = 0, from = 0, to = 0] = numbers;
  if (program !== shortHash(source) || numbers.some(Number.isNaN)) return undefined;
  if (numbers.length === 1) return { kind: 'index', from: first };
  const { length } = source.files[first]?.text ?? '';
  const isInside = numbers.length === 3 && from < to && to <= length;
  return isInside ? { kind: 'text', at: first, from, to } : undefined;
}

/** Where the text of a part is. */
export function placeOf({ files }: ModuleSource, part: SourcePart): SourcePlace {
  const at = files.findIndex(({ name }) => name === part.file);
  const from = files[at]?.lines.offset(part.first, 1) ?? 0;
  return { kind: 'text', at, from, to: from + part.text.length };
}

/** Text of a file from a place on, at most so many bytes, which end with a line if possible. */
export interface ShownText {
  readonly file: string;
  /** Lines, from 1; a long one can begin, or go on, on another page. */
  readonly lines: string;
  /** Lines of the whole file. */
  readonly of: number;
  readonly text: string;
}

export function textPage(
  source: ModuleSource,
  { at, from, to }: Extract<SourcePlace, { kind: 'text' }>,
  bytesMax: number,
): SourcePage<ShownText> {
  const file = source.files[at];
  if (file === undefined) throw new RangeError('a place is in a file');
  const end = endOf(file.text, { from, to }, bytesMax);
  const { lines } = file;
  const first = lines.position(from)[0];
  const last = lines.position(Math.max(from, end - 1))[0];
  return {
    shown: {
      file: file.name,
      lines: `${first}-${last}`,
      of: fileJson(file).lines,
      text: file.text.slice(from, end),
    },
    cursor: end < to ? `${shortHash(source)}.${at}.${end}.${to}` : undefined,
  };
}

/** At least one character, so that every page goes on. */
function endOf(
  text: string,
  { from, to }: { readonly from: number; readonly to: number },
  bytesMax: number,
): number {
  let bytes = 0;
  let lineEnd = from;
  let at = from;
  while (at < to) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    bytes += utf8Length(character);
    if (bytes > bytesMax && at > from) return lineEnd > from ? lineEnd : at;
    at += character.length;
    if (character === '\n') lineEnd = at;
  }
  return to;
}

/** What there is to read, from an entry on: files first, then functions. */
export function indexPage(
  source: ModuleSource,
  from: number,
  bytesMax: number,
): SourcePage<Readonly<Record<string, unknown>>> {
  const { kind, files, functions, leftOut } = source;
  const entries = [...files.map(fileJson), ...functions.map(functionJson)];
  let bytes = 0;
  const cut = entries.findIndex((entry, at) => {
    if (at < from) return false;
    bytes += utf8Length(JSON.stringify(entry)) + 1;
    return bytes > bytesMax && at > from;
  });
  const end = cut < 0 ? entries.length : cut;
  const shown = entries.slice(from, end);
  const isFunction = (entry: object) => 'name' in entry;
  return {
    shown: {
      kind,
      files: shown.filter((entry) => !isFunction(entry)),
      functions: shown.filter(isFunction),
      ...(from === 0 && leftOut.length > 0 && { left_out: leftOut.slice(0, leftOutShown) }),
    },
    cursor: end < entries.length ? `${shortHash(source)}.${end}` : undefined,
  };
}

/** Names of packages are of little use: the first ones will do. */
const leftOutShown = 50;

function shortHash({ program }: ModuleSource): string {
  return program.slice(0, 12);
}

import { cutDocText, type EntityDocs } from './program-docs.ts';

/**
 * The doc comment directly before `offset` of a source, where the name of a declaration or of a
 * property begins: between them are only words such as `export const`, blanks and other comments.
 * Returns the text between the marks, or `undefined`.
 *
 * `offset` must be code, which the bundler's source map guarantees. Between it and the comment
 * there can be no strings or regular expressions, so this needs no knowledge of the language.
 */
export function docCommentBefore(source: string, offset: number): string | undefined {
  const place = docCommentPlace(source, offset);
  return place && source.slice(place.start + 3, place.end - 2);
}

/** Where that comment begins and ends, its marks included. */
export function docCommentPlace(
  source: string,
  offset: number,
): { readonly start: number; readonly end: number } | undefined {
  const words = /(?:\b(?:export|const|let|var)\s+)*$/.exec(lastPart(source, offset));
  let end = offset - (words?.[0].length ?? 0);
  for (;;) {
    end = source.slice(0, end).trimEnd().length;
    const lineStart = source.lastIndexOf('\n', end - 1) + 1;
    if (/^\s*\/\//.test(source.slice(lineStart, end))) {
      end = lineStart;
      continue;
    }
    const start = commentStart(source, end);
    if (start === undefined) return undefined;
    const isDoc = source.startsWith('/**', start) && end - start > '/**/'.length;
    if (isDoc) return { start, end };
    end = start;
  }
}

/** Returns enough text for the words before a name. */
function lastPart(source: string, offset: number): string {
  return source.slice(Math.max(0, offset - 256), offset);
}

/**
 * Start of the block comment that ends at `end`: the first thing on its line if possible, else
 * after another comment or an opening. A comment mark after other words is in a string or a line
 * comment. The last such place counts, because strings that look like comments may precede it.
 */
function commentStart(source: string, end: number): number | undefined {
  if (!source.endsWith('*/', end)) return undefined;
  const previousEnd = source.lastIndexOf('*/', end - 3);
  const from = previousEnd < 0 ? 0 : previousEnd + 2;
  const inside = source.slice(from, end - 2);
  const starts = Array.from(inside.matchAll(/\/\*/g), ({ index }) => index);
  const isBehind = (pattern: RegExp) => (at: number) => pattern.test(lastPart(inside, at));
  const start =
    starts.findLast(isBehind(/\n[ \t]*$/)) ?? starts.findLast(isBehind(/(?:^|[{(,;])[ \t]*$/));
  return start === undefined ? undefined : from + start;
}

/**
 * Reads a doc comment in TSDoc's terms: the text before the first block tag, and the texts of
 * `@param`. `@returns` and `@deprecated` count as text too; other tags are left out.
 */
export function readDocComment(comment: string): EntityDocs {
  const lines = comment.split(/\r?\n/).map((line, at) => (at === 0 ? line.trim() : bare(line)));
  const [head = '', ...blocks] = lines.join('\n').split(/^(?=@[a-z])/m);
  const texts = [tidyText(head)];
  const parts = new Map<string, string>();
  for (const block of blocks) {
    const [, tag = '', rest = ''] = /^@(\w+)\s*(.*)$/s.exec(block) ?? [];
    if (tag === 'param') addParam(parts, rest);
    const label = textTags[tag];
    if (label !== undefined) texts.push(`${label}: ${tidyText(rest)}`);
  }
  return { text: cutDocText(texts.filter((text) => text !== '').join('\n\n')), parts };
}

/** Removes the star that a comment line begins with; two stars are Markdown emphasis. */
function bare(line: string): string {
  return line.replace(/^\s*(?:\*(?!\*))? ?/, '').trimEnd();
}

const textTags: Readonly<Record<string, string>> = {
  remarks: 'Remarks',
  returns: 'Returns',
  return: 'Returns',
  throws: 'Refuses',
  deprecated: 'Deprecated',
};

/** `name what it is`; also `args.name`, with a dash, or with a type in braces before it. */
const paramPattern = /^(?:\{[^}]*\}\s*)?(?:[\w$]+\.)?([\w$]+)\s*(?:-\s*)?(.*)$/s;

function addParam(parts: Map<string, string>, rest: string): void {
  const [, name, text = ''] = paramPattern.exec(rest) ?? [];
  if (name !== undefined && tidyText(text) !== '') parts.set(name, cutDocText(tidyText(text)));
}

/** Replaces links by their text. */
function tidyText(text: string): string {
  return text.replace(/\{@link(?:code|plain)?\s([^{}]*)\}/g, (_, link) => linkText(link)).trim();
}

/** `target`, `target words` or `target | words`. */
function linkText(link: string): string {
  const [target = '', ...words] = link.trim().split(/[|\s]+/);
  return words.length === 0 ? target : words.join(' ');
}

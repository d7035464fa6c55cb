import { cutDocText, type EntityDocs } from './program-docs.ts';

/**
 * The doc comment directly before `offset` of a source, where the name of a declaration or of a
 * property begins: between them are only words such as `export const`, blanks and other comments.
 * Gives the text between the marks, or `undefined`.
 *
 * That `offset` is code must be certain: it is the bundler's word, by its source map. From there
 * back no strings or patterns can be in the way, so that nothing needs to be known about the
 * language.
 */
export function docCommentBefore(source: string, offset: number): string | undefined {
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
    if (isDoc) return source.slice(start + 3, end - 2);
    end = start;
  }
}

/** Enough for the words before a name. */
function lastPart(source: string, offset: number): string {
  return source.slice(Math.max(0, offset - 256), offset);
}

/**
 * Where the block comment begins that ends at `end`: first on its line if one there is, else behind
 * another comment or the start of something. What is behind other words is in a text, or in a line
 * comment. The last such place counts, because texts that look like comments may stand before it.
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
 * What a doc comment says, in the words of TSDoc: the text before the first block tag, and the
 * texts of `@param`. What it returns and why it is deprecated is text too; other tags are for other
 * readers.
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

/** Without the star that lines of a comment begin with; two of them are somebody's emphasis. */
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

/** `name what it is`; some write `args.name`, some a dash, some a type in braces before it. */
const paramPattern = /^(?:\{[^}]*\}\s*)?(?:[\w$]+\.)?([\w$]+)\s*(?:-\s*)?(.*)$/s;

function addParam(parts: Map<string, string>, rest: string): void {
  const [, name, text = ''] = paramPattern.exec(rest) ?? [];
  if (name !== undefined && tidyText(text) !== '') parts.set(name, cutDocText(tidyText(text)));
}

/** Links become their words. */
function tidyText(text: string): string {
  return text.replace(/\{@link(?:code|plain)?\s([^{}]*)\}/g, (_, link) => linkText(link)).trim();
}

/** `target`, `target words` or `target | words`. */
function linkText(link: string): string {
  const [target = '', ...words] = link.trim().split(/[|\s]+/);
  return words.length === 0 ? target : words.join(' ');
}

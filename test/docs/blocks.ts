/** A fenced block of a document. */
export interface Block {
  /** Position of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** What stands behind the language on the opening fence. */
  readonly words: readonly string[];
  readonly text: string;
}

/**
 * The fenced blocks of a Markdown document, in order; those of comments are for others. Throws at a
 * fence that is not closed.
 */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  const shown = markdown.replaceAll(/^<!--.*?-->$/gms, (text) => text.replaceAll(/[^\n]/g, ''));
  for (const [at, line] of shown.split('\n').entries()) {
    if (open === undefined) {
      const info = /^```(.*)$/.exec(line)?.[1];
      if (info !== undefined) open = { line: at + 1, info, lines: [] };
    } else if (line === '```') {
      const [language = '', ...words] = open.info.trim().split(/\s+/);
      blocks.push({ line: open.line, language, words, text: open.lines.join('\n') });
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open !== undefined) throw new Error(`the block at line ${open.line} is not closed`);
  return blocks;
}

/**
 * The first line of `expected` that `output` does not hold after the ones before it; `undefined`
 * when all are there in order. Blanks at the ends of lines do not count.
 */
export function missingLine(output: string, expected: string): string | undefined {
  const trimmed = output.replace(/[ \t]+$/gm, '');
  let from = 0;
  for (const line of expected.split('\n').map((text) => text.trimEnd())) {
    if (line === '') continue;
    const at = trimmed.indexOf(line, from);
    if (at < 0) return line;
    from = at + line.length;
  }
  return undefined;
}

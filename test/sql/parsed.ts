import { SqlFailure } from '../../src/sql/failure.ts';
import { parse } from '../../src/sql/syntax/parse.ts';

/** What the parser refuses a text with, a syntax error or the first refused part; or `ok`. */
export function refusalOf(sql: string): string {
  try {
    return refusedPart(parse(sql).statement) ?? 'ok';
  } catch (error) {
    if (error instanceof SqlFailure) return error.message;
    throw error;
  }
}

function refusedPart(node: unknown): string | undefined {
  if (typeof node !== 'object' || node === null) return undefined;
  if ('kind' in node && node.kind === 'unsupported' && 'message' in node) {
    return String(node.message);
  }
  for (const part of Object.values(node)) {
    const message = refusedPart(part);
    if (message !== undefined) return message;
  }
  return undefined;
}

/** The tree of a text, in which each span is the text that it covers. */
export function treeOf(sql: string): unknown {
  const { statement, source } = parse(sql);
  return withText(statement);

  function withText(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(withText);
    if (typeof node !== 'object' || node === null) return node;
    const entries = Object.entries(node).map(([name, value]) => {
      return [name, name === 'span' ? source.text(value) : withText(value)];
    });
    return Object.fromEntries(entries);
  }
}

/** The same of one condition, or of any other expression. */
export function expressionOf(sql: string): unknown {
  return partOf(treeOf(`SELECT * FROM t WHERE ${sql}`), ['query', 'body', 'where']);
}

export function partOf(tree: unknown, path: readonly (string | number)[]): unknown {
  let part = tree;
  for (const name of path) {
    part = typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined;
  }
  return part;
}

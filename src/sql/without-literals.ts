import { SqlFailure } from './failure.ts';
import { lex } from './syntax/lex.ts';
import type { Token } from './syntax/token.ts';

/**
 * A statement with `?` in place of each literal, without comments, with one blank where there were
 * more; `undefined`: it has no tokens, such as a text without an end.
 */
export function withoutLiterals(sql: string): string | undefined {
  const tokens = tokensOf(sql);
  if (tokens === undefined) return undefined;
  let text = '';
  let end = 0;
  for (const token of tokens) {
    if (token.kind === 'end') break;
    if (text !== '' && token.start > end) text += ' ';
    text += isLiteral(token) ? '?' : sql.slice(token.start, token.end);
    end = token.end;
  }
  return text;
}

function tokensOf(sql: string): readonly Token[] | undefined {
  try {
    return lex(sql);
  } catch (error) {
    if (error instanceof SqlFailure) return undefined;
    throw error;
  }
}

function isLiteral({ kind }: Token): boolean {
  return kind === 'string' || kind === 'number' || kind === 'hex' || kind === 'exotic';
}

import { present } from '../assert.ts';
import { invalid, type TextPosition } from './failure.ts';
import { lex } from './syntax/lex.ts';
import { positionOf } from './syntax/source-text.ts';

/** One of the statements of a text. */
export interface WrittenStatement {
  readonly text: string;
  /** Where it begins. */
  readonly place: TextPosition;
}

/**
 * Splits a text at its semicolons; what stands between two of them is not looked into. Throws
 * `SqlFailure` for an unterminated string, quoted name or comment, and for more than `countMax`
 * statements. Cost: one pass over the text, and one to each statement for its place.
 */
export function splitStatements(sql: string, countMax: number): readonly WrittenStatement[] {
  const statements: WrittenStatement[] = [];
  const tokens = lex(sql);
  let from: number | undefined;
  for (const [at, { kind, text, start }] of tokens.entries()) {
    const isEnd = kind === 'end' || (kind === 'symbol' && text === ';');
    if (!isEnd) {
      from ??= start;
      continue;
    }
    if (from === undefined) continue;
    if (statements.length === countMax) {
      throw invalid(`The text has more than ${countMax} statements; send them in parts`);
    }
    const { end } = present(tokens[at - 1], 'the last token of a statement');
    statements.push({ text: sql.slice(from, end), place: positionOf(sql, from) });
    from = undefined;
  }
  return statements;
}

import { present } from '../../assert.ts';
import { invalid, type SqlFailure, type TextPosition } from '../failure.ts';
import type { Span } from './ast.ts';
import { renderTokens } from './render.ts';
import type { Token } from './token.ts';

/** The text of a statement, split into tokens: the spans of its tree refer to it. */
export class SourceText {
  readonly #sql: string;
  readonly #tokens: readonly Token[];

  /** `tokens` are all of `sql`, with `end` as the last one. */
  constructor(sql: string, tokens: readonly Token[]) {
    this.#sql = sql;
    this.#tokens = tokens;
  }

  /** A part of the statement as errors show it. */
  text(span: Span): string {
    return renderTokens(this.#tokens.slice(span.from, span.to));
  }

  /** A part of the statement as it is written. */
  written(span: Span): string {
    const at = (place: number) => present(this.#tokens[place], 'a token of the text').start;
    return this.#sql.slice(at(span.from), at(span.to)).trim();
  }

  /** The start of a part of the statement. */
  place(span: Span): TextPosition {
    const at = Math.min(span.from, this.#tokens.length - 1);
    return positionOf(this.#sql, present(this.#tokens[at], 'a token: the last one is `end`').start);
  }
}

export function positionOf(sql: string, offset: number): TextPosition {
  let line = 1;
  let lineStart = 0;
  for (let at = sql.indexOf('\n'); at !== -1 && at < offset; at = sql.indexOf('\n', at + 1)) {
    line++;
    lineStart = at + 1;
  }
  let column = 1;
  for (const _ of sql.slice(lineStart, offset)) column++;
  return { line, column };
}

/** The error that `what` is wrong at `offset`, a position in UTF-16 units. */
export function syntaxError(what: string, sql: string, offset: number): SqlFailure {
  const place = positionOf(sql, offset);
  const { line, column } = place;
  return invalid(`sql parser error: ${what} at Line: ${line}, Column ${column}`, { place });
}

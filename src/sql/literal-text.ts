/**
 * The literals of a statement, found without parsing it. Texts that are equal but for them have one
 * key, and are cut into the same tokens by `syntax/lex.ts`.
 */

/** A string without its quotes, or the digits of a number without a sign. */
export interface TextLiteral {
  readonly kind: 'string' | 'number';
  readonly text: string;
}

export interface LiteralText {
  /** The statement with a mark in place of each literal. */
  readonly key: string;
  /** In the order of the text. */
  readonly literals: readonly TextLiteral[];
}

/** Stands before a mark in a key, and between the parts of longer keys; no text that has it. */
export const keyMark = '\u0001';

const digits = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;

/** `undefined`: it has no literals, or something that this does not read as the lexer does. */
export function literalTextOf(sql: string): LiteralText | undefined {
  const literals: TextLiteral[] = [];
  let key = '';
  let copied = 0;
  let at = 0;
  while (at < sql.length) {
    const code = sql.charCodeAt(at);
    if (isWordStart(code)) {
      at = endOfWord(sql, at);
      // X'…', E'…': literals of other kinds.
      if (sql.charCodeAt(at) === quote) return undefined;
    } else if (code === quote) {
      const end = endOfQuoted(sql, at, quote);
      if (end === undefined) return undefined;
      const text = sql.slice(at + 1, end - 1);
      literals.push({
        kind: 'string',
        text: text.includes("'") ? text.replaceAll("''", "'") : text,
      });
      key += `${sql.slice(copied, at)}${keyMark}s`;
      copied = at = end;
    } else if (isDigit(code) || (code === dot && isDigit(sql.charCodeAt(at + 1)))) {
      digits.lastIndex = at;
      const text = digits.exec(sql)?.[0] ?? '';
      const end = at + text.length;
      // `0x…`, `5L`, and exponents without digits.
      if (text === '' || isWordPart(sql.charCodeAt(end)) || sql.charCodeAt(end) > 126) {
        return undefined;
      }
      literals.push({ kind: 'number', text });
      key += `${sql.slice(copied, at)}${keyMark}n`;
      copied = at = end;
    } else if (code === doubleQuote) {
      const end = endOfQuoted(sql, at, doubleQuote);
      if (end === undefined) return undefined;
      at = end;
    } else if (code === dollar) {
      if (!isDigit(sql.charCodeAt(at + 1))) return undefined;
      at = endOfWord(sql, at);
      if (sql.charCodeAt(at) === quote) return undefined;
    } else if (isForeign(code, sql.charCodeAt(at + 1))) return undefined;
    else at++;
  }
  return literals.length === 0 ? undefined : { key: key + sql.slice(copied), literals };
}

const quote = 0x27;
const doubleQuote = 0x22;
const dollar = 0x24;
const dot = 0x2e;
const dash = 0x2d;
const slash = 0x2f;
const star = 0x2a;
const questionMark = 0x3f;

/** Comments, placeholders, control characters, and names outside of ASCII. */
function isForeign(code: number, next: number): boolean {
  if (code === dash) return next === dash;
  if (code === slash) return next === star;
  if (code === questionMark || code > 126) return true;
  return code < 32 && code !== 9 && code !== 10 && code !== 13;
}

/** The place behind the closing quote; a doubled quote is part of the text. */
function endOfQuoted(sql: string, at: number, mark: number): number | undefined {
  const char = String.fromCharCode(mark);
  let end = sql.indexOf(char, at + 1);
  while (end !== -1 && sql.charCodeAt(end + 1) === mark) end = sql.indexOf(char, end + 2);
  return end === -1 || sql.slice(at, end).includes(keyMark) ? undefined : end + 1;
}

function endOfWord(sql: string, at: number): number {
  let end = at + 1;
  while (isWordPart(sql.charCodeAt(end))) end++;
  return end;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isWordStart(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95;
}

function isWordPart(code: number): boolean {
  return isWordStart(code) || isDigit(code) || code === dollar;
}

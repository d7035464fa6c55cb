import type { SqlFailure } from '../failure.ts';
import { syntaxError } from './source-text.ts';
import type { Token, TokenKind } from './token.ts';

/**
 * Splits a statement into tokens; the last one has kind `end`. Blanks and comments (`--` to the end
 * of the line, slash-star comments that nest) separate tokens and are dropped.
 *
 * Throws `SqlFailure` for an unterminated string, quoted name or comment. Every other character
 * becomes some token, so that the parser can report what it expected in its place.
 */
export function lex(sql: string): readonly Token[] {
  return new Lexer(sql).run();
}

/** Longest first: an operator is the longest of these that matches. */
const operators: readonly (readonly string[])[] = [
  ['<=>', '<->', '<#>', '->>', '#>>', '!~~', '!~*', '~~*'],
  [
    '<=',
    '>=',
    '<>',
    '!=',
    '==',
    '||',
    '::',
    ':=',
    '->',
    '=>',
    '<<',
    '>>',
    '&&',
    '@>',
    '<@',
    '~*',
    '!~',
    '~~',
  ],
];
const alphabetic = /\p{Alphabetic}/u;
const blank = /\s/;

class Lexer {
  readonly #sql: string;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(sql: string) {
    this.#sql = sql;
  }

  run(): readonly Token[] {
    for (;;) {
      this.#skipBlanks();
      if (this.#at >= this.#sql.length) break;
      this.#one();
    }
    this.#push('end', '', this.#at);
    return this.#tokens;
  }

  #one(): void {
    const start = this.#at;
    const char = this.#sql.charAt(start);
    const next = this.#sql.charAt(start + 1);
    if (char === "'") this.#push('string', this.#quoted("'", start), start);
    else if (char === '"') this.#push('quotedWord', this.#quoted('"', start), start);
    else if (char === '0' && next === 'x') this.#hexNumber(start);
    else if (isDigit(char) || (char === '.' && isDigit(next))) this.#number(start);
    else if (next === "'" && isStringPrefix(char)) this.#prefixedString(char, start);
    else if (char === '$') this.#dollar(start);
    else if (char === '?') this.#placeholder(start);
    else if (isWordStart(this.#character(start))) this.#word(start);
    else this.#symbol(start);
  }

  #word(start: number): void {
    let end = start;
    while (end < this.#sql.length) {
      const char = this.#character(end);
      if (!isWordPart(char)) break;
      end += char.length;
    }
    this.#at = end;
    this.#push('word', this.#sql.slice(start, end), start);
  }

  #symbol(start: number): void {
    const three = this.#sql.slice(start, start + 3);
    const two = three.slice(0, 2);
    let text = this.#character(start);
    if (operators[0]?.includes(three)) text = three;
    else if (operators[1]?.includes(two)) text = two;
    this.#at = start + text.length;
    this.#push('symbol', text, start);
  }

  /** Digits, fraction, exponent; an exponent without digits is not part of the number. */
  #number(start: number): void {
    let end = this.#digitsFrom(start);
    if (this.#sql.charAt(end) === '.') end = this.#digitsFrom(end + 1);
    if (/e/i.test(this.#sql.charAt(end))) {
      const sign = /[+-]/.test(this.#sql.charAt(end + 1)) ? 1 : 0;
      const exponent = this.#digitsFrom(end + 1 + sign);
      if (exponent > end + 1 + sign) end = exponent;
    }
    const text = this.#sql.slice(start, end);
    this.#at = this.#sql.charAt(end) === 'L' ? end + 1 : end;
    this.#push('number', text, start);
  }

  #hexNumber(start: number): void {
    let end = start + 2;
    while (isHexDigit(this.#sql.charAt(end))) end++;
    this.#at = end;
    this.#push('hex', this.#sql.slice(start + 2, end), start);
  }

  /**
   * `X'..'` is a literal that can be used; `E'..'` and `N'..'` are read whole to be refused.
   */
  #prefixedString(prefix: string, start: number): void {
    const text = this.#quoted("'", start + 1, prefix === 'E' || prefix === 'e');
    if (prefix === 'X' || prefix === 'x') this.#push('hex', text, start);
    else this.#push('exotic', this.#sql.slice(start, this.#at), start);
  }

  /** `$1`, or text between two equal marks such as `$$` and `$body$`. */
  #dollar(start: number): void {
    let end = start + 1;
    while (end < this.#sql.length && /[\p{Alphabetic}0-9_]/u.test(this.#character(end))) {
      end += this.#character(end).length;
    }
    if (this.#sql.charAt(end) === '$') {
      const mark = this.#sql.slice(start, end + 1);
      const close = this.#sql.indexOf(mark, end + 1);
      if (close === -1) throw this.#unterminated('Unterminated dollar-quoted string', start);
      this.#at = close + mark.length;
      this.#push('exotic', this.#sql.slice(start, this.#at), start);
      return;
    }
    this.#at = end;
    this.#push(end === start + 1 ? 'symbol' : 'placeholder', this.#sql.slice(start, end), start);
  }

  #placeholder(start: number): void {
    this.#at = this.#digitsFrom(start + 1);
    this.#push('placeholder', this.#sql.slice(start, this.#at), start);
  }

  /**
   * Reads from the opening quote at `open` past the closing one; a doubled quote means one.
   */
  #quoted(quote: string, open: number, hasEscapes = false): string {
    let text = '';
    let from = open + 1;
    for (let at = from; at < this.#sql.length; at++) {
      const char = this.#sql.charAt(at);
      if (hasEscapes && char === '\\') at++;
      if (char !== quote) continue;
      text += this.#sql.slice(from, at);
      if (this.#sql.charAt(at + 1) !== quote) {
        this.#at = at + 1;
        return text;
      }
      at++;
      from = at;
    }
    if (quote === "'") throw this.#unterminated('Unterminated string literal', open);
    throw this.#unterminated("Expected close delimiter '\"' before EOF", open);
  }

  #skipBlanks(): void {
    for (;;) {
      const char = this.#sql.charAt(this.#at);
      if (char !== '' && blank.test(char)) this.#at++;
      else if (char === '-' && this.#sql.charAt(this.#at + 1) === '-') this.#skipLine();
      else if (char === '/' && this.#sql.charAt(this.#at + 1) === '*') this.#skipComment();
      else return;
    }
  }

  #skipLine(): void {
    const end = this.#sql.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#sql.length : end + 1;
  }

  #skipComment(): void {
    const start = this.#at;
    let depth = 0;
    for (let at = start; at < this.#sql.length; at++) {
      const pair = this.#sql.slice(at, at + 2);
      if (pair === '/*') depth++;
      else if (pair === '*/') depth--;
      else continue;
      at++;
      if (depth === 0) {
        this.#at = at + 1;
        return;
      }
    }
    throw this.#unterminated('Unexpected EOF while in a multi-line comment', start);
  }

  #digitsFrom(start: number): number {
    let end = start;
    while (isDigit(this.#sql.charAt(end))) end++;
    return end;
  }

  /** The whole character at `offset`, which can be two units long. */
  #character(offset: number): string {
    const code = this.#sql.codePointAt(offset);
    return code === undefined ? '' : String.fromCodePoint(code);
  }

  #push(kind: TokenKind, text: string, start: number): void {
    const keyword = kind === 'word' ? keywordOf(text) : '';
    this.#tokens.push({ kind, text, keyword, start, end: this.#at });
  }

  #unterminated(what: string, start: number): SqlFailure {
    return syntaxError(what, this.#sql, start);
  }
}

/** Keywords are ASCII: no other letter may become part of one, as `ß` would in capitals. */
function keywordOf(word: string): string {
  return /^[A-Za-z_]+$/.test(word) ? word.toUpperCase() : '';
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9' && char.length === 1;
}

function isHexDigit(char: string): boolean {
  return isDigit(char) || (char >= 'a' && char <= 'f') || (char >= 'A' && char <= 'F');
}

function isStringPrefix(char: string): boolean {
  return 'xXeEnN'.includes(char);
}

function isWordStart(char: string): boolean {
  if (char < '\u0080')
    return (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z') || char === '_';
  return alphabetic.test(char);
}

function isWordPart(char: string): boolean {
  return isWordStart(char) || isDigit(char) || char === '$';
}

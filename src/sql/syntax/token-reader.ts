import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import type { Span } from './ast.ts';
import { lex } from './lex.ts';
import { renderTokens } from './render.ts';
import { placeOf, SourceText, syntaxError } from './source-text.ts';
import type { Token } from './token.ts';

/** A statement's tokens and how far the parser has come. */
export class TokenReader {
  readonly #sql: string;
  readonly #tokens: readonly Token[];
  readonly source: SourceText;
  /** INSERT has RETURNING, which otherwise is a name like any other: `FROM t returning`. */
  isReturningKept = false;
  /** Spans of calls that were refused for OVER, FILTER and the like. */
  readonly refusedCalls = new WeakSet<Span>();
  /** Made when it is first asked for: which parenthesis closes which, by position. */
  #closings: ReadonlyMap<number, number> | undefined;
  #at = 0;
  #nesting = 0;

  constructor(sql: string) {
    this.#sql = sql;
    this.#tokens = lex(sql);
    this.source = new SourceText(sql, this.#tokens);
  }

  get current(): Token {
    return this.peek(0);
  }

  /** The token `distance` places ahead, -1 is the one before; beyond the end it is `end`. */
  peek(distance: number): Token {
    const at = Math.min(this.#at + distance, this.#tokens.length - 1);
    return present(this.#tokens[at], 'a token: the last one is `end`');
  }

  advance(): Token {
    const token = this.current;
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  isWord(keyword: string, distance = 0): boolean {
    return this.peek(distance).keyword === keyword;
  }

  isOneOf(keywords: ReadonlySet<string>, distance = 0): boolean {
    return keywords.has(this.peek(distance).keyword);
  }

  isSymbol(text: string, distance = 0): boolean {
    const token = this.peek(distance);
    return token.kind === 'symbol' && token.text === text;
  }

  takeWord(keyword: string): boolean {
    if (!this.isWord(keyword)) return false;
    this.#at++;
    return true;
  }

  takeSymbol(text: string): boolean {
    if (!this.isSymbol(text)) return false;
    this.#at++;
    return true;
  }

  expectWord(keyword: string): void {
    if (!this.takeWord(keyword)) throw this.expected(keyword);
  }

  expectSymbol(text: string): void {
    if (!this.takeSymbol(text)) throw this.expected(text);
  }

  /** A name, quoted or not; unquoted it must not be one of `except`. */
  expectName(except?: ReadonlySet<string>): string {
    const { kind, keyword, text } = this.current;
    const isName = kind === 'quotedWord' || (kind === 'word' && !except?.has(keyword));
    if (!isName) throw this.expected('identifier');
    this.#at++;
    return text;
  }

  /** Names joined by dots, which are one name of the catalog. */
  expectDottedName(except?: ReadonlySet<string>): string {
    let name = this.expectName(except);
    while (this.takeSymbol('.')) name += `.${this.expectName()}`;
    return name;
  }

  /** True when nothing of this statement is left. */
  isAtEnd(): boolean {
    return this.current.kind === 'end' || this.isSymbol(';');
  }

  /** True when nothing of this statement, or of what is in these parentheses, is left. */
  isAtClose(): boolean {
    return this.isAtEnd() || this.isSymbol(')');
  }

  /** Passes over everything up to the end of the statement, whatever it is. */
  skipToEnd(): void {
    while (!this.isAtEnd()) this.advance();
  }

  /** Passes over everything up to the end of what is in these parentheses. */
  skipToClose(): void {
    while (!this.isAtClose()) {
      if (this.isSymbol('(') || this.isSymbol('[')) this.skipBrackets();
      else this.advance();
    }
  }

  /** Passes over a bracket and all up to the one that closes it. */
  skipBrackets(): void {
    const open: string[] = [];
    do {
      if (this.current.kind === 'end') throw this.expected(open.at(-1) ?? ')');
      const { kind, text } = this.advance();
      if (kind !== 'symbol') continue;
      if (text === '(' || text === '[') open.push(text === '(' ? ')' : ']');
      else if (text === open.at(-1)) open.pop();
      if (open.length + this.#nesting > limits.sqlParenthesesMax) throw tooDeep();
    } while (open.length > 0);
  }

  /** How far ahead the token is that follows the parentheses which open `distance` ahead. */
  distanceBehind(distance: number): number {
    this.#closings ??= closingsOf(this.#tokens);
    const last = this.#tokens.length - 1;
    return (this.#closings.get(this.#at + distance) ?? last) + 1 - this.#at;
  }

  /** Runs `parse` one level deeper and refuses to go deeper than the limit. */
  nested<T>(parse: () => T): T {
    this.#nesting++;
    if (this.#nesting > limits.sqlParenthesesMax) throw tooDeep();
    const result = parse();
    this.#nesting--;
    assert(this.#nesting >= 0, 'nesting is left as often as it is entered');
    return result;
  }

  /** To be given to `textSince`. */
  mark(): number {
    return this.#at;
  }

  /** The tokens passed since `mark`. */
  spanSince(mark: number): Span {
    return { from: mark, to: this.#at };
  }

  /** The same in the form in which errors show a part of a statement. */
  textSince(mark: number): string {
    return this.source.text(this.spanSince(mark));
  }

  /** The error for a current token that is not `what`. */
  expected(what: string): SqlFailure {
    const token = this.current;
    const { start } = token;
    if (token.kind === 'end') {
      const place = placeOf(this.#sql, start);
      return invalid(`sql parser error: Expected ${what}, found: EOF`, { place });
    }
    return syntaxError(`Expected ${what}, found: ${renderTokens([token])}`, this.#sql, start);
  }
}

function closingsOf(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind !== 'symbol') continue;
    if (text === '(') open.push(at);
    const opened = text === ')' ? open.pop() : undefined;
    if (opened !== undefined) closings.set(opened, at);
  }
  return closings;
}

function tooDeep(): SqlFailure {
  return invalid('sql parser error: recursion limit exceeded');
}

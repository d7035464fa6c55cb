import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import type { Span } from './ast.ts';
import { lex } from './lex.ts';
import { renderTokens } from './render.ts';
import { positionOf, SourceText, syntaxError } from './source-text.ts';
import type { Token } from './token.ts';

/** A statement's tokens and the parser's position in them. */
export class TokenReader {
  readonly #sql: string;
  readonly #tokens: readonly Token[];
  readonly source: SourceText;
  /** INSERT has RETURNING, which elsewhere is an ordinary name: `FROM t returning`. */
  isReturningKept = false;
  /** Spans of calls that were refused for a form of their arguments, or of OVER. */
  readonly refusedCalls = new WeakSet<Span>();
  /** Which parenthesis closes which, by position; made on first use. */
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

  /** Reads a name, quoted or not; an unquoted one must not be in `except`. */
  expectName(except?: ReadonlySet<string>): string {
    const { kind, keyword, text } = this.current;
    const isName = kind === 'quotedWord' || (kind === 'word' && !except?.has(keyword));
    if (!isName) throw this.expected('identifier');
    this.#at++;
    return text;
  }

  /** Reads names joined by dots, which form one name of the catalog. */
  expectDottedName(except?: ReadonlySet<string>): string {
    let name = this.expectName(except);
    while (this.takeSymbol('.')) name += `.${this.expectName()}`;
    return name;
  }

  /** True at the end of this statement. */
  isAtEnd(): boolean {
    return this.current.kind === 'end' || this.isSymbol(';');
  }

  /** True at the end of this statement, or of the parentheses around it. */
  isAtClose(): boolean {
    return this.isAtEnd() || this.isSymbol(')');
  }

  /** Skips to the end of the statement. */
  skipToEnd(): void {
    while (!this.isAtEnd()) this.advance();
  }

  /** Skips to the end of the contents of these parentheses. */
  skipToClose(): void {
    while (!this.isAtClose()) {
      if (this.isSymbol('(') || this.isSymbol('[')) this.skipBrackets();
      else this.advance();
    }
  }

  /** Skips a bracket and everything up to the one that closes it. */
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

  /** The distance to the token after the parentheses that open `distance` tokens ahead. */
  distanceBehind(distance: number): number {
    this.#closings ??= closingsOf(this.#tokens);
    const last = this.#tokens.length - 1;
    return (this.#closings.get(this.#at + distance) ?? last) + 1 - this.#at;
  }

  /** Runs `parse` one level deeper; refuses to go deeper than the limit. */
  nested<T>(parse: () => T): T {
    this.#nesting++;
    if (this.#nesting > limits.sqlParenthesesMax) throw tooDeep();
    const result = parse();
    this.#nesting--;
    assert(this.#nesting >= 0, 'nesting is left as often as it is entered');
    return result;
  }

  /** Returns a position to pass to `textSince`. */
  mark(): number {
    return this.#at;
  }

  /** The tokens passed since `mark`. */
  spanSince(mark: number): Span {
    return { from: mark, to: this.#at };
  }

  /** The tokens passed since `mark`, as errors show a part of a statement. */
  textSince(mark: number): string {
    return this.source.text(this.spanSince(mark));
  }

  /** The error for a current token other than `what`. */
  expected(what: string): SqlFailure {
    const token = this.current;
    const { start } = token;
    if (token.kind === 'end') {
      const place = positionOf(this.#sql, start);
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

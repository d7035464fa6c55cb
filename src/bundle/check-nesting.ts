import { limits } from '../limits.ts';
import { ProgramError } from '../module/runner.ts';

/**
 * Rejects a program whose brackets nest deeper than `limits.programNestingMax` before a recursive
 * parser sees it. Throws `ProgramError` with line and column of the bracket.
 *
 * One pass tells code from strings, templates, comments and regular expressions. It is not a
 * parser: after `}`, `++` and `--` it guesses whether a regular expression follows. So a closing
 * bracket also closes everything left open inside its pair: the effect of a wrong guess ends with
 * the block. A program crafted to mislead it reaches the parser, which has limits on memory and
 * time.
 */
export function checkNesting(text: string): void {
  new Scan(text).run();
}

const openParenthesis = 0x28;
const closeParenthesis = 0x29;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x27;
const doubleQuote = 0x22;
const backtick = 0x60;
const slash = 0x2f;
const backslash = 0x5c;
const star = 0x2a;
const dollar = 0x24;
const dot = 0x2e;
const plus = 0x2b;
const minus = 0x2d;
const newline = 0x0a;

/** Kinds of open brackets. The head of an `if` has its own: a regular expression may follow it. */
const inHead = 1;
const inParenthesis = 2;
const inBracket = 3;
const inBrace = 4;
const inTemplate = 5;

class Scan {
  readonly #text: string;
  readonly #open = new Uint8Array(limits.programNestingMax);
  /** How many of each kind are open: a closing bracket without a match costs no search. */
  readonly #counts = new Int32Array(inTemplate + 1);
  #depth = 0;
  #at = 0;
  /** True where a `/` begins a regular expression. */
  #mayBePattern = true;
  /** No `/` before this offset does: the last one that was tried has no end on its line. */
  #noPatternUntil = 0;
  /** The last word, or '' if a punctuator followed it. */
  #word = '';

  constructor(text: string) {
    this.#text = text;
  }

  run(): void {
    const text = this.#text;
    while (this.#at < text.length) {
      const code = text.charCodeAt(this.#at);
      if (isSpace(code)) this.#at += 1;
      else if (isWordPart(code)) this.#passWord();
      else if (code === quote || code === doubleQuote) this.#passString(code);
      else if (code === slash) this.#passSlash();
      else if (code === backtick) this.#passTemplate();
      else this.#passPunctuator(code);
    }
  }

  #passWord(): void {
    const text = this.#text;
    const start = this.#at;
    while (this.#at < text.length && isWordPart(text.charCodeAt(this.#at))) this.#at += 1;
    const isMember = text.charCodeAt(start - 1) === dot && text.charCodeAt(start - 2) !== dot;
    const isKeyword = this.#at - start <= longestKeyword && !isMember;
    this.#word = isKeyword ? text.slice(start, this.#at) : 'x';
    this.#mayBePattern = beforePattern.has(this.#word);
  }

  /** Passes a string: up to its quote or, if it has none, to the end of its line. */
  #passString(mark: number): void {
    const text = this.#text;
    this.#mayBePattern = false;
    for (this.#at += 1; this.#at < text.length; this.#at += 1) {
      const code = text.charCodeAt(this.#at);
      if (code === backslash) this.#at += 1;
      else if (code === mark || code === newline) break;
    }
    this.#at += 1;
  }

  /** Passes a comment, a regular expression or a division. */
  #passSlash(): void {
    const text = this.#text;
    const next = text.charCodeAt(this.#at + 1);
    if (next === slash || next === star) {
      const end = text.indexOf(next === slash ? '\n' : '*/', this.#at + 2);
      this.#at = end < 0 ? text.length : end + (next === slash ? 1 : 2);
      return;
    }
    if (!this.#mayBePattern || this.#at < this.#noPatternUntil || !this.#passPattern()) {
      this.#mayBePattern = true;
      this.#at += 1;
    }
  }

  /** Returns false if no regular expression ends on this line: it was a division. */
  #passPattern(): boolean {
    const text = this.#text;
    let isClass = false;
    let at = this.#at + 1;
    for (; at < text.length && text.charCodeAt(at) !== newline; at += 1) {
      const code = text.charCodeAt(at);
      if (code === backslash) at += 1;
      else if (code === openBracket) isClass = true;
      else if (code === closeBracket) isClass = false;
      else if (code === slash && !isClass) {
        this.#at = at + 1;
        this.#mayBePattern = false;
        return true;
      }
    }
    this.#noPatternUntil = at;
    return false;
  }

  /** Moves past the template's last backtick, or the `${` that opens code in it. */
  #passTemplate(): void {
    const text = this.#text;
    this.#mayBePattern = false;
    for (this.#at += 1; this.#at < text.length; this.#at += 1) {
      const code = text.charCodeAt(this.#at);
      if (code === backtick) break;
      if (code === backslash) this.#at += 1;
      else if (code === dollar && text.charCodeAt(this.#at + 1) === openBrace) {
        this.#push(inTemplate);
        this.#mayBePattern = true;
        this.#at += 1;
        break;
      }
    }
    this.#at += 1;
  }

  #passPunctuator(code: number): void {
    const word = this.#word;
    this.#word = '';
    switch (code) {
      case openParenthesis:
        this.#push(heads.has(word) ? inHead : inParenthesis);
        this.#mayBePattern = true;
        break;
      case openBracket:
      case openBrace:
        this.#push(code === openBracket ? inBracket : inBrace);
        this.#mayBePattern = true;
        break;
      case closeParenthesis:
        this.#mayBePattern = this.#close(inParenthesis, inHead) === inHead;
        break;
      case closeBracket:
        this.#close(inBracket, inBracket);
        this.#mayBePattern = false;
        break;
      case closeBrace:
        if (this.#close(inBrace, inTemplate) === inTemplate) {
          this.#passTemplate();
          return;
        }
        this.#mayBePattern = true;
        break;
      default:
        this.#mayBePattern = code !== dot && !this.#isStep(code);
    }
    this.#at += 1;
  }

  /** The second sign of `a++`, which a division follows. */
  #isStep(code: number): boolean {
    return (code === plus || code === minus) && this.#text.charCodeAt(this.#at - 1) === code;
  }

  #push(kind: number): void {
    if (this.#depth === limits.programNestingMax) throw tooDeep(this.#text, this.#at);
    this.#open[this.#depth] = kind;
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    this.#depth += 1;
  }

  /** Closes down to the innermost of either kind and returns its kind; 0 if none is open. */
  #close(kind: number, other: number): number {
    if (this.#counts[kind] === 0 && this.#counts[other] === 0) return 0;
    for (;;) {
      const top = this.#open[this.#depth - 1] ?? 0;
      // Code inside a template ends only with its brace.
      if (top === inTemplate && other !== inTemplate) return 0;
      this.#counts[top] = (this.#counts[top] ?? 0) - 1;
      this.#depth -= 1;
      if (top === kind || top === other) return top;
    }
  }
}

function isSpace(code: number): boolean {
  return code <= 0x20 || code === 0xa0 || code === 0x2028 || code === 0x2029 || code === 0xfeff;
}

/** Letters, digits, `_` and `$`; all that is not ASCII counts as a letter. */
function isWordPart(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x5f ||
    code === dollar ||
    code >= 0x80
  );
}

const heads: ReadonlySet<string> = new Set(['if', 'while', 'for', 'with']);
const beforePattern: ReadonlySet<string> = new Set([
  ...['return', 'typeof', 'case', 'in', 'of', 'do', 'else', 'void', 'delete', 'new'],
  ...['instanceof', 'throw', 'yield', 'await', 'default', 'extends'],
]);
const longestKeyword = 10;

function tooDeep(text: string, at: number): ProgramError {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  const place = `module.js:${line}:${at - start + 1}`;
  const words = `more than ${limits.programNestingMax} brackets are nested here`;
  return new ProgramError(`${place}: ${words}; split the expression, or build the value in steps`);
}

/**
 * A JSON parser that loses nothing: numbers keep their digits, objects keep the order of their keys
 * and their duplicates. Strict RFC 8259, at most `limits.nestingDepthMax` levels deep.
 */
import { limits } from '../limits.ts';
import { JsonError } from './json-error.ts';
import { utf8Length } from './utf8.ts';

/**
 * What a JSON text may be; told apart by `typeof`, `Array.isArray` and `instanceof`.
 *
 * @example
 * ```ts
 * const json: JsonValue = parseJson('[1, null]');
 * Array.isArray(json); // true
 * ```
 */
export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | JsonObject;

/**
 * A number as it was written: 64-bit integers and longer ones do not fit a JavaScript number.
 *
 * @example
 * ```ts
 * parseJson('12345678901234567890'); // new JsonNumber('12345678901234567890')
 * ```
 */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** True if written without fraction and exponent. */
  get isInteger(): boolean {
    return !/[.eE]/.test(this.text);
  }
}

/**
 * An object as it was written, duplicates included.
 *
 * @example
 * ```ts
 * (parseJson('{"a":"b"}') as JsonObject).get('a'); // 'b'
 * ```
 */
export class JsonObject {
  readonly entries: readonly (readonly [key: string, value: JsonValue])[];

  constructor(entries: readonly (readonly [string, JsonValue])[]) {
    this.entries = entries;
  }

  /** The value of `key`, the last one if it stands there more than once. */
  get(key: string): JsonValue | undefined {
    return this.entries.findLast((entry) => entry[0] === key)?.[1];
  }
}

/** A member of what may be an object. */
export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(name) : undefined;
}

/**
 * Parses one JSON text. Throws `JsonError`, whose message ends with the line and column.
 *
 * @example
 * ```ts
 * parseJson('["a", null]'); // ['a', null]
 * ```
 */
export function parseJson(text: string): JsonValue {
  const parser = new JsonParser(text);
  const value = parser.value(0);
  parser.end();
  if (typeof value === 'object' && value !== null) sourceTexts.set(value, text);
  return value;
}

/**
 * Where the value at `path` (positions within the containers, outermost first) stands in the text
 * that
 * `root` was parsed from: ` at line 1 column 4`, or nothing when `root` is not a parser's result.
 */
export function positionText(
  root: JsonValue,
  path: readonly number[],
  edge: 'start' | 'end',
): string {
  const text = typeof root === 'object' && root !== null ? sourceTexts.get(root) : undefined;
  if (text === undefined) return '';
  const parser = new JsonParser(text);
  for (const position of path) parser.enter(position);
  if (edge === 'end') parser.value(0);
  else parser.advance();
  return parser.position();
}

/** Texts of parsed roots, for the positions in error messages. */
const sourceTexts = new WeakMap<object, string>();

class JsonParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonValue {
    this.#blank();
    const start = this.#text[this.#at];
    switch (start) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      case undefined:
        throw this.#error('EOF while parsing a value', 0);
      default:
        return this.#number();
    }
  }

  /** Asserts that only blanks are left. */
  end(): void {
    this.#blank();
    if (this.#at < this.#text.length) throw this.#error('trailing characters');
  }

  /** Steps into the container ahead, before its value number `position`. */
  enter(position: number): void {
    this.#blank();
    const isObject = this.#text[this.#at] === '{';
    this.#at += 1;
    for (let left = position; ; left -= 1) {
      this.#blank();
      if (isObject) this.#key();
      if (left === 0) return;
      this.value(0);
      this.#blank();
      this.#at += 1;
    }
  }

  /** Steps over blanks and one character. */
  advance(): void {
    this.#blank();
    this.#at += 1;
  }

  /** The current position, as error messages end. Columns count UTF-8 bytes from 1. */
  position(at = this.#at): string {
    const before = this.#text.slice(0, at);
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = before.split('\n').length;
    return ` at line ${line} column ${utf8Length(before.slice(lineStart))}`;
  }

  #object(depth: number): JsonObject {
    if (depth >= limits.nestingDepthMax) throw this.#error('recursion limit exceeded');
    const entries: [string, JsonValue][] = [];
    this.#at += 1;
    this.#blank();
    if (this.#text[this.#at] === '}') {
      this.#at += 1;
      return new JsonObject(entries);
    }
    for (;;) {
      this.#blank();
      const key = this.#key();
      entries.push([key, this.value(depth + 1)]);
      if (this.#closes('}', 'an object')) return new JsonObject(entries);
    }
  }

  #array(depth: number): JsonValue[] {
    if (depth >= limits.nestingDepthMax) throw this.#error('recursion limit exceeded');
    const items: JsonValue[] = [];
    this.#at += 1;
    this.#blank();
    if (this.#text[this.#at] === ']') {
      this.#at += 1;
      return items;
    }
    for (;;) {
      items.push(this.value(depth + 1));
      if (this.#closes(']', 'a list')) return items;
    }
  }

  /** After an item: true at `bracket`, false at a comma that another item follows. */
  #closes(bracket: ']' | '}', container: string): boolean {
    this.#blank();
    const next = this.#text[this.#at];
    if (next === undefined) throw this.#error(`EOF while parsing ${container}`, 0);
    if (next === bracket) {
      this.#at += 1;
      return true;
    }
    if (next !== ',') throw this.#error(`expected \`,\` or \`${bracket}\``);
    this.#at += 1;
    this.#blank();
    if (this.#text[this.#at] === bracket) throw this.#error('trailing comma');
    return false;
  }

  #key(): string {
    const start = this.#text[this.#at];
    if (start === undefined) throw this.#error('EOF while parsing an object', 0);
    if (start !== '"') throw this.#error('key must be a string');
    const key = this.#string();
    this.#blank();
    if (this.#text[this.#at] !== ':') throw this.#error('expected `:`');
    this.#at += 1;
    return key;
  }

  #word<Word extends null | boolean>(word: string, value: Word): Word {
    if (!this.#text.startsWith(word, this.#at)) throw this.#error('expected ident');
    this.#at += word.length;
    return value;
  }

  #number(): JsonNumber {
    numberPattern.lastIndex = this.#at;
    const [digits] = numberPattern.exec(this.#text) ?? [];
    if (digits === undefined) throw this.#error('expected value');
    this.#at += digits.length;
    const next = this.#text[this.#at];
    // `01`, `1.` and `1e` are not numbers with something behind them.
    if (next !== undefined && /[0-9.eE+-]/.test(next)) throw this.#error('invalid number');
    return new JsonNumber(digits);
  }

  #string(): string {
    const start = this.#at + 1;
    plainPattern.lastIndex = start;
    plainPattern.test(this.#text);
    let at = plainPattern.lastIndex;
    let value = this.#text.slice(start, at);
    while (this.#text[at] !== '"') {
      this.#at = at;
      const next = this.#text[at];
      if (next === undefined) throw this.#error('EOF while parsing a string', 0);
      if (next !== '\\') {
        throw this.#error('control character (\\u0000-\\u001F) found while parsing a string');
      }
      value += this.#escape();
      plainPattern.lastIndex = this.#at;
      plainPattern.test(this.#text);
      at = plainPattern.lastIndex;
      value += this.#text.slice(this.#at, at);
    }
    this.#at = at + 1;
    return value;
  }

  #escape(): string {
    const letter = this.#text[this.#at + 1] ?? '';
    if (letter === 'u') {
      const unit = this.#unit();
      if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
      if (unit > 0xdbff) throw this.#error('lone trailing surrogate in hex escape');
      const low = this.#text.startsWith('\\u', this.#at) ? this.#unit() : 0;
      if (low < 0xdc00 || low > 0xdfff) {
        throw this.#error('lone leading surrogate in hex escape');
      }
      return String.fromCharCode(unit, low);
    }
    const plain = escapes[letter];
    if (plain === undefined) throw this.#error('invalid escape');
    this.#at += 2;
    return plain;
  }

  /** Reads `\uXXXX`. */
  #unit(): number {
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#error('invalid escape');
    this.#at += 6;
    return Number.parseInt(digits, 16);
  }

  #blank(): void {
    for (; ; this.#at += 1) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
    }
  }

  /** `ahead`: 1 when the character ahead is the offending one, 0 when nothing is ahead. */
  #error(message: string, ahead = 1): JsonError {
    return new JsonError(message + this.position(this.#at + ahead));
  }
}

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** Everything in a string that stands for itself. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these.
const plainPattern = /[^"\\\u0000-\u001f]*/y;

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

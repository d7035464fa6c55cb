/**
 * A JSON parser that loses nothing: numbers keep their digits, objects keep the order of their keys
 * and their duplicates. Strict RFC 8259, at most `limits.nestingDepthMax` levels deep.
 */
import { limits } from '../limits.ts';
import { JsonError } from './json-error.ts';
import { placeIn, placeText } from './json-place.ts';

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
  while (!parser.run(Number.POSITIVE_INFINITY));
  return parser.end();
}

/** `parseJson` in steps of less than a millisecond; ends with the value. */
export function* parseJsonSteps(text: string): Generator<undefined, JsonValue> {
  const parser = new JsonParser(text);
  while (!parser.run(tokensPerStep)) yield;
  return parser.end();
}

const tokensPerStep = 1_024;

/** True for a list or an object that takes long to walk; only of texts that are long themselves. */
export function isHeavy(json: JsonValue): boolean {
  return typeof json === 'object' && json !== null && heavy.has(json);
}

const heavy = new WeakSet<object>();
/** Values within a container from which on it is heavy, and the length of texts that have any. */
const heavyTokensMin = 512;
const heavyTextMin = 16_384;

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
  return placeIn(text, path, edge);
}

/** Texts of parsed roots, for the positions in error messages. */
const sourceTexts = new WeakMap<object, string>();

/** Values with a container around them go on a stack; its end takes them off again. */
class JsonParser {
  readonly #text: string;
  #at = 0;
  /** Values of the open containers, outermost first; those of objects with their keys. */
  readonly #values: (JsonValue | [string, JsonValue])[] = [];
  /** Of each open container: where its values begin, and whether it is an object. */
  readonly #starts: number[] = [];
  readonly #areObjects: boolean[] = [];
  /** How many values had been read when it was opened. */
  readonly #tokensBefore: number[] = [];
  #tokens = 0;
  /** Keys whose value is being read, outermost first. */
  readonly #keys: string[] = [];
  #isKeyNext = false;
  /** What has been read of a string that goes on at `#at`. */
  #openString: string | undefined;
  #root: JsonValue | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads about so many values more; true when the outermost one is complete. */
  run(tokensMax: number): boolean {
    const isPatient = tokensMax === Number.POSITIVE_INFINITY;
    for (let left = tokensMax; left > 0; left -= 1) {
      let value = this.#openString === undefined ? this.#begin() : unfinished;
      if (this.#openString !== undefined) {
        value = this.#string(isPatient);
        if (value === unfinished) return false;
      }
      if (value === unfinished) continue;
      if (this.#isKeyNext) {
        this.#keyEnds(value as string);
        continue;
      }
      this.#tokens += 1;
      if (this.#place(value)) return true;
    }
    return false;
  }

  /** Asserts that only blanks are left, and gives the value. */
  end(): JsonValue {
    this.#blank();
    if (this.#at < this.#text.length) throw this.#error('trailing characters');
    const root = this.#root as JsonValue;
    if (typeof root === 'object' && root !== null) sourceTexts.set(root, this.#text);
    return root;
  }

  /** The scalar or empty container ahead; `unfinished` for what has only been opened. */
  #begin(): JsonValue | typeof unfinished {
    this.#blank();
    const unit = this.#text.charCodeAt(this.#at);
    if (this.#isKeyNext) {
      if (Number.isNaN(unit)) throw this.#error('EOF while parsing an object', 0);
      if (unit !== units.quote) throw this.#error('key must be a string');
    }
    switch (unit) {
      case units.brace:
        return this.#open(true, units.braceEnd);
      case units.bracket:
        return this.#open(false, units.bracketEnd);
      case units.quote:
        this.#at += 1;
        this.#openString = '';
        return unfinished;
      case units.t:
        return this.#word('true', true);
      case units.f:
        return this.#word('false', false);
      case units.n:
        return this.#word('null', null);
      default:
        if (Number.isNaN(unit)) throw this.#error('EOF while parsing a value', 0);
        return this.#number();
    }
  }

  #open(isObject: boolean, end: number): JsonValue | typeof unfinished {
    if (this.#starts.length >= limits.nestingDepthMax) {
      throw this.#error('recursion limit exceeded');
    }
    this.#at += 1;
    this.#blank();
    if (this.#text.charCodeAt(this.#at) === end) {
      this.#at += 1;
      return isObject ? new JsonObject([]) : [];
    }
    this.#starts.push(this.#values.length);
    this.#areObjects.push(isObject);
    this.#tokensBefore.push(this.#tokens);
    this.#isKeyNext = isObject;
    return unfinished;
  }

  #keyEnds(key: string): void {
    this.#blank();
    if (this.#text.charCodeAt(this.#at) !== units.colon) throw this.#error('expected `:`');
    this.#at += 1;
    this.#keys.push(key);
    this.#isKeyNext = false;
  }

  /** Gives a value to its container, and each container that ends with it to its own. */
  #place(value: JsonValue): boolean {
    for (let placed = value; ; placed = this.#close()) {
      const isObject = this.#areObjects.at(-1);
      if (isObject === undefined) {
        this.#root = placed;
        return true;
      }
      this.#values.push(isObject ? [this.#keys.pop() as string, placed] : placed);
      if (!this.#closes(isObject)) {
        this.#isKeyNext = isObject;
        return false;
      }
    }
  }

  #close(): JsonValue {
    const start = this.#starts.pop() as number;
    const values = this.#values.slice(start);
    this.#values.length = start;
    const isObject = this.#areObjects.pop();
    const container = isObject
      ? new JsonObject(values as [string, JsonValue][])
      : (values as JsonValue[]);
    const tokens = this.#tokens - (this.#tokensBefore.pop() as number);
    if (tokens >= heavyTokensMin && this.#text.length > heavyTextMin) heavy.add(container);
    return container;
  }

  /** After an item: true at its container's end, false at a comma that another item follows. */
  #closes(isObject: boolean): boolean {
    this.#blank();
    const next = this.#text.charCodeAt(this.#at);
    const end = isObject ? units.braceEnd : units.bracketEnd;
    if (next === end) {
      this.#at += 1;
      return true;
    }
    if (next !== units.comma) throw this.#unclosed(isObject, next);
    this.#at += 1;
    this.#blank();
    if (this.#text.charCodeAt(this.#at) === end) throw this.#error('trailing comma');
    return false;
  }

  #unclosed(isObject: boolean, next: number): JsonError {
    if (Number.isNaN(next)) {
      return this.#error(`EOF while parsing ${isObject ? 'an object' : 'a list'}`, 0);
    }
    return this.#error(`expected \`,\` or \`${isObject ? '}' : ']'}\``);
  }

  #word<Word extends null | boolean>(word: string, value: Word): Word {
    if (!this.#text.startsWith(word, this.#at)) throw this.#error('expected ident');
    this.#at += word.length;
    return value;
  }

  #number(): JsonNumber {
    numberPattern.lastIndex = this.#at;
    if (!numberPattern.test(this.#text)) throw this.#error('expected value');
    const start = this.#at;
    this.#at = numberPattern.lastIndex;
    // `01`, `1.` and `1e` are not numbers with something behind them.
    if (isOfNumber(this.#text.charCodeAt(this.#at))) throw this.#error('invalid number');
    const digits = this.#text.slice(start, this.#at);
    // What stands by itself is known by its text: see `sourceTexts`.
    if (digits.length > 2 || this.#starts.length === 0) return new JsonNumber(digits);
    const known = shortNumbers.get(digits);
    if (known !== undefined) return known;
    const number = new JsonNumber(digits);
    shortNumbers.set(digits, number);
    return number;
  }

  /** Reads on in the open string: to its end, or, without patience, about 32 KiB of it. */
  #string(isPatient: boolean): string | typeof unfinished {
    const text = this.#text;
    let value = this.#openString ?? '';
    const until = isPatient ? Number.POSITIVE_INFINITY : this.#at + stringStepUnits;
    for (;;) {
      plainPattern.lastIndex = this.#at;
      plainPattern.test(text);
      const end = plainPattern.lastIndex;
      value = value === '' ? text.slice(this.#at, end) : value + text.slice(this.#at, end);
      this.#at = end;
      const next = text.charCodeAt(end);
      if (next === units.quote) break;
      if (Number.isNaN(next)) throw this.#error('EOF while parsing a string', 0);
      if (next !== units.backslash) {
        throw this.#error('control character (\\u0000-\\u001F) found while parsing a string');
      }
      value += this.#escape();
      if (this.#at < until) continue;
      this.#openString = value;
      return unfinished;
    }
    this.#at += 1;
    this.#openString = undefined;
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
    return new JsonError(message + placeText(this.#text, this.#at + ahead));
  }
}

/** What `#begin` and `#string` give when there is no value yet. */
const unfinished = Symbol('unfinished');
const stringStepUnits = 32_768;

const units = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  bracket: 0x5b,
  backslash: 0x5c,
  bracketEnd: 0x5d,
  f: 0x66,
  n: 0x6e,
  t: 0x74,
  brace: 0x7b,
  braceEnd: 0x7d,
} as const;

/** Numbers of one or two characters, of which a text may have a million; at most 110. */
const shortNumbers = new Map<string, JsonNumber>();

/** True for what may stand within a number: digits, `.`, `e`, `E`, `+` and `-`. */
function isOfNumber(unit: number): boolean {
  if (unit >= 0x30 && unit <= 0x39) return true;
  return unit === 0x2e || unit === 0x65 || unit === 0x45 || unit === 0x2b || unit === 0x2d;
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

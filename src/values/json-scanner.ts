/** The tokens of a JSON text, one after another: numbers, strings, `true`; strict RFC 8259. */
import { JsonError } from './json-error.ts';
import { placeText } from './json-place.ts';

/** A parser's position in a text. Reading moves past what was read; faults throw `JsonError`. */
export class JsonScanner {
  readonly text: string;
  at = 0;
  /** The parts read so far of a string that continues at `at`. */
  #parts: string[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** The unit after any blanks, which are skipped; NaN at the end of the text. */
  unit(): number {
    const { text } = this;
    for (; ; this.at += 1) {
      const unit = text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return unit;
    }
  }

  /** Skips `unit` if it is next; returns whether it was. */
  skips(unit: number): boolean {
    if (this.unit() !== unit) return false;
    this.at += 1;
    return true;
  }

  /** Asserts that only blanks are left. */
  end(): void {
    if (!Number.isNaN(this.unit())) throw this.error('trailing characters');
  }

  word<Word extends null | boolean>(word: string, value: Word): Word {
    if (!this.text.startsWith(word, this.at)) throw this.error('expected ident');
    this.at += word.length;
    return value;
  }

  /** Reads the characters of a number. */
  number(): string {
    const { text, at: start } = this;
    const first = text.charCodeAt(start);
    let at = start + 1;
    if (first >= 0x31 && first <= 0x39) {
      while (at < start + fewUnits && isDigit(text.charCodeAt(at))) at += 1;
    }
    if (!isDigit(first) || isOfNumber(text.charCodeAt(at))) {
      if (Number.isNaN(first)) throw this.error('EOF while parsing a value', 0);
      numberPattern.lastIndex = start;
      if (!numberPattern.test(text)) throw this.error('expected value');
      at = numberPattern.lastIndex;
    }
    this.at = at;
    // `01`, `1.` and `1e` are rejected whole, not read as a number followed by something else.
    if (isOfNumber(text.charCodeAt(at))) throw this.error('invalid number');
    return text.slice(start, at);
  }

  /** Asserts that a key is next. */
  expectKey(): void {
    const unit = this.unit();
    if (Number.isNaN(unit)) throw this.error('EOF while parsing an object', 0);
    if (unit !== quote) throw this.error('key must be a string');
  }

  expectColon(): void {
    if (!this.skips(0x3a)) throw this.error('expected `:`');
  }

  /** Reads the string whose opening quote is next. */
  string(): string {
    for (;;) {
      const value = this.stringStep(Number.POSITIVE_INFINITY);
      if (value !== undefined) return value;
    }
  }

  /**
   * Like `string`, but reads about `unitsMax` units of one with escapes, and returns `undefined`
   * until the last ones.
   */
  stringStep(unitsMax: number): string | undefined {
    const { text } = this;
    if (this.#parts === undefined) {
      const start = this.at + 1;
      plainPattern.lastIndex = start;
      plainPattern.test(text);
      const end = plainPattern.lastIndex;
      this.at = start;
      if (text.charCodeAt(end) === quote) {
        this.at = end + 1;
        return text.slice(start, end);
      }
      const begin = this.#slow(end + fewUnits);
      if (text.charCodeAt(this.at) === quote) {
        this.at += 1;
        return begin;
      }
      this.#parts = [begin];
    }
    const until = this.at + unitsMax;
    this.#parts.push(this.#native(until) ?? this.#slow(until));
    if (text.charCodeAt(this.at) !== quote) return undefined;
    this.at += 1;
    const value = this.#parts.join('');
    this.#parts = undefined;
    return value;
  }

  /**
   * The content of the open string up to `until`, read by `JSON.parse`, which takes a tenth of the
   * time; `undefined` where it accepts more than this parser, or its error messages differ.
   */
  #native(until: number): string | undefined {
    const { text } = this;
    let at = this.at;
    for (; at < until; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === quote) break;
      if (Number.isNaN(unit)) return undefined;
      if (unit === backslash) at += text.charCodeAt(at + 1) === 0x75 ? 5 : 1;
    }
    const written = text.slice(this.at, at);
    if (surrogatePattern.test(written)) return undefined;
    try {
      const value = JSON.parse(`"${written}"`) as string;
      this.at = at;
      return value;
    } catch {
      return undefined;
    }
  }

  #slow(until: number): string {
    const { text } = this;
    let value = '';
    while (this.at < until) {
      plainPattern.lastIndex = this.at;
      plainPattern.test(text);
      const end = plainPattern.lastIndex;
      value += text.slice(this.at, end);
      this.at = end;
      const next = text.charCodeAt(end);
      if (next === quote) break;
      if (Number.isNaN(next)) throw this.error('EOF while parsing a string', 0);
      if (next !== backslash) {
        throw this.error('control character (\\u0000-\\u001F) found while parsing a string');
      }
      value += this.#escape();
    }
    return value;
  }

  #escape(): string {
    const letter = this.text[this.at + 1] ?? '';
    if (letter === 'u') {
      const unit = this.#unit();
      if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
      if (unit > 0xdbff) throw this.error('lone trailing surrogate in hex escape');
      const low = this.text.startsWith('\\u', this.at) ? this.#unit() : 0;
      if (low < 0xdc00 || low > 0xdfff) throw this.error('lone leading surrogate in hex escape');
      return String.fromCharCode(unit, low);
    }
    const plain = escapes[letter];
    if (plain === undefined) throw this.error('invalid escape');
    this.at += 2;
    return plain;
  }

  /** Reads `\u` and its four digits. */
  #unit(): number {
    const digits = this.text.slice(this.at + 2, this.at + 6);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.error('invalid escape');
    this.at += 6;
    return Number.parseInt(digits, 16);
  }

  /** After an item: true at its container's end, false at a comma followed by another item. */
  closes(isObject: boolean): boolean {
    const end = isObject ? 0x7d : 0x5d;
    const next = this.unit();
    if (next === end) {
      this.at += 1;
      return true;
    }
    if (Number.isNaN(next)) {
      throw this.error(`EOF while parsing ${isObject ? 'an object' : 'a list'}`, 0);
    }
    if (next !== 0x2c) throw this.error(`expected \`,\` or \`${isObject ? '}' : ']'}\``);
    this.at += 1;
    if (this.unit() === end) throw this.error('trailing comma');
    return false;
  }

  /** `ahead`: 1 if the next character is the offending one, 0 if there is none. */
  error(message: string, ahead = 1): JsonError {
    return new JsonError(message + placeText(this.text, this.at + ahead));
  }
}

/** Strings longer than about this are worth starting a native search. */
const fewUnits = 24;

const quote = 0x22;
const backslash = 0x5c;

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** True for characters that a number can contain: digits, `.`, `e`, `E`, `+` and `-`. */
function isOfNumber(unit: number): boolean {
  if (isDigit(unit)) return true;
  return unit === 0x2e || unit === 0x65 || unit === 0x45 || unit === 0x2b || unit === 0x2d;
}

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** The characters of a string that need no escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these.
const plainPattern = /[^"\\\u0000-\u001f]*/y;
/** Escapes that are, or may be, surrogates: `JSON.parse` accepts them unpaired. */
const surrogatePattern = /\\u[dD][89a-fA-F]/;

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

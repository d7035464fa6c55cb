/**
 * `parseJson` in steps, for texts of megabytes that other work must not wait for. Accepts and
 * rejects the same texts. Such a text can have a million values: repeated ones are kept once,
 * because the garbage collector, which does not work in steps, has to move what each step leaves
 * behind.
 */
import { JsonScanner } from './json-scanner.ts';
import { enter, JsonNumber, JsonObject, type JsonValue, readScalar, rootOf } from './json-text.ts';

/** Runs `parseJson` in steps of less than a millisecond; returns the value at the end. */
export function* parseJsonSteps(text: string): Generator<undefined, JsonValue> {
  const parser = new StepParser(text);
  while (!parser.step()) yield;
  return parser.end();
}

/** True for a list or an object that is slow to walk. Only long texts have any. */
export function isHeavy(json: JsonValue): boolean {
  if (typeof json !== 'object' || json === null || json instanceof JsonNumber) return false;
  return heavy.has(json);
}

const heavy = new WeakSet<object>();
/** Number of values from which a container is heavy, and length of texts that can have one. */
const heavyTokensMin = 512;
const heavyTextMin = 16_384;

const tokensPerStep = 1_024;
const stringStepUnits = 32_768;
const blanksPerStep = 32_768;

/** An open container; reused for the next one at the same depth. */
interface Open {
  isObject: boolean;
  /** Where its values begin on the stack. */
  start: number;
  /** How many values had been read when it was opened. */
  tokensBefore: number;
  /** The key of the value that is being read. */
  key: string;
}

/** Values inside a container go on a stack, with their keys; its end takes them off. */
class StepParser {
  readonly #scanner: JsonScanner;
  readonly #stack: JsonValue[] = [];
  /** Values on the stack; those above belong to containers that have ended. */
  #top = 0;
  /** By depth: those below `#depth` are open, and `#open` is the innermost of them. */
  readonly #opens: Open[] = [];
  #depth = 0;
  #open: Open | undefined;
  #tokens = 0;
  #isKeyNext = false;
  #isInString = false;
  #root: JsonValue | undefined;

  constructor(text: string) {
    this.#scanner = new JsonScanner(text);
  }

  /** Reads about a thousand more values; true when the outermost one is complete. */
  step(): boolean {
    const scanner = this.#scanner;
    for (let left = tokensPerStep; left > 0; left -= 1) {
      const before = scanner.at;
      const value = this.#isInString ? this.#string() : this.#begin();
      // Happens for long strings with escapes, and texts of blanks.
      if (this.#isInString) return false;
      if (scanner.at - before > blanksPerStep) left = 0;
      if (value === unfinished) continue;
      if (this.#isKeyNext) {
        scanner.expectColon();
        if (this.#open !== undefined) this.#open.key = value as string;
        this.#isKeyNext = false;
        continue;
      }
      this.#tokens += 1;
      if (this.#place(value)) return true;
    }
    return false;
  }

  end(): JsonValue {
    this.#scanner.end();
    return rootOf(this.#root as JsonValue, this.#scanner.text);
  }

  /** The next scalar or empty container; `unfinished` if a container was only opened. */
  #begin(): JsonValue | typeof unfinished {
    const scanner = this.#scanner;
    if (this.#isKeyNext) scanner.expectKey();
    switch (scanner.unit()) {
      case 0x7b:
        return this.#enter(true);
      case 0x5b:
        return this.#enter(false);
      case 0x22:
        return knownText(scanner) ?? this.#string();
      default:
        return knownDigit(scanner) ?? knownNumber(scanner) ?? readScalar(scanner);
    }
  }

  #string(): string | typeof unfinished {
    const value = this.#scanner.stringStep(stringStepUnits);
    this.#isInString = value === undefined;
    return value ?? unfinished;
  }

  #enter(isObject: boolean): JsonValue | typeof unfinished {
    const scanner = this.#scanner;
    enter(scanner, this.#depth);
    if (scanner.skips(isObject ? 0x7d : 0x5d)) return emptyOf(isObject, this.#depth);
    const start = this.#top;
    const tokensBefore = this.#tokens;
    const known = this.#opens[this.#depth];
    if (known === undefined) {
      this.#open = { isObject, start, tokensBefore, key: '' };
      this.#opens.push(this.#open);
    } else {
      known.isObject = isObject;
      known.start = start;
      known.tokensBefore = tokensBefore;
      this.#open = known;
    }
    this.#depth += 1;
    this.#isKeyNext = isObject;
    return unfinished;
  }

  /** Adds a value to its container, and each container that ends with it to its own. */
  #place(value: JsonValue): boolean {
    let placed = value;
    for (;;) {
      const open = this.#open;
      if (open === undefined) {
        this.#root = placed;
        return true;
      }
      if (open.isObject) this.#push(open.key);
      this.#push(placed);
      if (!this.#scanner.closes(open.isObject)) {
        this.#isKeyNext = open.isObject;
        return false;
      }
      placed = this.#close(open);
    }
  }

  #push(value: JsonValue): void {
    this.#stack[this.#top] = value;
    this.#top += 1;
  }

  #close({ start, isObject, tokensBefore }: Open): JsonValue {
    const only = this.#stack[start];
    const isOne = this.#top - start === 1 && only !== undefined;
    const values = isOne ? [only] : this.#stack.slice(start, this.#top);
    this.#top = start;
    this.#depth -= 1;
    this.#open = this.#depth === 0 ? undefined : this.#opens[this.#depth - 1];
    const container = isObject ? JsonObject.of(values) : values;
    const isLong = this.#scanner.text.length > heavyTextMin;
    if (isLong && this.#tokens - tokensBefore >= heavyTokensMin) heavy.add(container);
    return container;
  }
}

/** Returned by `#begin` when there is no value yet. */
const unfinished = Symbol('unfinished');
/** Shared by all texts, as no caller changes a parser's result; but each text has its own root. */
function emptyOf(isObject: boolean, depth: number): JsonValue {
  if (depth === 0) return isObject ? JsonObject.of([]) : [];
  return isObject ? emptyObject : emptyList;
}

const emptyObject = JsonObject.of([]);
const emptyList: JsonValue[] = [];

/** A number of one digit; a text can have a million of them. */
function knownDigit(scanner: JsonScanner): JsonNumber | undefined {
  const { text, at } = scanner;
  const next = text.charCodeAt(at + 1);
  // A comma, or the end of a list or an object.
  if (next !== 0x2c && next !== 0x5d && next !== 0x7d) return undefined;
  const number = digits[text.charCodeAt(at) - 0x30];
  if (number !== undefined) scanner.at += 1;
  return number;
}

const digits = Array.from({ length: 10 }, (_, digit) => new JsonNumber(String(digit)));

/** A short number; repeated ones are read only once. */
function knownNumber(scanner: JsonScanner): JsonNumber | undefined {
  const { text, at: start } = scanner;
  const first = text.charCodeAt(start);
  // A digit, or the sign before one.
  if (first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return undefined;
  let hash = 0;
  let end = start;
  for (const last = start + knownUnitsMax; ; end += 1) {
    const unit = text.charCodeAt(end);
    if (unit === 0x2c || unit === 0x5d || unit === 0x7d) break;
    if (end === last || !(unit > 0x20)) return undefined;
    hash = (hash * 31 + unit) & 0xff;
  }
  const known = knownNumbers[hash];
  if (known?.text.length === end - start && text.startsWith(known.text, start)) {
    scanner.at = end;
    return known;
  }
  const value = new JsonNumber(scanner.number());
  knownNumbers[hash] = value;
  return value;
}

/** A short string that occurred before, without a copy. */
function knownText(scanner: JsonScanner): string | undefined {
  const { text, at } = scanner;
  const start = at + 1;
  let hash = 0;
  let end = start;
  for (const last = start + knownUnitsMax; ; end += 1) {
    const unit = text.charCodeAt(end);
    if (unit === 0x22) break;
    if (end === last || !(unit >= 0x20) || unit === 0x5c) return undefined;
    hash = (hash * 31 + unit) & 0xff;
  }
  scanner.at = end + 1;
  const known = knownTexts[hash];
  if (known?.length === end - start && text.startsWith(known, start)) return known;
  const value = text.slice(start, end);
  knownTexts[hash] = value;
  return value;
}

/** Shorter strings are copies, which do not keep their source text alive. */
const knownUnitsMax = 12;
const knownNumbers: (JsonNumber | undefined)[] = Array.from({ length: 256 });
const knownTexts: string[] = Array.from({ length: 256 }, () => '');

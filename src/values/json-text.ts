/**
 * A JSON parser that loses nothing: numbers keep their digits, objects keep the order of their keys
 * and their duplicates. Strict RFC 8259, at most `limits.nestingDepthMax` levels deep.
 */
import { limits } from '../limits.ts';
import { placeIn } from './json-place.ts';
import { JsonScanner } from './json-scanner.ts';

/**
 * A parsed JSON text; its kinds are distinguished by `typeof`, `Array.isArray` and `instanceof`.
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
  /** Keys and values in turn: pairs would take four times the memory. */
  readonly members: readonly JsonValue[];

  constructor(
    entries: readonly (readonly [string, JsonValue])[],
    members: readonly JsonValue[] = entries.flat(),
  ) {
    this.members = members;
  }

  /** The object of these keys and values in turn. */
  static of(members: readonly JsonValue[]): JsonObject {
    return new JsonObject(noEntries, members);
  }

  get entries(): readonly (readonly [key: string, value: JsonValue])[] {
    return Array.from({ length: this.size }, (_, position) => this.entryAt(position));
  }

  /** How many entries it has. */
  get size(): number {
    return this.members.length / 2;
  }

  /** The entry at `position`, from 0, which must be below `size`. */
  entryAt(position: number): readonly [key: string, value: JsonValue] {
    return [this.members[2 * position] as string, this.members[2 * position + 1] as JsonValue];
  }

  /** The value of `key`; the last one if the key is repeated. */
  get(key: string): JsonValue | undefined {
    for (let position = this.size - 1; position >= 0; position -= 1) {
      if (this.members[2 * position] === key) return this.members[2 * position + 1];
    }
    return undefined;
  }
}

const noEntries: readonly (readonly [string, JsonValue])[] = [];

/** A member of a value that may be an object. */
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
  const scanner = new JsonScanner(text);
  const value = readValue(scanner, 0);
  scanner.end();
  return rootOf(value, text);
}

/**
 * Where the value at `path` (positions within the containers, outermost first) is in the text that
 * `root` was parsed from: ` at line 1 column 4`; empty if `root` is not a parser's result.
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

/** Marks `value` as the result of parsing `text`, so that `positionText` finds its parts there. */
export function rootOf(value: JsonValue, text: string): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  // The same number object can be part of other results.
  const root = value instanceof JsonNumber ? new JsonNumber(value.text) : value;
  sourceTexts.set(root, text);
  return root;
}

/** Texts of parsed roots, for the positions in error messages. */
const sourceTexts = new WeakMap<object, string>();

function readValue(scanner: JsonScanner, depth: number): JsonValue {
  switch (scanner.unit()) {
    case 0x7b:
      return readObject(scanner, depth);
    case 0x5b:
      return readList(scanner, depth);
    case 0x22:
      return scanner.string();
    default:
      return readScalar(scanner);
  }
}

/** Reads a word or a number. */
export function readScalar(scanner: JsonScanner): JsonValue {
  switch (scanner.text.charCodeAt(scanner.at)) {
    case 0x74:
      return scanner.word('true', true);
    case 0x66:
      return scanner.word('false', false);
    case 0x6e:
      return scanner.word('null', null);
    default:
      return new JsonNumber(scanner.number());
  }
}

function readObject(scanner: JsonScanner, depth: number): JsonObject {
  enter(scanner, depth);
  const members: JsonValue[] = [];
  if (scanner.skips(0x7d)) return JsonObject.of(members);
  do {
    scanner.expectKey();
    const key = scanner.string();
    scanner.expectColon();
    members.push(key, readValue(scanner, depth + 1));
  } while (!scanner.closes(true));
  return JsonObject.of(members);
}

function readList(scanner: JsonScanner, depth: number): JsonValue[] {
  enter(scanner, depth);
  const items: JsonValue[] = [];
  if (scanner.skips(0x5d)) return items;
  do items.push(readValue(scanner, depth + 1));
  while (!scanner.closes(false));
  return items;
}

/** Enters the next container, which has `depth` others around it. */
export function enter(scanner: JsonScanner, depth: number): void {
  if (depth >= limits.nestingDepthMax) throw scanner.error('recursion limit exceeded');
  scanner.at += 1;
}

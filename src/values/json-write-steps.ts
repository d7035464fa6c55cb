/** Encoded values to JSON in steps, for values of megabytes that other work must not wait for. */
import { limits } from '../limits.ts';
import { type BinaryReader, DecodeError, tooDeep, unknownTag } from './binary-reader.ts';
import { toHex } from './hex.ts';
import { keyText, type VariantForm, variantForms } from './json-printer.ts';
import { type JsonShape, JsonTooLongError, jsonCharactersMax, printerOf } from './json-write.ts';
import { fixedSizeOf } from './layout.ts';
import { plainForms } from './plain.ts';
import { productDepthMax, specialProductKindOf } from './special-types.ts';
import {
  type AlgebraicType,
  emptyTypespace,
  type NamedType,
  type SumType,
  type Typespace,
} from './type.ts';
import { resolveType } from './typespace.ts';
import { readUtf8 } from './utf8.ts';

/** Size that is printed in well under a millisecond. */
const stepBytes = 16 * 1024;
const stepPieces = 4_096;
/** Characters that are printed in a few milliseconds, whatever they have in bytes. */
const stepCharacters = 64 * 1024;

/** `encodedToJson` in steps of less than a millisecond. */
export function* encodedToJsonSteps(
  type: AlgebraicType,
  reader: BinaryReader,
  shape: JsonShape,
  typespace: Typespace = emptyTypespace,
): Generator<undefined, string> {
  const charactersMax = jsonCharactersMax(reader.remaining);
  const texts: string[] = [];
  let characters = 0;
  for (const text of encodedToJsonPieces(type, reader, shape, typespace)) {
    texts.push(text);
    characters += text.length;
    if (characters > charactersMax) throw new JsonTooLongError(charactersMax);
    yield;
  }
  return texts.join('');
}

/** The JSON of a value in pieces, each made in a step of `encodedToJsonSteps`. */
export function* encodedToJsonPieces(
  type: AlgebraicType,
  reader: BinaryReader,
  shape: JsonShape,
  typespace: Typespace = emptyTypespace,
): Generator<string, void> {
  reader.beginValue();
  const walk = new SteppedPrinter(reader, shape, typespace);
  for (const _ of walk.print(type, 0)) yield walk.take();
  yield walk.take();
}

type Steps = Generator<undefined, void>;

class SteppedPrinter {
  #pieces: string[] = [];
  #characters = 0;
  readonly #reader: BinaryReader;
  readonly #shape: JsonShape;
  readonly #typespace: Typespace;
  /** Bytes remaining at the last pause. */
  #bytesLeft: number;

  constructor(reader: BinaryReader, shape: JsonShape, typespace: Typespace) {
    this.#reader = reader;
    this.#shape = shape;
    this.#typespace = typespace;
    this.#bytesLeft = reader.remaining;
  }

  /** Returns what was printed since the last call. */
  take(): string {
    const text = this.#pieces.join('');
    this.#pieces = [];
    this.#characters = 0;
    return text;
  }

  #put(piece: string): void {
    this.#pieces.push(piece);
    this.#characters += piece.length;
  }

  *print(type: AlgebraicType, depth: number): Steps {
    const resolved = resolveType(type, this.#typespace);
    switch (resolved.kind) {
      case 'product':
        if (specialProductKindOf(resolved) === undefined) {
          yield* this.#printProduct(resolved.elements, depth);
          return;
        }
        break;
      case 'sum':
        yield* this.#printSum(resolved, depth);
        return;
      case 'array':
        if (resolved.element.kind !== 'u8') {
          yield* this.#printArray(resolved.element, depth);
          return;
        }
        if (this.#isLong()) {
          yield* this.#printLong(hexOf);
          return;
        }
        break;
      case 'string':
        if (this.#isLong()) {
          yield* this.#printLong(escapedText);
          return;
        }
    }
    this.#printWhole(resolved, depth);
    yield* this.#step();
  }

  *#printProduct(elements: readonly NamedType[], depth: number): Steps {
    const isPositional = this.#shape === 'positional';
    const [open, close] = isPositional ? ['[', ']'] : ['{', '}'];
    if (elements.length > 0 && depth >= productDepthMax(elements)) throw tooDeep();
    this.#put(open);
    for (const [index, element] of elements.entries()) {
      if (index > 0) this.#put(',');
      if (!isPositional) this.#put(keyText(element, index));
      yield* this.print(element.type, depth + 1);
    }
    this.#put(close);
    yield* this.#step();
  }

  *#printSum(type: SumType, depth: number): Steps {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const tag = this.#reader.u8();
    const form = this.#formsOf(type)[tag];
    if (form === undefined) throw unknownTag(tag);
    this.#put(form.open);
    if (form.payload !== undefined) yield* this.print(form.payload, depth + 1);
    this.#put(form.close);
  }

  #formsOf(type: SumType): readonly VariantForm[] {
    if (this.#shape === 'plain') return plainForms(type, this.#typespace);
    return variantForms(type, this.#shape === 'named');
  }

  *#printArray(element: AlgebraicType, depth: number): Steps {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const size = fixedSizeOf(element, this.#typespace);
    const isSmall = size !== undefined && size <= stepBytes;
    const count = this.#reader.count(size === 0);
    this.#put('[');
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.#put(',');
      if (isSmall) {
        this.#printWhole(element, depth + 1);
        yield* this.#step();
      } else {
        yield* this.print(element, depth + 1);
      }
    }
    this.#put(']');
  }

  /** Whether the string or the byte array that follows takes more than a step. */
  #isLong(): boolean {
    const { remaining, dataView, offset } = this.#reader;
    return remaining > stepBytes && dataView.getUint32(offset, true) > stepBytes;
  }

  /** Prints a string or a byte array in parts, which end between two characters. */
  *#printLong(print: (bytes: Uint8Array, start: number, end: number) => string): Steps {
    const byteCount = this.#reader.u32();
    let start = this.#reader.claim(byteCount, '[u8]');
    this.#bytesLeft = this.#reader.remaining;
    const end = start + byteCount;
    const { source } = this.#reader;
    this.#put('"');
    while (start < end) {
      const next = characterStart(source, Math.min(start + stepBytes, end), end);
      this.#put(print(source, start, next));
      start = next;
      yield;
    }
    this.#put('"');
  }

  #printWhole(type: AlgebraicType, depth: number): void {
    this.#put(printerOf(this.#shape, type, this.#typespace)(this.#reader, depth));
  }

  *#step(): Steps {
    const { remaining } = this.#reader;
    const isShort = this.#bytesLeft - remaining < stepBytes && this.#characters < stepCharacters;
    if (isShort && this.#pieces.length < stepPieces) return;
    this.#bytesLeft = remaining;
    yield;
  }
}

/** The start of the character of UTF-8 that has a byte at `at`; `end` at the end. */
function characterStart(bytes: Uint8Array, at: number, end: number): number {
  for (let start = at; start > at - utf8WidthMax; start -= 1) {
    if (start === end || ((bytes[start] as number) & 0xc0) !== 0x80) return start;
  }
  return at;
}

const utf8WidthMax = 4;

function hexOf(bytes: Uint8Array, start: number, end: number): string {
  return toHex(bytes.subarray(start, end));
}

function escapedText(bytes: Uint8Array, start: number, end: number): string {
  const text = readUtf8(bytes, start, end);
  if (text === undefined) throw new DecodeError('invalid utf8');
  return JSON.stringify(text).slice(1, -1);
}

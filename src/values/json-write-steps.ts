/** Encoded values to JSON in steps, for values of megabytes that other work must not wait for. */
import { limits } from '../limits.ts';
import { type BinaryReader, tooDeep, unknownTag } from './binary-reader.ts';
import { type JsonShape, keyText, printerOf } from './json-write.ts';
import { fixedSizeOf } from './layout.ts';
import { productDepthMax } from './special-types.ts';
import { type AlgebraicType, emptyTypespace, type NamedType, type Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

/** Size that is printed in well under a millisecond. */
const stepBytes = 16 * 1024;
const stepPieces = 4_096;

/** `encodedToJson` in steps of less than a millisecond, except single strings and byte arrays. */
export function* encodedToJsonSteps(
  type: AlgebraicType,
  reader: BinaryReader,
  shape: JsonShape,
  typespace: Typespace = emptyTypespace,
): Generator<undefined, string> {
  reader.beginValue();
  const walk = new SteppedPrinter(reader, shape, typespace);
  yield* walk.print(type, 0);
  return walk.pieces.join('');
}

type Steps = Generator<undefined, void>;

class SteppedPrinter {
  readonly pieces: string[] = [];
  readonly #reader: BinaryReader;
  readonly #shape: JsonShape;
  readonly #typespace: Typespace;
  /** Bytes remaining, and pieces written, at the last pause. */
  #bytesLeft: number;
  #pieceCount = 0;

  constructor(reader: BinaryReader, shape: JsonShape, typespace: Typespace) {
    this.#reader = reader;
    this.#shape = shape;
    this.#typespace = typespace;
    this.#bytesLeft = reader.remaining;
  }

  *print(type: AlgebraicType, depth: number): Steps {
    const resolved = resolveType(type, this.#typespace);
    switch (resolved.kind) {
      case 'product':
        yield* this.#printProduct(resolved.elements, depth);
        return;
      case 'sum':
        yield* this.#printSum(resolved.variants, depth);
        return;
      case 'array':
        if (resolved.element.kind !== 'u8') {
          yield* this.#printArray(resolved.element, depth);
          return;
        }
    }
    this.#printWhole(resolved, depth);
    yield* this.#step();
  }

  *#printProduct(elements: readonly NamedType[], depth: number): Steps {
    const [open, close] = this.#shape === 'named' ? ['{', '}'] : ['[', ']'];
    if (elements.length > 0 && depth >= productDepthMax(elements)) throw tooDeep();
    this.pieces.push(open);
    for (const [index, element] of elements.entries()) {
      if (index > 0) this.pieces.push(',');
      if (this.#shape === 'named') this.pieces.push(keyText(element, index));
      yield* this.print(element.type, depth + 1);
    }
    this.pieces.push(close);
  }

  *#printSum(variants: readonly NamedType[], depth: number): Steps {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const tag = this.#reader.u8();
    const variant = variants[tag];
    if (variant === undefined) throw unknownTag(tag);
    const isNamed = this.#shape === 'named';
    this.pieces.push(isNamed ? `{${keyText(variant, tag)}` : `[${tag},`);
    yield* this.print(variant.type, depth + 1);
    this.pieces.push(isNamed ? '}' : ']');
  }

  *#printArray(element: AlgebraicType, depth: number): Steps {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const size = fixedSizeOf(element, this.#typespace);
    const isSmall = size !== undefined && size <= stepBytes;
    const count = this.#reader.count(size === 0);
    this.pieces.push('[');
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.pieces.push(',');
      if (isSmall) {
        this.#printWhole(element, depth + 1);
        yield* this.#step();
      } else {
        yield* this.print(element, depth + 1);
      }
    }
    this.pieces.push(']');
  }

  #printWhole(type: AlgebraicType, depth: number): void {
    this.pieces.push(printerOf(this.#shape, type, this.#typespace)(this.#reader, depth));
  }

  *#step(): Steps {
    const { remaining } = this.#reader;
    const { length } = this.pieces;
    const isShort = this.#bytesLeft - remaining < stepBytes;
    if (isShort && length - this.#pieceCount < stepPieces) return;
    this.#bytesLeft = remaining;
    this.#pieceCount = length;
    yield;
  }
}

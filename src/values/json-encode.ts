/**
 * JSON to encoded arguments in steps, for texts of megabytes that other work must not wait for.
 * Light parts use `json-read.ts` and `encode.ts`; only heavy ones are walked here. Accepts and
 * rejects the same texts, with the same messages.
 */
import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { BinaryWriter } from './binary-writer.ts';
import { encoderOf } from './encode.ts';
import { countingFills, type ExactForm, exactFormOf, looseReaderOf } from './json-loose.ts';
import {
  argumentWords,
  describe,
  exactReaderOf,
  expectedNames,
  located,
  Misfit,
  type ProductWords,
  plainWords,
  type ReaderOf,
  readVariant,
  unknownVariant,
} from './json-read.ts';
import { isHeavy } from './json-steps.ts';
import { JsonNumber, JsonObject, type JsonValue } from './json-text.ts';
import { productDepthMax, specialKindOf } from './special-types.ts';
import type { AlgebraicType, NamedType, ProductType, SumType, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

export interface ArgumentsEncoding {
  readonly params: ProductType;
  readonly functionName: string;
  readonly typespace: Typespace;
  /** True if people or agents wrote the JSON (`json-loose.ts`). */
  readonly isLoose: boolean;
}

type Steps = Generator<undefined, void>;

/** The encoded arguments of a call. Throws `JsonError`. A step takes about a millisecond. */
export function* encodeArgumentsSteps(
  json: JsonValue,
  { params, functionName, typespace, isLoose }: ArgumentsEncoding,
): Generator<undefined, Uint8Array> {
  const writer = new BinaryWriter();
  const walk = new HeavyWalk(typespace, isLoose);
  const words = argumentWords(functionName);
  const steps = walk.product(params, json, words, { writer, depth: 0 });
  for (;;) {
    const { done } = located(isLoose ? null : json, () => steps.next());
    if (done) return writer.finish();
    yield;
  }
}

/** The destination of a value, and its depth. */
interface Place {
  readonly writer: BinaryWriter;
  readonly depth: number;
}

class HeavyWalk {
  readonly #typespace: Typespace;
  readonly #readerOf: ReaderOf;
  readonly #formOf: (type: AlgebraicType, typespace: Typespace) => ExactForm;
  /** Work done since the last step, in scalars. */
  #cost = 0;
  /** Bytes written so far: what is filled in can be longer than the text. */
  #bytes = 0;

  constructor(typespace: Typespace, isLoose: boolean) {
    this.#typespace = typespace;
    this.#readerOf = isLoose ? looseReaderOf : exactReaderOf;
    this.#formOf = isLoose ? exactFormOf : () => (json) => json;
  }

  *value(type: AlgebraicType, json: JsonValue, place: Place): Steps {
    if (!isHeavy(json)) {
      this.#light(type, json, place);
      if (this.#cost < costPerStep) return;
      this.#cost = 0;
      yield;
      return;
    }
    switch (type.kind) {
      case 'ref':
        yield* this.value(resolveType(type, this.#typespace), json, place);
        return;
      case 'product':
        yield* this.product(type, json, plainWords, place);
        return;
      case 'sum':
        yield* this.#sum(type, json, place);
        return;
      case 'array':
        yield* this.#array(type.element, json, place);
        return;
      default:
        this.#light(type, json, place);
    }
  }

  #light(type: AlgebraicType, json: JsonValue, { writer, depth }: Place): void {
    const isContainer = typeof json === 'object' && json !== null && !(json instanceof JsonNumber);
    this.#cost += isContainer ? containerCost : 1;
    const read = () => this.#readerOf(type, this.#typespace)(json, depth);
    const { value, fills } = countingFills(read);
    this.#cost += fills;
    const before = writer.length;
    encoderOf(type, this.#typespace)(writer, value);
    this.#bytes += writer.length - before;
    if (this.#bytes > limits.jsonArgumentsBytesMax) {
      throw new Misfit(`the arguments take more than ${limits.jsonArgumentsBytesMax} bytes`);
    }
  }

  *product(type: ProductType, given: JsonValue, words: ProductWords, place: Place): Steps {
    const { elements } = type;
    const json = this.#formOf(type, this.#typespace)(given);
    if (place.depth >= productDepthMax(elements)) throw new Misfit('recursion limit exceeded');
    if (Array.isArray(json)) yield* this.#positional(elements, json, words, place);
    else if (json instanceof JsonObject) yield* this.#named(elements, json, words, place);
    else throw new Misfit(`invalid type: ${describe(json)}, expected ${words.whole}`);
  }

  *#positional(
    elements: readonly NamedType[],
    items: readonly JsonValue[],
    { whole }: ProductWords,
    { writer, depth }: Place,
  ): Steps {
    for (const [index, { type }] of elements.entries()) {
      const item = items[index];
      if (item === undefined) {
        const expected = `${whole} with ${elements.length} elements`;
        throw new Misfit(`invalid length ${items.length}, expected ${expected}`);
      }
      const inside = { writer, depth: depth + 1 };
      yield* within(index, () => `[${index}]`, this.value(type, item, inside));
    }
    if (items.length === elements.length) return;
    const misfit = new Misfit('trailing characters', 'start');
    misfit.positions.unshift(elements.length);
    throw misfit;
  }

  /** Each element gets bytes of its own, since they can come in any order. */
  *#named(
    elements: readonly NamedType[],
    json: JsonObject,
    words: ProductWords,
    { writer, depth }: Place,
  ): Steps {
    const parts: (Uint8Array | undefined)[] = elements.map(() => undefined);
    for (let position = 0; position < json.size; position += 1) {
      const [key, item] = json.entryAt(position);
      if (position > 0 && position >= elements.length) throw new Misfit('trailing comma');
      const index = elements.findIndex(({ name }) => name === key);
      const element = elements[index];
      if (element === undefined) {
        const known = elements.map(({ name }) => name);
        throw new Misfit(`unknown ${words.part} \`${key}\`, ${expectedNames(known, words.part)}`);
      }
      if (parts[index] !== undefined) throw new Misfit(`duplicate ${words.part} \`${key}\``);
      const inside = { writer: new BinaryWriter(), depth: depth + 1 };
      yield* within(position, () => `.${key}`, this.value(element.type, item, inside));
      parts[index] = inside.writer.finish();
    }
    for (const [index, part] of parts.entries()) {
      const name = elements[index]?.name ?? index;
      if (part === undefined) throw new Misfit(`missing ${words.part} \`${name}\``);
      writer.raw(part);
    }
  }

  *#sum(type: SumType, given: JsonValue, { writer, depth }: Place): Steps {
    const json = this.#formOf(type, this.#typespace)(given);
    if (depth >= limits.nestingDepthMax) throw new Misfit('recursion limit exceeded');
    assert(specialKindOf(type) !== 'option' || json !== null, 'null is not heavy');
    const { tag, payload, position } = readVariant(type.variants, json);
    const variant = type.variants[tag];
    if (variant === undefined) throw unknownVariant(type.variants, String(tag));
    const step = () => (Array.isArray(json) ? '[1]' : `.${variant.name ?? tag}`);
    writer.u8(tag);
    const inside = { writer, depth: depth + 1 };
    yield* within(position, step, this.value(variant.type, payload, inside));
  }

  *#array(element: AlgebraicType, json: JsonValue, { writer, depth }: Place): Steps {
    if (depth >= limits.nestingDepthMax) throw new Misfit('recursion limit exceeded');
    if (!Array.isArray(json)) {
      const expected = element.kind === 'u8' ? 'a byte array or hex string' : 'a sequence';
      throw new Misfit(`invalid type: ${describe(json)}, expected ${expected}`);
    }
    // A list of bytes is encoded like one of any other numbers: a count, then the items.
    writer.u32(json.length);
    const inside = { writer, depth: depth + 1 };
    for (const [index, item] of json.entries()) {
      if (isHeavy(item)) {
        yield* within(index, () => `[${index}]`, this.value(element, item, inside));
        continue;
      }
      try {
        this.#light(element, item, inside);
      } catch (error) {
        throw atStep(error, index, `[${index}]`);
      }
      if (this.#cost < costPerStep) continue;
      this.#cost = 0;
      yield;
    }
  }
}

const costPerStep = 512;
/** Cost of a container that is not heavy: it has fewer than 512 values, and mostly far fewer. */
const containerCost = 64;

/** Runs `steps`; records in a misfit inside that it happened at `position`, shown as `step`. */
function* within(position: number, step: () => string, steps: Steps): Steps {
  try {
    yield* steps;
  } catch (error) {
    throw atStep(error, position, step());
  }
}

function atStep(error: unknown, position: number, step: string): unknown {
  if (error instanceof Misfit) {
    error.positions.unshift(position);
    error.steps.unshift(step);
  }
  return error;
}

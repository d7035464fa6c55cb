/**
 * Why JSON of people and agents is not a value: where, what came, what is expected, and a form that
 * would work.
 *
 * ``[1] `status`: "doin" is not a variant of TicketStatus; one of "todo", "doing" (exact:
 * "doing"), "done"``
 */
import { limits } from '../limits.ts';
import { integerRange, isIntegerKind } from './integer-range.ts';
import { JsonError } from './json-error.ts';
import { exactFormOf, filledElements, filledItems, looseReaderOf } from './json-loose.ts';
import { Misfit, readVariant, type UnfitJsonError } from './json-read.ts';
import { JsonNumber, JsonObject, type JsonValue, parseJson } from './json-text.ts';
import { LooseNames } from './loose-names.ts';
import { nearestNames } from './nearest-names.ts';
import { shortJsonText } from './short-json-text.ts';
import { specialKindOf, specialProductKindOf } from './special-types.ts';
import type { AlgebraicType, NamedType, ProductType, SumType, Typespace } from './type.ts';
import { kindName, resolveType } from './typespace.ts';

/** The types of what was read, and their names. */
export interface ReadTypes {
  readonly typespace: Typespace;
  /** The name of a type of the typespace, for people. */
  readonly nameOf: (ref: number) => string | undefined;
}

/** Explains why `json` does not fit the parameters of a function. */
export function argumentsFaultText(
  { positions }: UnfitJsonError,
  params: ProductType,
  json: JsonValue,
  types: ReadTypes,
): string {
  const explanation = new Explanation(types);
  const first = positions[0];
  const into = first === undefined ? undefined : explanation.enter(params, json, first);
  if (into === undefined) return explanation.productFault(params, json, 'parameter');
  const index = params.elements.findIndex(({ name }) => `.${name}` === into.step);
  const place = index < 0 ? into.step : `[${index}] \`${params.elements[index]?.name}\``;
  return place + explanation.fault(into.type, into.json, positions.slice(1));
}

/** A part of a value, and how to get there from what is around it. */
interface Part {
  readonly step: string;
  readonly type: AlgebraicType;
  readonly json: JsonValue;
}

class Explanation {
  readonly #typespace: Typespace;
  readonly #nameOf: ReadTypes['nameOf'];

  constructor({ typespace, nameOf }: ReadTypes) {
    this.#typespace = typespace;
    this.#nameOf = nameOf;
  }

  /** The path to what does not fit, and what is wrong there. */
  fault(type: AlgebraicType, json: JsonValue, positions: readonly number[]): string {
    let part: Part = { step: '', type, json };
    let path = '';
    for (const position of positions) {
      const inner = this.enter(part.type, part.json, position);
      if (inner === undefined) break;
      part = inner;
      path += inner.step;
    }
    const isDeep = positions.length >= limits.nestingDepthMax - 1;
    if (isDeep) return `${path}: it is nested deeper than ${limits.nestingDepthMax} levels`;
    return `${path}: ${this.#faultAt(part.type, part.json)}`;
  }

  /** The part at `position` of a container, counted as the reader does; if there is one. */
  enter(given: AlgebraicType, json: JsonValue, position: number): Part | undefined {
    const type = resolveType(given, this.#typespace);
    const exact = exactFormOf(type, this.#typespace)(json);
    switch (type.kind) {
      case 'product': {
        if (specialProductKindOf(type) !== undefined) return undefined;
        const [key, item] = itemAt(exact, position);
        const index =
          key === undefined ? position : type.elements.findIndex(({ name }) => name === key);
        const element = type.elements[index];
        if (element === undefined || item === undefined) return undefined;
        const step = element.name === undefined ? `[${index}]` : `.${element.name}`;
        return { step, type: element.type, json: item };
      }
      case 'sum': {
        const { tag, payload } = readVariant(type.variants, exact);
        const variant = type.variants[tag];
        if (variant === undefined) return undefined;
        const step = specialKindOf(type) === 'option' ? '' : `.${variant.name ?? tag}`;
        return { step, type: variant.type, json: payload };
      }
      case 'array': {
        const [, item] = itemAt(exact, position);
        if (item === undefined) return undefined;
        return { step: `[${position}]`, type: type.element, json: item };
      }
      default:
        return undefined;
    }
  }

  #faultAt(given: AlgebraicType, json: JsonValue): string {
    const type = resolveType(given, this.#typespace);
    if (specialKindOf(type) === 'option') return this.#optionFault(type as SumType, json);
    if (type.kind === 'sum') return this.#sumFault(type, json);
    if (type.kind === 'product' && specialProductKindOf(type) === undefined) {
      return this.productFault(type, json, 'field');
    }
    if (isIntegerKind(type.kind) && json instanceof JsonNumber && json.isInteger) {
      const { min, max } = integerRange[type.kind];
      return `${came(json)} is out of range for ${kindName(type.kind)}, ${min} to ${max}`;
    }
    return `${came(json)} is not ${this.#expected(type)}; ${this.#advice(type, json)}`;
  }

  /** What is wrong with a product itself: with arguments as a whole, or with a value. */
  productFault(type: ProductType, json: JsonValue, word: 'parameter' | 'field'): string {
    const { elements } = type;
    if (json instanceof JsonObject) {
      const isNeeded = filledElements(type, this.#typespace).map((value) => value === undefined);
      const form = this.#completedObject(type, json, isNeeded);
      return keyFault(elements, json, { word, form, isNeeded });
    }
    const isNeeded = filledItems(type, this.#typespace).map((value) => value === undefined);
    if (Array.isArray(json)) {
      const form = this.#completedList(type, json);
      return countFault(elements, json.length, { word, form, isNeeded });
    }
    if (elements.length === 0) return `${came(json)} is not ${wholeWords[word]}; write []`;
    return word === 'parameter'
      ? `${came(json)} is not ${wholeWords.parameter}; ` +
          `e.g. ${this.#completedList(type, [json])}`
      : `${came(json)} is not ${this.#named(type, wholeWords.field)}; ` +
          `e.g. ${this.#example(type, 0)}`;
  }

  /** The list that came, with examples for what does not fit and for what is missing. */
  #completedList(type: ProductType, items: readonly JsonValue[]): string {
    const { elements } = type;
    const filled = filledItems(type, this.#typespace);
    const needed = filled.lastIndexOf(undefined) + 1;
    const count = Math.max(needed, Math.min(items.length, elements.length));
    const parts = elements.slice(0, count).map(({ type }, at) => {
      const item = items[at];
      if (item !== undefined) return this.#kept(type, item);
      const value = filled[at];
      return value === undefined ? this.#example(type, 1) : this.#kept(type, value);
    });
    return completedForm(parts, Math.min(items.length, count), ['[', ']']);
  }

  /** The object that came, with examples for what does not fit, and for what it lacks. */
  #completedObject(
    { elements }: ProductType,
    json: JsonObject,
    isNeeded: readonly boolean[],
  ): string {
    // A longer one has a name that is not known, which is the fault then.
    if (json.size > elements.length) return '{…}';
    const loose = new LooseNames(elements);
    const given = new Set<number>();
    const parts = json.entries.map(([key, item]) => {
      const index = loose.find(key);
      given.add(index);
      const type = elements[index]?.type;
      return `${quoted(shortened(key))}:${type === undefined ? '…' : this.#kept(type, item)}`;
    });
    const missing = elements.flatMap(({ name, type }, at) => {
      if (isNeeded[at] !== true || given.has(at)) return [];
      return `${quoted(name ?? String(at))}:${this.#example(type, 1)}`;
    });
    return completedForm([...parts, ...missing], parts.length, ['{', '}']);
  }

  /** What came, if it fits and is short. */
  #kept(type: AlgebraicType, json: JsonValue): string {
    const text = shortJsonText(json, keptCharactersMax);
    if (text === undefined) return '…';
    return this.#isRead(type, text) ? text : this.#example(type, 1);
  }

  #sumFault(type: SumType, json: JsonValue): string {
    const name = this.#named(type, 'its type');
    const { variants } = type;
    const whole = variantIn(json);
    const given = whole === undefined ? undefined : shortened(whole);
    const index = given === undefined ? -1 : new LooseNames(variants).find(given);
    if (given !== undefined && index >= 0) {
      const form = this.#variantForm(variants[index] as NamedType, index, 0);
      return `${quoted(given)} of ${name} is written ${form}`;
    }
    const what = given === undefined ? came(json) : quoted(given);
    const names = variants.flatMap((variant) => variant.name ?? []);
    const [near] = given === undefined ? [] : nearestNames(given, names);
    const forms = variants.slice(0, shownVariantsMax).map((variant, at) => {
      const form = this.#variantForm(variant, at, 1);
      const isNear = near !== undefined && variant.name === near;
      return isNear ? `${form} (exact: ${quoted(near)})` : form;
    });
    const more = variants.length > forms.length ? ', …' : '';
    return `${what} is not a variant of ${name}; one of ${forms.join(', ')}${more}`;
  }

  #optionFault(type: SumType, json: JsonValue): string {
    return `${came(json)} is not an option of an option; e.g. ${this.#example(type, 0)} or null`;
  }

  /** The name of a type of the module. */
  #named(type: AlgebraicType, otherwise: string): string {
    const ref = this.#typespace.types.indexOf(type);
    return (ref < 0 ? undefined : this.#nameOf(ref)) ?? otherwise;
  }

  #expected(type: AlgebraicType): string {
    const special = specialKindOf(type);
    if (special !== undefined && special in specialWords) return specialWords[special] as string;
    if (isIntegerKind(type.kind)) return `an integer (${kindName(type.kind)})`;
    switch (type.kind) {
      case 'string':
        return 'a string';
      case 'bool':
        return 'a boolean';
      case 'array':
        return 'a list';
      default:
        return `a number (${kindName(type.kind)})`;
    }
  }

  /**
   * What to write: what `json` was probably meant to be. Else only an example, in words that nobody
   * takes for the value to send: it would act on other data.
   */
  #advice(type: AlgebraicType, json: JsonValue): string {
    const meant = guesses(json).find((guess) => this.#isRead(type, guess));
    if (meant !== undefined) return `write ${meant}`;
    const what = isIntegerKind(type.kind) ? 'expected a whole number, ' : '';
    return `${what}e.g. ${this.#example(type, 0)}`;
  }

  /** Whether a short text is a value of the type. */
  #isRead(type: AlgebraicType, text: string): boolean {
    try {
      looseReaderOf(type, this.#typespace)(parseJson(text), 0);
      return true;
    } catch (error) {
      if (error instanceof Misfit || error instanceof JsonError) return false;
      throw error;
    }
  }

  /** A value of the type; `depth` ends that of recursive types. */
  #example(given: AlgebraicType, depth: number): string {
    const type = resolveType(given, this.#typespace);
    const special = specialKindOf(type);
    const known = examples[special ?? type.kind];
    if (known !== undefined) return known;
    if (type.kind === 'product') {
      return shortForm(this.#exampleFields(type, depth), '{', '}');
    }
    if (special === 'option' && type.kind === 'sum') {
      const some = type.variants[0] as NamedType;
      const isNested = specialKindOf(resolveType(some.type, this.#typespace)) === 'option';
      if (depth > exampleDepthMax) return 'null';
      const inner = this.#example(some.type, depth + 1);
      return isNested ? `{"some":${inner}}` : inner;
    }
    if (type.kind === 'sum') {
      const isUnit = (variant: NamedType) => this.#isUnit(variant);
      const at = Math.max(0, type.variants.findIndex(isUnit));
      const variant = type.variants[at];
      return variant === undefined ? '…' : this.#variantForm(variant, at, depth);
    }
    if (type.kind === 'array') {
      return depth > exampleDepthMax ? '[]' : `[${this.#example(type.element, depth + 1)}]`;
    }
    return '42';
  }

  /** The fields of an example; those that are filled in are left out, unless all of them are. */
  #exampleFields(type: ProductType, depth: number): string[] {
    const filled = filledElements(type, this.#typespace);
    const isShort = filled.some((value) => value === undefined);
    return type.elements.flatMap(({ name, type: part }, at) => {
      const isLeftOut = isShort && filled[at] !== undefined && filled[at] !== null;
      return isLeftOut ? [] : `${quoted(name ?? String(at))}:${this.#example(part, depth + 1)}`;
    });
  }

  #variantForm(variant: NamedType, tag: number, depth: number): string {
    const name = quoted(variant.name ?? String(tag));
    if (this.#isUnit(variant)) return name;
    const payload = depth > exampleDepthMax ? '…' : this.#example(variant.type, depth + 1);
    return `{${name}:${payload}}`;
  }

  #isUnit({ type }: NamedType): boolean {
    return specialKindOf(resolveType(type, this.#typespace)) === 'unit';
  }
}

const exampleDepthMax = 3;
const shownVariantsMax = 30;

const wholeWords = { parameter: 'a list of arguments', field: 'an object' } as const;

/** How a fault of a product is written. */
interface ProductWords {
  readonly word: 'parameter' | 'field';
  /** What came, completed by examples. */
  readonly form: string;
  /** By position: false for what can be left out. */
  readonly isNeeded: readonly boolean[];
}

function countFault(
  elements: readonly NamedType[],
  count: number,
  { word, form, isNeeded }: ProductWords,
): string {
  const given = count === 1 ? '1 value was given' : `${count} values were given`;
  const taken = `${elements.length} ${word}${elements.length === 1 ? '' : 's'}`;
  if (count > elements.length) return `${given} for ${taken}; e.g. ${form}`;
  const missing = Math.max(count, isNeeded.indexOf(true, count));
  const name = elements[missing]?.name ?? String(missing);
  return `the ${word} \`${name}\` is missing: ${given} for ${taken}; add it, e.g. ${form}`;
}

function keyFault(
  elements: readonly NamedType[],
  json: JsonObject,
  { word, form, isNeeded }: ProductWords,
): string {
  const loose = new LooseNames(elements);
  const given = new Set<number>();
  for (let position = 0; position < json.size; position += 1) {
    const [key] = json.entryAt(position);
    const index = loose.find(key);
    if (index < 0) {
      const names = elements.flatMap(({ name }) => name ?? []);
      const [near] = nearestNames(shortened(key), names);
      const hint = near === undefined ? '' : `did you mean \`${near}\`? `;
      const all = names.map((name) => `\`${name}\``).join(', ');
      const known = names.length === 0 ? `there are no ${word}s` : `the ${word}s are ${all}`;
      return `there is no ${word} \`${shortened(key)}\`; ${hint}${known}`;
    }
    if (given.has(index)) return `the ${word} \`${elements[index]?.name}\` is given twice`;
    given.add(index);
  }
  const missing = elements.findIndex((_, index) => isNeeded[index] && !given.has(index));
  return `the ${word} \`${elements[missing]?.name ?? missing}\` is missing; add it, e.g. ${form}`;
}

/** Key, or `undefined` in a list, and value of the item at `position` of a container. */
function itemAt(
  json: JsonValue,
  position: number,
): readonly [key: string | undefined, item: JsonValue | undefined] {
  if (Array.isArray(json)) return [undefined, json[position]];
  if (json instanceof JsonObject && position < json.size) return json.entryAt(position);
  return [undefined, undefined];
}

/** The name of a variant in any of the forms of a sum. */
function variantIn(json: JsonValue): string | undefined {
  if (typeof json === 'string') return json;
  if (Array.isArray(json)) return typeof json[0] === 'string' ? json[0] : undefined;
  if (!(json instanceof JsonObject)) return undefined;
  const tag = json.get('tag');
  if (typeof tag === 'string') return tag;
  return json.size === 1 ? json.entryAt(0)[0] : undefined;
}

/** What `json`, which is no value of a type, could have been meant to be, as JSON. */
function guesses(json: JsonValue): string[] {
  if (typeof json === 'boolean') return [`"${json}"`];
  if (json instanceof JsonNumber) {
    if (json.text.length > cameCharactersMax) return [];
    const value = Number(json.text);
    const whole = Number.isSafeInteger(value) ? [String(value)] : [];
    return [`"${json.text}"`, ...whole, `"${json.text}s"`];
  }
  if (typeof json !== 'string' || json.length > cameCharactersMax) return [];
  const text = json.trim();
  const bytes = text.replace(/^0x/, '');
  const time = text.replace(' ', 'T');
  const times = [`${time}Z`, `${time}:00Z`, `${text}T00:00:00Z`];
  const texts = [text, ...times, `${text}s`, bytes];
  return [text, text.toLowerCase(), ...texts.map(quoted)];
}

const cameCharactersMax = 60;

/** What came, as people recognize it. */
function came(json: JsonValue): string {
  if (typeof json === 'string') return quoted(shortened(json));
  if (json instanceof JsonNumber) return shortened(json.text);
  if (Array.isArray(json)) return json.length === 0 ? 'an empty list' : 'a list';
  return json instanceof JsonObject ? 'an object' : String(json);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function shortened(text: string): string {
  return text.length > cameCharactersMax ? `${text.slice(0, cameCharactersMax)}…` : text;
}

/** Parts of which the first `given` came; those are left out of what is too long. */
function completedForm(
  parts: readonly string[],
  given: number,
  [open, close]: readonly [string, string],
): string {
  const text = open + parts.join(',') + close;
  if (text.length <= exampleCharactersMax) return text;
  return shortForm(['…', ...parts.slice(given)], open, close);
}

/** Parts of an example, of which those that make it too long are left out. */
function shortForm(parts: readonly string[], open = '[', close = ']'): string {
  const text = open + parts.join(',') + close;
  return text.length > exampleCharactersMax ? `${open}${parts[0]}, …${close}` : text;
}

const exampleCharactersMax = 400;
const keptCharactersMax = 100;

const specialWords: Readonly<Record<string, string>> = {
  identity: 'an identity of 64 hexadecimal digits',
  connectionId: 'a connection id of 32 hexadecimal digits',
  timestamp: 'a time (RFC 3339 with a zone, or microseconds since 1970)',
  timeDuration: 'a duration (such as "90s", "PT1M30S", or microseconds)',
  uuid: 'a UUID',
  bytes: 'bytes (hexadecimal digits, or a list of numbers from 0 to 255)',
};

const examples: Readonly<Record<string, string>> = {
  identity: `"c200${'0'.repeat(60)}"`,
  connectionId: `"${'0'.repeat(31)}1"`,
  timestamp: '"2026-01-31T12:00:00Z"',
  timeDuration: '"1h30m"',
  uuid: '"01888d6e-5c00-7000-8000-000000000000"',
  bytes: '"00ff"',
  unit: '[]',
  string: '"text"',
  bool: 'true',
  f32: '1.5',
  f64: '1.5',
};

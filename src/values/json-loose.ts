/**
 * JSON as people and agents write it, to values. Each value is first brought, one level at a time,
 * into a form that the exact reader of `json-read.ts` accepts; what that reader accepts as it is
 * stays as it is. So nothing is read in two ways, and the limits and checks are the same.
 *
 * Accepted beside the forms of the exact reader, and the plain form (`plain.ts`) among them. Names
 * of elements and variants are those of `loose-names.ts`.
 *
 * | type | form |
 * |---|---|
 * | product | an object or array without its options (an array: without those at its end); an
 *   object without what a `FilledTypespace` fills in, an array of arguments as well |
 * | sum | `"Name"` and `{"tag": "Name"}` without payload, `{"tag": "Name", "value": …}` |
 * | option | the value itself, unless it is an option, too |
 * | Identity, ConnectionId | hexadecimal digits, with or without `0x` |
 * | Timestamp | RFC 3339 text; microseconds as a number or a text |
 * | TimeDuration | `"1h30m"`, ISO 8601; microseconds as a number or a text |
 * | Uuid | any usual text |
 * | integers from 64 bits on | decimal digits in quotes; with 256 bits also a number |
 * | floats | `"NaN"`, `"Infinity"`, `"-Infinity"` |
 */
import { limits } from '../limits.ts';
import { connectionIdFromHex } from './connection-id.ts';
import { identityFromHex } from './identity.ts';
import {
  argumentWords,
  compileReader,
  located,
  Misfit,
  productReader,
  type ReaderOf,
} from './json-read.ts';
import { JsonNumber, JsonObject, type JsonValue } from './json-text.ts';
import { LooseNames } from './loose-names.ts';
import { perType } from './per-type.ts';
import { type SpecialProductKind, specialKindOf, specialProductKindOf } from './special-types.ts';
import { timeDurationFromText } from './time-duration-text.ts';
import { timestampFromText } from './timestamp.ts';
import type { AlgebraicType, NamedType, ProductType, SumType, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import { uuidFromText } from './uuid.ts';
import type { Value } from './value.ts';

/** `argumentsFromJson` for JSON that people or agents write. Throws `UnfitJsonError`. */
export function argumentsFromLooseJson(
  params: ProductType,
  json: JsonValue,
  functionName: string,
  typespace?: Typespace,
): Value[] {
  const words = argumentWords(functionName);
  const { elements } = params;
  const readers = elements.map(({ type }) => looseReaderOf(type, typespace));
  // Positions are those of the exact form: they mean nothing in the text that was parsed.
  return located(null, () => {
    const { value } = countingFills(() => {
      return productReader(elements, readers, words)(exactFormOf(params, typespace)(json), 0);
    });
    return value;
  });
}

export const looseReaderOf: ReaderOf = perType((type, typespace) => {
  const read = compileReader(type, typespace, looseReaderOf);
  // The target of a ref brings the value into its form itself.
  if (type.kind === 'ref') return read;
  if (type.kind === 'f32' || type.kind === 'f64') {
    return (json, depth) => floatNamed(json) ?? read(json, depth);
  }
  const exact = exactFormOf(type, typespace);
  return exact === unchanged ? read : (json, depth) => read(exact(json), depth);
});

/** A float that JSON has no number for, by its name. */
export function floatNamed(json: JsonValue): number | undefined {
  return typeof json === 'string' ? floatNames.get(json) : undefined;
}

const floatNames: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/**
 * The outermost level of `json` in a form that the exact reader accepts; `json` itself where there
 * is none. Containers keep the order and the number of their items, so that positions agree.
 */
export type ExactForm = (json: JsonValue) => JsonValue;

export const exactFormOf: (type: AlgebraicType, typespace?: Typespace) => ExactForm = perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref':
        return exactFormOf(resolveType(type, typespace), typespace);
      case 'product': {
        const special = specialProductKindOf(type);
        return special === undefined ? productForm(type, typespace) : specialForms[special];
      }
      case 'sum':
        return specialKindOf(type) === 'option'
          ? optionForm(type, typespace)
          : sumForm(type.variants, typespace);
      case 'i64':
      case 'u64':
      case 'i128':
      case 'u128':
        return unquoted;
      case 'i256':
      case 'u256':
        return hexadecimal;
      default:
        return unchanged;
    }
  },
);

const unchanged: ExactForm = (json) => json;

/** An integer in quotes as a number. */
export function unquoted(json: JsonValue): JsonValue {
  return typeof json === 'string' && isDecimal(json) ? new JsonNumber(json) : json;
}

function hexadecimal(json: JsonValue): JsonValue {
  const text = json instanceof JsonNumber ? json.text : json;
  if (typeof text !== 'string' || !isDecimal(text)) return json;
  const value = BigInt(text);
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}

/** True for the digits of an integer; more than fit 256 bits are none, for they take long. */
function isDecimal(text: string): boolean {
  return /^-?(?:0|[1-9]\d{0,77})$/.test(text);
}

function parsed(parse: (text: string) => bigint | undefined, show: (value: bigint) => JsonValue) {
  return (json: JsonValue): JsonValue => {
    const text = json instanceof JsonNumber ? json.text : json;
    const value = typeof text === 'string' ? parse(text) : undefined;
    return value === undefined ? json : [show(value)];
  };
}

const asNumber = (value: bigint) => new JsonNumber(String(value));
const orMicros = (parse: (text: string) => bigint | undefined) => (text: string) =>
  isDecimal(text) ? BigInt(text) : parse(text);

const specialForms: Readonly<Record<SpecialProductKind, ExactForm>> = {
  identity: parsed(identityFromHex, (value) => `0x${value.toString(16)}`),
  connectionId: parsed(connectionIdFromHex, asNumber),
  uuid: parsed(uuidFromText, asNumber),
  timestamp: parsed(orMicros(timestampFromText), asNumber),
  timeDuration: parsed(orMicros(timeDurationFromText), asNumber),
};

/** A typespace that says what is filled in where objects lack elements. */
export interface FilledTypespace extends Typespace {
  /** By product of the typespace: for each element the plain form of a value, or `undefined`. */
  readonly leftOut: ReadonlyMap<AlgebraicType, readonly (JsonValue | undefined)[]>;
  /** Those of them that are parameters, which are filled in at the end of an array as well. */
  readonly parameters?: ReadonlySet<AlgebraicType>;
}

/** For each element what an object gets in place of it; `undefined`: it has to be there. */
export function filledElements(
  type: ProductType,
  typespace: Typespace | FilledTypespace,
): readonly (JsonValue | undefined)[] {
  const filled = 'leftOut' in typespace ? typespace.leftOut.get(type) : undefined;
  return type.elements.map((element, at) =>
    isOption(element.type, typespace) ? null : filled?.[at],
  );
}

/** `filledElements` for an array that lacks elements at its end. */
export function filledItems(
  type: ProductType,
  typespace: Typespace | FilledTypespace,
): readonly (JsonValue | undefined)[] {
  const filled = filledElements(type, typespace);
  const isCall = 'parameters' in typespace && typespace.parameters?.has(type) === true;
  // What is missing from a row could not be told from what is misplaced.
  return isCall ? filled : filled.map((value) => (value === null ? null : undefined));
}

/** Elements that can still be filled in by the read that runs: reads do not wait. */
let fillsLeft = Number.POSITIVE_INFINITY;

/**
 * Runs a read in which at most `limits.jsonFillsMax` elements are filled in, and returns how many
 * were: a short text could else stand for any number of them. Throws `Misfit` beyond.
 */
export function countingFills<Read>(read: () => Read): { readonly value: Read; fills: number } {
  fillsLeft = limits.jsonFillsMax;
  try {
    const value = read();
    return { value, fills: limits.jsonFillsMax - fillsLeft };
  } finally {
    fillsLeft = Number.POSITIVE_INFINITY;
  }
}

function spendFills(count: number): void {
  fillsLeft -= count;
  if (fillsLeft >= 0) return;
  throw new Misfit(
    `rows leave out more than ${limits.jsonFillsMax} values in all; write them, or fewer rows`,
  );
}

/** Keys as the type has them, and values for elements that were left out. */
function productForm(type: ProductType, typespace: Typespace): ExactForm {
  const { elements } = type;
  if (elements.length === 0) return unchanged;
  const names = new LooseNames(elements);
  const filled = filledElements(type, typespace);
  const items = filledItems(type, typespace);
  const countMin = items.lastIndexOf(undefined) + 1;
  return (json) => {
    if (Array.isArray(json)) {
      if (json.length < countMin || json.length >= elements.length) return json;
      spendFills(elements.length - json.length);
      return [...json, ...items.slice(json.length).map((value) => value ?? null)];
    }
    if (!(json instanceof JsonObject) || json.size > elements.length) return json;
    const given = elements.map(() => false);
    const members = [...json.members];
    for (let at = 0; at < members.length; at += 2) {
      const index = names.find(members[at] as string);
      if (index < 0) return json;
      members[at] = elements[index]?.name as string;
      given[index] = true;
    }
    spendFills(elements.length - json.size);
    for (const [index, { name }] of elements.entries()) {
      const value = filled[index];
      if (value !== undefined && !given[index] && name !== undefined) members.push(name, value);
    }
    return JsonObject.of(members);
  };
}

function isOption(type: AlgebraicType, typespace: Typespace): boolean {
  return specialKindOf(resolveType(type, typespace)) === 'option';
}

function sumForm(variants: readonly NamedType[], typespace: Typespace): ExactForm {
  const names = new LooseNames(variants);
  const isUnit = variants.map(({ type }) => specialKindOf(resolveType(type, typespace)) === 'unit');
  const unitForm = (given: JsonValue, otherwise: JsonValue): JsonValue => {
    const tag = typeof given === 'string' ? names.find(given) : -1;
    return isUnit[tag] ? JsonObject.of([keyOf(variants, tag), []]) : otherwise;
  };
  return (json) => {
    if (typeof json === 'string') return unitForm(json, json);
    if (Array.isArray(json)) {
      const [head, payload, ...more] = json;
      const tag = typeof head === 'string' && !isTag(head) ? names.find(head) : -1;
      if (tag < 0 || payload === undefined || more.length > 0) return json;
      return [keyOf(variants, tag), payload];
    }
    if (!(json instanceof JsonObject)) return json;
    if (json.size === 1) {
      const [key, payload] = json.entryAt(0);
      const tag = isTag(key) ? -1 : names.find(key);
      if (tag >= 0) return JsonObject.of([keyOf(variants, tag), payload]);
      return key === 'tag' ? unitForm(payload, json) : json;
    }
    const tag = json.size === 2 ? json.get('tag') : undefined;
    const payload = json.get('value');
    const found = typeof tag === 'string' && payload !== undefined ? names.find(tag) : -1;
    return found < 0 ? json : JsonObject.of([keyOf(variants, found), payload as JsonValue]);
  };
}

/** The name by which the exact reader knows a variant. */
function keyOf(variants: readonly NamedType[], tag: number): string {
  const name = variants[tag]?.name;
  return name === undefined || isTag(name) ? String(tag) : name;
}

/** Whether the exact reader takes a name for the number of a variant. */
function isTag(name: string): boolean {
  return /^\+?\d+$/.test(name);
}

function optionForm(type: SumType, typespace: Typespace): ExactForm {
  const [some] = type.variants;
  if (some === undefined) return unchanged;
  const inner = resolveType(some.type, typespace);
  // Without its key, none of the inner option would be none of the outer one.
  if (specialKindOf(inner) === 'option') return unchanged;
  return (json) => (json === null || isLong(json, inner) ? json : JsonObject.of(['some', json]));
}

/** True for the forms of an option that name `some` or `none`, as far as one level shows. */
function isLong(json: JsonValue, inner: AlgebraicType): boolean {
  let head: JsonValue | undefined;
  let payload: JsonValue | undefined;
  if (json instanceof JsonObject && json.size === 1) [head, payload] = json.entryAt(0);
  else if (Array.isArray(json) && json.length === 2) [head, payload] = json;
  if (head === undefined || payload === undefined) return false;
  const key = head instanceof JsonNumber ? head.text : head;
  if (key === 'some' || key === '0') return canBe(payload, inner);
  return (key === 'none' || key === '1') && canBe(payload, { kind: 'product', elements: [] });
}

/** Whether `json` has the outermost form of a value of this type, for the exact reader. */
function canBe(json: JsonValue, type: AlgebraicType): boolean {
  switch (type.kind) {
    case 'product':
      if (specialProductKindOf(type) !== undefined) return true;
      if (Array.isArray(json)) return json.length === type.elements.length;
      return json instanceof JsonObject;
    case 'array':
      return Array.isArray(json) || typeof json === 'string';
    default:
      return true;
  }
}

/**
 * The plain form of values: JSON as people and agents read and write it.
 *
 * | type | form |
 * |---|---|
 * | product | object by element name |
 * | sum | `"Name"`; with a payload `{"Name":payload}` |
 * | option | the value or `null`; `{"some":value}` where the bare value could be mistaken |
 * | Timestamp | `"2026-01-31T12:00:00.5Z"`; outside the years 0 to 9999 its microseconds |
 * | TimeDuration | `"1h30m"`, `"1.5s"`, `"-250us"` |
 * | Identity, ConnectionId, bytes | hexadecimal digits, without prefix |
 * | Uuid | the usual text |
 * | integers | a number to 2^53 on either side of zero, decimal digits in quotes beyond |
 * | floats | as in the other shapes; `"NaN"`, `"Infinity"`, `"-Infinity"` |
 */
import { BinaryReader } from './binary-reader.ts';
import { connectionIdToHex } from './connection-id.ts';
import { encodeValue } from './encode.ts';
import { float32Text, float64Text } from './float-text.ts';
import { identityToHex } from './identity.ts';
import {
  compilePrinter,
  keyText,
  type Printer,
  type PrinterOf,
  sumPrinter,
  type VariantForm,
} from './json-printer.ts';
import { perType } from './per-type.ts';
import { type SpecialProductKind, specialKindOf, specialProductKindOf } from './special-types.ts';
import { timeDurationToShortText } from './time-duration-text.ts';
import { timestampToShortText } from './timestamp.ts';
import type { AlgebraicType, NamedType, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import { uuidToText } from './uuid.ts';
import type { Value } from './value.ts';

/** Writes values of `type` in the plain form. */
export function plainWriterOf(
  type: AlgebraicType,
  typespace?: Typespace,
): (value: Value) => string {
  const print = plainPrinterOf(type, typespace);
  return (value) => print(new BinaryReader(encodeValue(type, value, typespace)), 0);
}

/** Writes encoded values in the plain form. */
export const plainPrinterOf: PrinterOf = perType((type, typespace) => {
  const special = specialProductKindOf(type);
  if (special !== undefined) return specialPrinters[special];
  if (type.kind === 'sum') {
    return sumPrinter(plainForms(type, typespace), typespace, plainPrinterOf);
  }
  const print = scalarPrinters.get(type.kind);
  return print ?? compilePrinter(type, typespace, plainPrinterOf, true);
});

/** The forms of the variants of a sum; other types have none. */
export const plainForms: (type: AlgebraicType, typespace: Typespace) => readonly VariantForm[] =
  perType((type, typespace) => {
    if (type.kind !== 'sum') return [];
    const [some] = type.variants;
    return specialKindOf(type) === 'option' && some !== undefined
      ? optionForms(some, typespace)
      : type.variants.map((variant, tag) => variantForm(variant, tag, typespace));
  });

function variantForm(variant: NamedType, tag: number, typespace: Typespace): VariantForm {
  if (specialKindOf(resolveType(variant.type, typespace)) === 'unit') {
    return { open: JSON.stringify(variant.name ?? String(tag)), payload: undefined, close: '' };
  }
  return { open: `{${keyText(variant, tag)}`, payload: variant.type, close: '}' };
}

function optionForms(some: NamedType, typespace: Typespace): VariantForm[] {
  const isLong = isLikeOption(resolveType(some.type, typespace));
  const [open, close] = isLong ? ['{"some":', '}'] : ['', ''];
  return [
    { open, payload: some.type, close },
    { open: 'null', payload: undefined, close: '' },
  ];
}

/** True for types with a value whose form is that of an option: `null`, or a key that names one. */
function isLikeOption(type: AlgebraicType): boolean {
  if (type.kind === 'sum') return type.variants.some(isNamedLikeOption);
  return (
    type.kind === 'product' && type.elements.length === 1 && isNamedLikeOption(type.elements[0])
  );
}

function isNamedLikeOption(item: NamedType | undefined): boolean {
  // Readers take a key of digits for a tag.
  return item?.name === undefined || /^(?:some|none|\+?\d+)$/.test(item.name);
}

const specialPrinters: Readonly<Record<SpecialProductKind, Printer>> = {
  identity: (reader) => `"${identityToHex(reader.u256())}"`,
  connectionId: (reader) => `"${connectionIdToHex(reader.u128())}"`,
  uuid: (reader) => `"${uuidToText(reader.u128())}"`,
  timestamp: (reader) => `"${timestampToShortText(reader.i64())}"`,
  timeDuration: (reader) => `"${timeDurationToShortText(reader.i64())}"`,
};

const scalarPrinters: ReadonlyMap<string, Printer> = new Map<string, Printer>([
  ['i64', (reader) => integerText(reader.i64())],
  ['u64', (reader) => integerText(reader.u64())],
  ['i128', (reader) => integerText(reader.i128())],
  ['u128', (reader) => integerText(reader.u128())],
  ['i256', (reader) => integerText(reader.i256())],
  ['u256', (reader) => integerText(reader.u256())],
  ['f32', (reader) => floatText(reader.f32(), float32Text)],
  ['f64', (reader) => floatText(reader.f64(), float64Text)],
]);

/** The largest integer up to which every one is a float, and the sign does not matter. */
const exactMax = 2n ** 53n;

function integerText(value: bigint): string {
  return value < -exactMax || value > exactMax ? `"${value}"` : String(value);
}

function floatText(value: number, finiteText: (value: number) => string): string {
  return Number.isFinite(value) ? finiteText(value) : `"${value}"`;
}

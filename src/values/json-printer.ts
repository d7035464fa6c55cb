/** What prints values as JSON: a function for each type, straight from the encoding. */
import { limits } from '../limits.ts';
import { type BinaryReader, tooDeep, unknownTag } from './binary-reader.ts';
import { float32Text, float64Text } from './float-text.ts';
import { toHex } from './hex.ts';
import { fixedSizeOf } from './layout.ts';
import { productDepthMax } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, SumType, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

/** Prints a part of a value; `depth` is the nesting depth of that part. */
export type Printer = (reader: BinaryReader, depth: number) => string;
export type PrinterOf = (type: AlgebraicType, typespace?: Typespace) => Printer;

/** Of the value that is being printed: printers are shared, and none is interrupted. */
let partCharactersMax = Number.POSITIVE_INFINITY;
const partTooLong = new Error('the JSON of a part is too long');

/**
 * What `print` returns, or `undefined` if an array or a product in it has more than `charactersMax`
 * characters.
 */
export function inShortParts(charactersMax: number, print: () => string): string | undefined {
  partCharactersMax = charactersMax;
  try {
    return print();
  } catch (error) {
    if (error !== partTooLong) throw error;
    return undefined;
  } finally {
    partCharactersMax = Number.POSITIVE_INFINITY;
  }
}

/** The printer of one type; `printerOf` gives those of its parts. */
export function compilePrinter(
  type: AlgebraicType,
  typespace: Typespace,
  printerOf: PrinterOf,
  isNamed: boolean,
): Printer {
  switch (type.kind) {
    case 'ref': {
      let target: Printer | undefined;
      return (reader, depth) => {
        target ??= printerOf(resolveType(type, typespace), typespace);
        return target(reader, depth);
      };
    }
    case 'product': {
      const parts = type.elements.map((element) => printerOf(element.type, typespace));
      return isNamed
        ? namedProductPrinter(type.elements, parts)
        : listPrinter(parts, productDepthMax(type.elements));
    }
    case 'sum':
      return sumPrinter(variantForms(type, isNamed), typespace, printerOf);
    case 'array':
      if (type.element.kind === 'u8') return (reader) => `"${toHex(reader.bytes())}"`;
      return arrayPrinter(
        printerOf(type.element, typespace),
        fixedSizeOf(type.element, typespace) === 0,
      );
    default:
      return scalarPrinters[type.kind];
  }
}

function namedProductPrinter(elements: readonly NamedType[], parts: readonly Printer[]): Printer {
  if (parts.length === 0) return () => '{}';
  const fields = parts.map((print, index) => ({
    print,
    key: `${index === 0 ? '' : ','}${keyText(elements[index], index)}`,
  }));
  const depthMax = productDepthMax(elements);
  return (reader, depth) => {
    if (depth >= depthMax) throw tooDeep();
    let text = '{';
    for (const { key, print } of fields) {
      text += key + print(reader, depth + 1);
      if (text.length > partCharactersMax) throw partTooLong;
    }
    return `${text}}`;
  };
}

function listPrinter(parts: readonly Printer[], depthMax: number): Printer {
  if (parts.length === 0) return () => '[]';
  return (reader, depth) => {
    if (depth >= depthMax) throw tooDeep();
    let text = '';
    for (const print of parts) {
      text += `${text === '' ? '[' : ','}${print(reader, depth + 1)}`;
      if (text.length > partCharactersMax) throw partTooLong;
    }
    return `${text}]`;
  };
}

/** The JSON of one variant: the payload between two texts, or one text for a unit payload. */
export interface VariantForm {
  readonly open: string;
  readonly payload: AlgebraicType | undefined;
  readonly close: string;
}

/** Sums as one-key objects, or as `[tag, payload]`. */
export function variantForms({ variants }: SumType, isNamed: boolean): VariantForm[] {
  return variants.map((variant, tag) => ({
    open: isNamed ? `{${keyText(variant, tag)}` : `[${tag},`,
    payload: variant.type,
    close: isNamed ? '}' : ']',
  }));
}

/** The printer of a sum with one form for each variant. */
export function sumPrinter(
  forms: readonly VariantForm[],
  typespace: Typespace,
  printerOf: PrinterOf,
): Printer {
  const payloads = forms.map(({ payload }) =>
    payload === undefined ? undefined : printerOf(payload, typespace),
  );
  return (reader, depth) => {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const tag = reader.u8();
    const form = forms[tag];
    if (form === undefined) throw unknownTag(tag);
    const print = payloads[tag];
    if (print === undefined) return form.open;
    return form.open + print(reader, depth + 1) + form.close;
  };
}

function arrayPrinter(print: Printer, isEmpty: boolean): Printer {
  return (reader, depth) => {
    if (depth >= limits.nestingDepthMax) throw tooDeep();
    const count = reader.count(isEmpty);
    let text = '[';
    for (let index = 0; index < count; index += 1) {
      if (index > 0) text += ',';
      text += print(reader, depth + 1);
      if (text.length > partCharactersMax) throw partTooLong;
    }
    return `${text}]`;
  };
}

/** A nameless element or variant is identified by its position, which is how readers accept it. */
export function keyText(item: NamedType | undefined, index: number): string {
  return `${JSON.stringify(item?.name ?? String(index))}:`;
}

const scalarPrinters: Readonly<Record<ScalarKind, Printer>> = {
  string: (reader) => JSON.stringify(reader.string()),
  bool: (reader) => (reader.bool() ? 'true' : 'false'),
  i8: (reader) => String(reader.i8()),
  u8: (reader) => String(reader.u8()),
  i16: (reader) => String(reader.i16()),
  u16: (reader) => String(reader.u16()),
  i32: (reader) => String(reader.i32()),
  u32: (reader) => String(reader.u32()),
  i64: (reader) => String(reader.i64()),
  u64: (reader) => String(reader.u64()),
  i128: (reader) => String(reader.i128()),
  u128: (reader) => String(reader.u128()),
  i256: (reader) => `"${signedHex(reader.i256())}"`,
  u256: (reader) => `"${signedHex(reader.u256())}"`,
  f32: (reader) => {
    const value = reader.f32();
    return Number.isFinite(value) ? float32Text(value) : 'null';
  },
  f64: (reader) => {
    const value = reader.f64();
    return Number.isFinite(value) ? float64Text(value) : 'null';
  },
};

function signedHex(value: bigint): string {
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}

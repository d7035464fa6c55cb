/**
 * Types of values, as a schema or an answer of SQL describes them. Children are found when they are
 * asked for, as types can contain themselves.
 */
import { isObject, type Json, listOf, objectOf, textOf } from './json.ts';

export interface Field {
  readonly name: string;
  readonly type: ValueType;
}

export type ScalarKind =
  | 'bool'
  | 'string'
  | 'bytes'
  | 'identity'
  | 'connection'
  | 'timestamp'
  | 'duration'
  | 'uuid'
  | 'unit';

export type ValueType =
  | { readonly kind: ScalarKind }
  | { readonly kind: 'integer'; readonly bits: number; readonly isSigned: boolean }
  | { readonly kind: 'float'; readonly bits: number }
  | { readonly kind: 'array'; readonly item: () => ValueType }
  | { readonly kind: 'option'; readonly some: () => ValueType }
  | { readonly kind: 'product'; readonly fields: () => readonly Field[] }
  | { readonly kind: 'sum'; readonly variants: () => readonly Field[] };

/** What the indices of references lead to. */
export type Typespace = readonly Json[];

const special: Readonly<Record<string, ScalarKind>> = {
  __identity__: 'identity',
  __connection_id__: 'connection',
  __timestamp_micros_since_unix_epoch__: 'timestamp',
  __time_duration_micros__: 'duration',
  __uuid__: 'uuid',
};

const referencesMax = 64;

export function typeOfJson(json: Json | undefined, typespace: Typespace): ValueType {
  let current = json;
  for (let steps = 0; steps < referencesMax && isObject(current); steps += 1) {
    if (typeof current.Ref !== 'number') break;
    current = typespace[current.Ref];
  }
  const [[kind, body] = ['', null]] = Object.entries(objectOf(current));
  const integer = /^([IU])(8|16|32|64|128|256)$/.exec(kind);
  if (integer !== null) {
    return { kind: 'integer', bits: Number(integer[2]), isSigned: integer[1] === 'I' };
  }
  if (kind === 'F32' || kind === 'F64') return { kind: 'float', bits: Number(kind.slice(1)) };
  if (kind === 'Bool') return { kind: 'bool' };
  if (kind === 'Array') return arrayType(body, typespace);
  if (kind === 'Product') return productType(fieldsOf(objectOf(body).elements), typespace);
  if (kind === 'Sum') return sumType(fieldsOf(objectOf(body).variants), typespace);
  return { kind: 'string' };
}

function arrayType(item: Json, typespace: Typespace): ValueType {
  if (isObject(item) && item.U8 !== undefined) return { kind: 'bytes' };
  return { kind: 'array', item: () => typeOfJson(item, typespace) };
}

function productType(fields: readonly RawField[], typespace: Typespace): ValueType {
  if (fields.length === 0) return { kind: 'unit' };
  const meaning = fields.length === 1 ? special[fields[0]?.name ?? ''] : undefined;
  if (meaning !== undefined) return { kind: meaning };
  return { kind: 'product', fields: () => resolved(fields, typespace) };
}

function sumType(variants: readonly RawField[], typespace: Typespace): ValueType {
  const [some, none] = variants;
  if (variants.length === 2 && some?.name === 'some' && none?.name === 'none') {
    return { kind: 'option', some: () => typeOfJson(some.type, typespace) };
  }
  return { kind: 'sum', variants: () => resolved(variants, typespace) };
}

interface RawField {
  readonly name: string;
  readonly type: Json | undefined;
}

function fieldsOf(json: Json | undefined): readonly RawField[] {
  return listOf(json).map((each, position) => {
    const { name, algebraic_type: type } = objectOf(each);
    const given = isObject(name) ? name.some : name;
    return { name: textOf(given) || String(position), type };
  });
}

function resolved(fields: readonly RawField[], typespace: Typespace): readonly Field[] {
  return fields.map(({ name, type }) => ({ name, type: typeOfJson(type, typespace) }));
}

/** The elements of a product that a schema describes, such as the columns of a table. */
export function fieldsOfProduct(product: Json | undefined, typespace: Typespace): Field[] {
  const elements = fieldsOf(objectOf(objectOf(product).Product ?? product).elements);
  return [...resolved(elements, typespace)];
}

/** The usual short name of a type, such as `u64`, `string?` or `[identity]`. */
export function typeName(type: ValueType, depth = 0): string {
  if (depth > 4) return '…';
  switch (type.kind) {
    case 'integer':
      return `${type.isSigned ? 'i' : 'u'}${type.bits}`;
    case 'float':
      return `f${type.bits}`;
    case 'array':
      return `[${typeName(type.item(), depth + 1)}]`;
    case 'option':
      return `${typeName(type.some(), depth + 1)}?`;
    case 'product':
      return 'object';
    case 'sum':
      return isEnum(type) ? 'enum' : 'union';
    default:
      return type.kind;
  }
}

/** Whether no variant of a sum has a payload. */
export function isEnum(type: ValueType): boolean {
  return type.kind === 'sum' && type.variants().every((variant) => variant.type.kind === 'unit');
}

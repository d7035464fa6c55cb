/**
 * Values as people type them into forms. A `Draft` is what stands in the fields, right or wrong; it
 * is read into the plain form of JSON, which calls take, and made from that form.
 */
import { isObject, type Json, listOf, textOf } from '../service/json.ts';
import { type Field, isEnum, type ValueType } from '../service/types.ts';

export type Draft =
  | string
  | boolean
  | { readonly kind: 'unit' }
  | { readonly kind: 'none' }
  | { readonly kind: 'some'; readonly value: Draft }
  | { readonly kind: 'list'; readonly items: readonly Draft[] }
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, Draft>> }
  | { readonly kind: 'variant'; readonly name: string; readonly payload: Draft };

/** What is wrong with one field; the path has names, variants and numbers of items. */
export interface DraftFault {
  readonly path: string;
  readonly text: string;
}

export type DraftRead =
  | { readonly value: Json; readonly faults: readonly [] }
  | { readonly value: undefined; readonly faults: readonly DraftFault[] };

/** Types can contain themselves: below this nothing is filled in. */
const depthMax = 12;
const unit: Draft = { kind: 'unit' };

/** What stands in a form at first: empty texts, zero, the first variant, no options. */
export function emptyDraft(type: ValueType, depth = 0): Draft {
  if (depth > depthMax) return unit;
  switch (type.kind) {
    case 'bool':
      return false;
    case 'unit':
      return unit;
    case 'option':
      return { kind: 'none' };
    case 'array':
      return { kind: 'list', items: [] };
    case 'product':
      return emptyFields(type.fields(), depth);
    case 'sum': {
      const [first] = type.variants();
      if (first === undefined) return unit;
      const payload = emptyDraft(first.type, depth + 1);
      return { kind: 'variant', name: first.name, payload };
    }
    default:
      return '';
  }
}

export function emptyFields(fields: readonly Field[], depth = 0): Draft {
  const entries = fields.map(({ name, type }) => [name, emptyDraft(type, depth + 1)] as const);
  return { kind: 'fields', fields: Object.fromEntries(entries) };
}

/** Reads a draft, with the faults of all its fields. */
export function readDraft(type: ValueType, draft: Draft | undefined, path = ''): DraftRead {
  switch (type.kind) {
    case 'bool':
      return good(draft === true);
    case 'unit':
      return good({});
    case 'string':
      return good(textIn(draft));
    case 'option':
      return readOption(type.some(), draft, path);
    case 'array':
      return readList(type.item(), draft, path);
    case 'product':
      return readFields(type.fields(), draft, path);
    case 'sum':
      return readVariant(type.variants(), draft, path);
    default: {
      const read = readScalar(type, textIn(draft).trim());
      return 'fault' in read ? bad(path, read.fault) : good(read.value);
    }
  }
}

/** Reads the fields of a product, such as the parameters of a function. */
export function readFields(
  fields: readonly Field[],
  draft: Draft | undefined,
  path = '',
): DraftRead {
  const given = isKind(draft, 'fields') ? draft.fields : {};
  const reads = fields.map(({ name, type }) => {
    return [name, readDraft(type, given[name], below(path, name))] as const;
  });
  const faults = reads.flatMap(([, { faults: found }]) => found);
  if (faults.length > 0) return { value: undefined, faults };
  const values = reads.map(([name, { value }]) => [name, value ?? null] as const);
  return good(Object.fromEntries(values));
}

/** Where a field is, as its faults name it. */
export function below(path: string, step: string | number): string {
  return `${path}/${String(step).replaceAll('/', '∕')}`;
}

function readOption(some: ValueType, draft: Draft | undefined, path: string): DraftRead {
  if (!isKind(draft, 'some')) return good(null);
  const read = readDraft(some, draft.value, below(path, 'some'));
  if (read.value === undefined) return read;
  // The bare value could be read as an option of its own.
  const isBare = ['integer', 'float', 'bool', 'string'].includes(some.kind);
  return isBare ? read : good({ some: read.value });
}

function readList(item: ValueType, draft: Draft | undefined, path: string): DraftRead {
  const items = isKind(draft, 'list') ? draft.items : [];
  const reads = items.map((each, at) => readDraft(item, each, below(path, at)));
  const faults = reads.flatMap(({ faults: found }) => found);
  if (faults.length > 0) return { value: undefined, faults };
  return good(reads.map(({ value }) => value ?? null));
}

function readVariant(
  variants: readonly Field[],
  draft: Draft | undefined,
  path: string,
): DraftRead {
  const name = isKind(draft, 'variant') ? draft.name : '';
  const variant = variants.find((each) => each.name === name);
  if (variant === undefined || !isKind(draft, 'variant')) return bad(path, 'Choose a variant');
  if (variant.type.kind === 'unit') return good(name);
  const read = readDraft(variant.type, draft.payload, below(path, name));
  return read.value === undefined ? read : good({ [name]: read.value });
}

type ScalarRead = { readonly value: Json } | { readonly fault: string };

function readScalar(type: ValueType, text: string): ScalarRead {
  switch (type.kind) {
    case 'integer':
      return readInteger(text, type);
    case 'float':
      return readFloat(text);
    case 'bytes':
      return readBytes(text);
    case 'identity':
    case 'connection': {
      const digits = type.kind === 'identity' ? 64 : 32;
      const hex = text.replace(/^0x/i, '');
      if (hex.length === digits && /^[\da-f]*$/i.test(hex)) return { value: hex.toLowerCase() };
      return { fault: `Expected ${digits} hex digits; there are ${hex.length} characters` };
    }
    case 'uuid':
      if (/^[\da-f]{8}(-?[\da-f]{4}){3}-?[\da-f]{12}$/i.test(text)) return { value: text };
      return { fault: 'Expected a UUID, such as 01888d6e-5c00-7000-8000-000000000000' };
    case 'timestamp':
      return readTime(text);
    case 'duration':
      if (/^-?\d+$/.test(text)) return { value: text };
      if (/^-?(\d+(\.\d+)?(d|h|m|s|ms|us))+$/.test(text)) return { value: text };
      return { fault: 'Expected a duration, such as 1h30m, 1.5s or 250ms' };
    default:
      return { value: text };
  }
}

function readInteger(text: string, type: { bits: number; isSigned: boolean }): ScalarRead {
  const { bits, isSigned } = type;
  const digits = text.replaceAll(/[_,\s]/g, '');
  if (!/^-?\d+$/.test(digits)) return { fault: 'Expected a whole number' };
  const value = BigInt(digits);
  const [least, most] = isSigned
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n];
  if (value < least || value > most) {
    const name = `${isSigned ? 'i' : 'u'}${bits}`;
    const range = bits > 64 ? `${bits} bits` : `${least} to ${most}`;
    return { fault: `Out of range for ${name}: ${range}` };
  }
  const number = Number(value);
  return { value: Number.isSafeInteger(number) ? number : String(value) };
}

function readFloat(text: string): ScalarRead {
  if (/^(NaN|-?Infinity)$/.test(text)) return { value: text };
  const value = Number(text);
  if (text === '' || !Number.isFinite(value)) return { fault: 'Expected a number' };
  return { value };
}

/** Hex digits, or a text in double quotes, which becomes its UTF-8. */
function readBytes(text: string): ScalarRead {
  const [, quoted] = /^"(.*)"$/s.exec(text) ?? [];
  if (quoted !== undefined) {
    const bytes = [...new TextEncoder().encode(quoted)];
    return { value: bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('') };
  }
  const hex = text.replace(/^0x/i, '').replaceAll(/\s/g, '');
  if (hex.length % 2 === 0 && /^[\da-f]*$/i.test(hex)) return { value: hex.toLowerCase() };
  return { fault: 'Expected pairs of hex digits, or a text in "quotes"' };
}

function readTime(text: string): ScalarRead {
  if (/^-?\d+$/.test(text)) return { value: text };
  // Without a zone it would mean another moment for everybody.
  const isWhole = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/i.test(text);
  if (!isWhole || Number.isNaN(Date.parse(text.replace(' ', 'T')))) {
    return { fault: 'Expected a time with its zone, such as 2026-01-31T12:00:00Z' };
  }
  const whole = text.replace(' ', 'T');
  return {
    value: /T\d\d:\d\d(Z|[+-])/i.test(whole) ? whole.replace(/(T\d\d:\d\d)/, '$1:00') : whole,
  };
}

/** The draft for a value in the plain form; fields that do not fit are empty. */
export function draftOf(type: ValueType, json: Json | undefined, depth = 0): Draft {
  if (json === undefined || depth > depthMax) return emptyDraft(type, depth);
  switch (type.kind) {
    case 'bool':
      return json === true;
    case 'unit':
      return unit;
    case 'option': {
      if (json === null) return { kind: 'none' };
      const bare = isObject(json) && json.some !== undefined ? json.some : json;
      return { kind: 'some', value: draftOf(type.some(), bare, depth + 1) };
    }
    case 'array':
      return {
        kind: 'list',
        items: listOf(json).map((each) => draftOf(type.item(), each, depth + 1)),
      };
    case 'product':
      return draftOfFields(type.fields(), json, depth);
    case 'sum':
      return draftOfVariant(type, json, depth);
    default:
      return isObject(json) || Array.isArray(json) ? '' : textOf(json);
  }
}

/** A draft of the fields of a product, from an object by name. */
export function draftOfFields(fields: readonly Field[], json: Json | undefined, depth = 0): Draft {
  const given = isObject(json) ? json : {};
  const entries = fields.map(({ name, type }) => {
    return [name, draftOf(type, given[name], depth + 1)] as const;
  });
  return { kind: 'fields', fields: Object.fromEntries(entries) };
}

function draftOfVariant(type: ValueType & { kind: 'sum' }, json: Json, depth: number): Draft {
  const [name, payload] = isObject(json) ? (Object.entries(json)[0] ?? []) : [textOf(json)];
  const variant = type.variants().find((each) => each.name === name);
  if (variant === undefined) return emptyDraft(type, depth);
  return {
    kind: 'variant',
    name: variant.name,
    payload: draftOf(variant.type, payload, depth + 1),
  };
}

/** What a field is filled with, as an example. */
export function exampleOf(type: ValueType): string {
  switch (type.kind) {
    case 'integer':
    case 'float':
      return '0';
    case 'timestamp':
      return '2026-01-31T12:00:00Z';
    case 'duration':
      return '1h30m';
    case 'identity':
    case 'connection':
      return type.kind === 'identity' ? '64 hex digits' : '32 hex digits';
    case 'bytes':
      return 'hex digits, or a text in "quotes"';
    case 'uuid':
      return '01888d6e-5c00-7000-8000-000000000000';
    default:
      return '';
  }
}

/** Whether a value of this type is one field, without others inside. */
export function isOneField(type: ValueType): boolean {
  if (type.kind === 'sum') return isEnum(type);
  return !['array', 'product', 'option'].includes(type.kind);
}

function isKind<Kind extends 'some' | 'list' | 'fields' | 'variant'>(
  draft: Draft | undefined,
  kind: Kind,
): draft is Extract<Draft, { readonly kind: Kind }> {
  return typeof draft === 'object' && draft.kind === kind;
}

function textIn(draft: Draft | undefined): string {
  return typeof draft === 'string' ? draft : '';
}

function good(value: Json): DraftRead {
  return { value, faults: [] };
}

function bad(path: string, text: string): DraftRead {
  return { value: undefined, faults: [{ path, text }] };
}

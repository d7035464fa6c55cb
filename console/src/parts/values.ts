/**
 * Values of SQL as people read them. A value comes in the positional form: products are lists, sums
 * are `[tag, payload]`, and integers of 16 digits or more are texts of their digits.
 */
import type { Json } from '../service/json.ts';
import type { Field, ValueType } from '../service/types.ts';
import { shortIdentity } from './identity.tsx';
import { durationText, localTime, utcTime } from './times.ts';

/** How a value is drawn: what it says, in which colour, and what is behind it. */
export interface Shown {
  readonly text: string;
  readonly kind: 'text' | 'number' | 'special' | 'null' | 'bool';
  /** More than fits into a cell, or another form of it. */
  readonly title?: string;
}

const cellCharactersMax = 240;
const depthMax = 12;

export function shownValue(type: ValueType, value: Json | undefined): Shown {
  if (value === undefined) return { text: '', kind: 'null' };
  switch (type.kind) {
    case 'integer':
    case 'float':
      return { text: value === null ? 'NaN' : String(value), kind: 'number' };
    case 'bool':
      return { text: String(value), kind: 'bool' };
    case 'string':
      return cut(String(value));
    case 'bytes':
      return shownBytes(String(value));
    case 'identity':
    case 'connection':
      return {
        text: shortIdentity(hexOf(value, type.kind)),
        kind: 'special',
        title: hexOf(value, type.kind),
      };
    case 'timestamp':
      return shownTime(microsOf(value));
    case 'duration':
      return {
        text: durationText(microsOf(value)),
        kind: 'special',
        title: `${microsOf(value)} µs`,
      };
    case 'uuid':
      return { text: uuidOf(value), kind: 'special' };
    case 'unit':
      return { text: '()', kind: 'null' };
    case 'option':
      return shownOption(type.some(), value);
    default: {
      const text = JSON.stringify(plainValue(type, value));
      if (type.kind === 'sum') return shownSum(type.variants(), value, text);
      return { ...cut(text), kind: 'special' };
    }
  }
}

function shownOption(some: ValueType, value: Json): Shown {
  const [tag, payload] = variantOf(value);
  return tag === 0 ? shownValue(some, payload) : { text: 'none', kind: 'null' };
}

function shownSum(variants: readonly Field[], value: Json, whole: string): Shown {
  const [tag, payload] = variantOf(value);
  const variant = variants[tag];
  if (variant === undefined) return { ...cut(whole), kind: 'special' };
  if (variant.type.kind === 'unit') return { text: variant.name, kind: 'special' };
  const { text } = shownValue(variant.type, payload);
  return { ...cut(`${variant.name}(${text})`), kind: 'special', title: whole };
}

function shownTime(micros: bigint): Shown {
  const millis = Number(micros / 1_000n);
  const utc = utcTime(micros);
  if (Number.isNaN(new Date(millis).getTime())) return { text: utc, kind: 'special' };
  return { text: localTime(millis), kind: 'special', title: `${localTime(millis)} local\n${utc}` };
}

/** Bytes as text where they are text, else as hex digits. */
function shownBytes(hex: string): Shown {
  const text = textOfBytes(hex);
  if (text === undefined) return { ...cut(`0x${hex}`), kind: 'special' };
  return { ...cut(`"${text}"`), kind: 'special', title: `0x${hex.slice(0, 400)}` };
}

export function textOfBytes(hex: string): string | undefined {
  if (hex === '' || hex.length % 2 !== 0) return undefined;
  const pairs = hex.match(/../g) ?? [];
  try {
    const bytes = Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return /[\p{Cc}\p{Cn}\p{Co}]/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Characters that are not seen, or that turn what is seen around: controls, joiners, marks of
 * direction, fillers, tags. Line ends and tabs are left to who shows them; a joiner within an emoji
 * or a word of a script that needs it is a part of what is seen.
 */
const unseen = [
  String.raw`[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u115F\u1160]`,
  String.raw`[\u17B4\u17B5\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0]`,
  String.raw`(?<![\p{M}\p{Script=Arabic}\p{Script=Devanagari}])\u200C`,
  String.raw`(?<![\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D`,
  String.raw`(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]*)[\u{E0000}-\u{E007F}]`,
];
const unseenCharacters = new RegExp(unseen.join('|'), 'gu');

/** The text with its unseen characters as their numbers: `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replace(unseenCharacters, (character) => {
    const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${number}⟩`;
  });
}

function cut(text: string): Shown {
  if (text.length <= cellCharactersMax) return { text, kind: 'text' };
  return {
    text: `${text.slice(0, cellCharactersMax)}…`,
    kind: 'text',
    title: text.slice(0, 2_000),
  };
}

/** A value with the names of its type, as `JSON.stringify` writes it and a call takes it. */
export function plainValue(type: ValueType, value: Json | undefined, depth = 0): Json {
  if (value === undefined || depth > depthMax) return null;
  switch (type.kind) {
    case 'identity':
    case 'connection':
      return hexOf(value, type.kind);
    case 'timestamp':
      return utcTime(microsOf(value));
    case 'duration':
      return String(microsOf(value));
    case 'uuid':
      return uuidOf(value);
    case 'array':
      return Array.isArray(value)
        ? value.map((each: Json) => plainValue(type.item(), each, depth + 1))
        : value;
    case 'option': {
      const [tag, payload] = variantOf(value);
      return tag === 0 ? plainValue(type.some(), payload, depth + 1) : null;
    }
    case 'product':
      return plainProduct(type.fields(), value, depth);
    case 'sum': {
      const [tag, payload] = variantOf(value);
      const variant = type.variants()[tag];
      if (variant === undefined) return value;
      if (variant.type.kind === 'unit') return variant.name;
      return { [variant.name]: plainValue(variant.type, payload, depth + 1) };
    }
    default:
      return value;
  }
}

function plainProduct(fields: readonly Field[], value: Json, depth: number): Json {
  if (!Array.isArray(value)) return value;
  const items: readonly Json[] = value;
  const named = fields.map(({ name, type }, position) => {
    return [name, plainValue(type, items[position], depth + 1)] as const;
  });
  return Object.fromEntries(named);
}

/** Tag and payload of a sum. */
export function variantOf(value: Json): readonly [tag: number, payload: Json | undefined] {
  if (!Array.isArray(value)) return [-1, undefined];
  const [tag, payload] = value as readonly Json[];
  return [Number(tag), payload];
}

/** A value in the form in which people type it, and `literalOfText` reads it. */
export function typedText(type: ValueType, value: Json | undefined): string {
  if (type.kind === 'option') {
    const [tag, payload] = variantOf(value ?? null);
    return tag === 0 ? typedText(type.some(), payload) : '';
  }
  if (type.kind === 'duration') return `PT${Number(microsOf(value ?? 0)) / 1_000_000}S`;
  const plain = plainValue(type, value);
  return typeof plain === 'string' ? plain : JSON.stringify(plain);
}

/** What a product of one element holds. */
function inner(value: Json): Json | undefined {
  return Array.isArray(value) ? (value as readonly Json[])[0] : value;
}

export function hexOf(value: Json, kind: 'identity' | 'connection'): string {
  const number = BigInt(String(inner(value) ?? 0));
  return number.toString(16).padStart(kind === 'identity' ? 64 : 32, '0');
}

export function microsOf(value: Json): bigint {
  return BigInt(String(inner(value) ?? 0));
}

export function uuidOf(value: Json): string {
  const hex = hexOf(value, 'connection');
  const ends = [8, 12, 16, 20, 32];
  return ends.map((end, at) => hex.slice(ends[at - 1] ?? 0, end)).join('-');
}

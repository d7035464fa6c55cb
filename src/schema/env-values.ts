import { integerRange, isIntegerKind, isWideInteger } from '../values/integer-range.ts';
import type { ScalarKind } from '../values/type.ts';
import type { EnvDefinition } from './definition.ts';

/**
 * The configuration of a database: values that are set as texts, by name. A module declares which
 * of them it reads, and as what. This file travels inside user modules.
 */
export interface EnvTexts {
  /** Those that can be read here, by name. */
  readonly values: Readonly<Record<string, string>>;
  /** Names of those that are secrets, whether or not they can be read here. */
  readonly secrets: readonly string[];
}

export type EnvValue = string | boolean | number | bigint;

export type ConvertedEnv =
  | { readonly value: EnvValue; readonly fault?: undefined }
  /** What the text should be, as the end of a sentence about it; it does not quote the text. */
  | { readonly value?: undefined; readonly fault: string };

/** Says what is wrong with a name, or returns `undefined`. */
export function envNameFault(name: string): string | undefined {
  if (/^[A-Z][A-Z0-9_]{0,63}$/.test(name)) return undefined;
  const rule = 'begins with a capital letter A-Z, then has at most 63 of A-Z, 0-9 and _';
  return `\`${name}\` is not a name for env: it ${rule}`;
}

/** The value that a module reads for a text. */
export function convertEnv(kind: ScalarKind, text: string): ConvertedEnv {
  if (kind === 'string') return { value: text };
  if (kind === 'bool') {
    if (text === 'true' || text === 'false') return { value: text === 'true' };
    return { fault: '`true` or `false`' };
  }
  if (isIntegerKind(kind)) {
    const { min, max } = integerRange[kind];
    const integer = integerPattern.test(text) ? BigInt(text) : undefined;
    if (integer === undefined || integer < min || integer > max) {
      return { fault: `a whole number from ${min} to ${max}` };
    }
    return { value: isWideInteger(kind) ? integer : Number(integer) };
  }
  const float = floatPattern.test(text) ? Number(text) : Number.NaN;
  const value = kind === 'f32' ? Math.fround(float) : float;
  return Number.isFinite(value) ? { value } : { fault: 'a decimal number' };
}

/** Long enough for every integer; a longer text would take long to read. */
const integerPattern = /^-?\d{1,78}$/;
const floatPattern = /^-?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,4})?$/i;

/** The type of a value, as people read it. */
export function envTypeText({ kind, isSecret, isOptional }: EnvDefinition): string {
  const text = isSecret ? 'secret' : kind;
  return isOptional ? `optional ${text}` : text;
}

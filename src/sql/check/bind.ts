import { present } from '../../assert.ts';
import { encodeValue } from '../../values/encode.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import { JsonError, JsonNumber, type JsonValue, parseJson } from '../../values/json.ts';
import { bytesType, identityType, specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { badParameter, SqlFailure } from '../failure.ts';
import { joined } from '../functions/arrays.ts';
import { optionInnerType } from '../functions/convert.ts';
import { enumNames, variantsText } from '../functions/enum.ts';
import { intervalFromText } from '../functions/interval.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import { noneBytes, someOf } from '../functions/option-bytes.ts';
import { isLiteralName, isStoredTextName } from './shared-literals.ts';
import { shownType } from './shown-type.ts';
import type { ParameterSpec } from './typed.ts';

/** The values that a request can give a parameter. */
export type ParameterValue = ParameterScalar | readonly ParameterScalar[];

type ParameterScalar = string | number | bigint | boolean | null;

/**
 * The encoded values of a statement's parameters, in its order; `undefined` is null. A value is
 * read like a literal: its text counts, so `'5'` and `5` are the same number. Throws `SqlFailure`
 * with the code `sql.invalidParameter` for a value that does not fit its place.
 */
export function bindParameters(
  specs: readonly ParameterSpec[],
  values: ReadonlyMap<string, ParameterValue>,
  callerIdentity: CallerIdentity,
  typespace: Typespace,
): (Uint8Array | undefined)[] {
  return specs.map((spec) => {
    if (spec.name === undefined) return encodeIdentity(callerIdentity, spec.type);
    const value = values.get(spec.name);
    const shown = shownName(spec.name);
    if (value === undefined) throw badParameter(`The parameter ${shown} has no value`);
    if (isLiteralName(spec.name)) return bindLiteral(value as string, spec, typespace);
    return bindValue(value, spec, shown, typespace);
  });
}

/** Whether the literal that a parameter stands for is a value of its type. */
export function fitsParameter(text: string, spec: ParameterSpec, typespace: Typespace): boolean {
  return literalBytes(text, spec, typespace) !== undefined;
}

function bindLiteral(text: string, spec: ParameterSpec, typespace: Typespace): Uint8Array {
  return present(literalBytes(text, spec, typespace), 'a literal that was found to fit');
}

/** As the check reads a literal in the place of the parameter. */
function literalBytes(
  text: string,
  { name = '', type }: ParameterSpec,
  typespace: Typespace,
): Uint8Array | undefined {
  const inner = optionInnerType(type, typespace);
  const plain = resolveType(inner ?? type, typespace);
  const isText = plain.kind === 'string' || enumNames(plain) !== undefined;
  if (isStoredTextName(name) && !isText) return undefined;
  const bytes = encodeLiteralText(text, plain);
  return bytes === undefined || inner === undefined ? bytes : someOf(bytes);
}

/** The caller's identity, or its 32 bytes, most significant first. */
function encodeIdentity(identity: CallerIdentity, type: AlgebraicType): Uint8Array {
  const little = encodeValue(identityType, [identity]);
  return specialKindOf(type) === 'bytes' ? encodeValue(bytesType, little.toReversed()) : little;
}

function bindValue(
  value: ParameterValue,
  { type, refusesNull }: ParameterSpec,
  shown: string,
  typespace: Typespace,
): Uint8Array | undefined {
  const inner = optionInnerType(type, typespace);
  if (value === null) {
    if (inner !== undefined) return noneBytes;
    if (!refusesNull) return undefined;
    throw badParameter(`The parameter ${shown} cannot be null: its place does not accept NULL`);
  }
  const plain = resolveType(inner ?? type, typespace);
  const bytes = bindPlain(value, plain, shown, typespace);
  return inner === undefined ? bytes : someOf(bytes);
}

/** A list, or its JSON as text, is an array, by values; anything else is read like a literal. */
function bindPlain(
  value: Exclude<ParameterValue, null>,
  plain: AlgebraicType,
  shown: string,
  typespace: Typespace,
): Uint8Array {
  const list = plain.kind === 'array' ? listOf(value) : undefined;
  if (plain.kind === 'array' && list !== undefined) {
    const element = resolveType(plain.element, typespace);
    return joined(
      list.map((one, at) => {
        const place = `${shown}[${at + 1}]`;
        if (one !== null) return bindPlain(one, element, place, typespace);
        throw badParameter(`The parameter ${place} cannot be null: arrays hold no NULL`);
      }),
    );
  }
  const bytes = isList(value) ? undefined : encodeParameter(value, plain);
  const names = enumNames(plain);
  if (bytes === undefined && names !== undefined) {
    const expected = `a variant of this enum: it is ${variantsText(names)}`;
    throw badParameter(`The value of the parameter ${shown} is not ${expected}`);
  }
  if (bytes === undefined) {
    const typeName = shownType(plain, typespace);
    throw badParameter(
      `The value of the parameter ${shown} cannot be read as \`${typeName}\`: ` +
        `it is a ${kindOf(value)}`,
    );
  }
  return bytes;
}

/** A text is read as a list where only a list fits: a command line has nothing else. */
function listOf(value: Exclude<ParameterValue, null>): readonly ParameterScalar[] | undefined {
  if (isList(value)) return value;
  if (typeof value !== 'string' || !/^\s*\[/.test(value)) return undefined;
  try {
    const json = parseJson(value);
    return Array.isArray(json) ? json.map(scalarOf) : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function scalarOf(json: JsonValue): ParameterScalar {
  if (json instanceof JsonNumber) return json.text;
  if (json === null || typeof json === 'string' || typeof json === 'boolean') return json;
  throw badParameter('The lists of parameters hold strings, numbers and booleans only');
}

function isList(value: ParameterValue): value is readonly ParameterScalar[] {
  return Array.isArray(value);
}

function encodeParameter(
  value: string | number | bigint | boolean,
  type: AlgebraicType,
): Uint8Array | undefined {
  if (typeof value === 'boolean') {
    return type.kind === 'bool' ? Uint8Array.of(value ? 1 : 0) : undefined;
  }
  const small = encodeSmallInteger(value, type);
  if (small !== undefined) return small;
  if (specialKindOf(type) === 'timeDuration') return encodeDuration(value, type);
  return encodeLiteralText(String(value), type);
}

/** The common case, keys above all; everything else takes the slower path. */
function encodeSmallInteger(
  value: string | number | bigint,
  { kind }: AlgebraicType,
): Uint8Array | undefined {
  const size = smallSizes.get(kind);
  if (size === undefined || typeof value === 'bigint') return undefined;
  const isPlain = typeof value === 'number' || /^\d{1,9}$/.test(value);
  const number = isPlain ? Number(value) : Number.NaN;
  // The values that both signed and unsigned integers of the size hold, without negative zero.
  if (!Number.isInteger(number) || number <= 0 || number >= 2 ** (size * 8 - 1)) return undefined;
  const bytes = new Uint8Array(size);
  for (let at = 0, rest = number; at < size; at++, rest >>>= 8) bytes[at] = rest;
  return bytes;
}

/** Bytes of the integers that a number holds. */
const smallSizes: ReadonlyMap<AlgebraicType['kind'], number> = new Map([
  ['u8', 1],
  ['i8', 1],
  ['u16', 2],
  ['i16', 2],
  ['u32', 4],
  ['i32', 4],
]);

function encodeDuration(
  value: string | number | bigint,
  type: AlgebraicType,
): Uint8Array | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    return encodeValue(type, [intervalFromText(value)]);
  } catch (error) {
    if (error instanceof SqlFailure) return undefined;
    throw error;
  }
}

/** A request sends numbers as their digits. */
function kindOf(value: Exclude<ParameterValue, null>): string {
  if (isList(value)) return 'list';
  const isDigits = typeof value === 'string' && /^[+-]?[\d.]+(?:[eE][+-]?\d+)?$/.test(value);
  return typeof value === 'bigint' || isDigits ? 'number' : typeof value;
}

/** The parameter as the statement writes it: `$1`, `:name`. */
function shownName(name: string): string {
  return /^\d+$/.test(name) ? `$${name}` : `:${name}`;
}

import type { ReducerDefinition } from '../schema/definition.ts';
import type { LeftOutColumns } from '../schema/left-out.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { nativeDecoderOf } from '../values/native.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, ProductType, SumType, Typespace } from '../values/type.ts';

export interface Filling {
  /** Its names are those that values have. */
  readonly typespace: Typespace;
  readonly leftOut: LeftOutColumns;
}

/**
 * The value with what rows in it left out filled in: columns that are missing get their default, or
 * zero. What does not fit its type stays as it is, for the encoder to name.
 */
export function filledValue(type: AlgebraicType, value: unknown, filling: Filling): unknown {
  switch (type.kind) {
    case 'ref': {
      const target = filling.typespace.types[type.ref];
      if (target === undefined) return value;
      const row = filling.leftOut.get(type.ref);
      const whole =
        row && target.kind === 'product' ? filledRow(target, row, value, filling) : value;
      return filledValue(target, whole, filling);
    }
    case 'product':
      return filledFields(type, value, filling);
    case 'array':
      if (type.element.kind === 'u8' || !Array.isArray(value)) return value;
      return value.map((item) => filledValue(type.element, item, filling));
    case 'sum':
      return filledPayload(type, value, filling);
    default:
      return value;
  }
}

/** Arguments by name, with what they leave out: parameters, and columns of rows in them. */
export function filledArguments(
  { params, paramDefaults }: Pick<ReducerDefinition, 'params' | 'paramDefaults'>,
  args: unknown,
  filling: Filling,
): unknown {
  const whole = paramDefaults ? filledRow(params, paramDefaults, args, filling) : args;
  return filledFields(params, whole, filling);
}

function filledRow(
  { elements }: ProductType,
  filled: readonly (Uint8Array | undefined)[],
  value: unknown,
  { typespace }: Filling,
): unknown {
  if (!isPlain(value)) return value;
  const missing = elements.flatMap(({ name, type }, at): [string, unknown][] => {
    const bytes = filled[at];
    if (bytes === undefined || name === undefined || value[name] !== undefined) return [];
    return [[name, nativeDecoderOf(type, typespace)(new BinaryReader(bytes))]];
  });
  return missing.length === 0 ? value : { ...value, ...Object.fromEntries(missing) };
}

function filledFields({ elements }: ProductType, value: unknown, filling: Filling): unknown {
  if (!isPlain(value)) return value;
  const changed = elements.flatMap(({ name, type }): [string, unknown][] => {
    if (name === undefined || value[name] === undefined) return [];
    const whole = filledValue(type, value[name], filling);
    return whole === value[name] ? [] : [[name, whole]];
  });
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
}

function filledPayload(type: SumType, value: unknown, filling: Filling): unknown {
  const { variants } = type;
  const special = specialKindOf(type);
  if (special === 'option') {
    const [some] = variants as [NamedType, NamedType];
    return value === undefined || value === null ? value : filledValue(some.type, value, filling);
  }
  if (!isPlain(value)) return value;
  const [key, name] = special === 'result' ? keyOfResult(value) : ['value', value.tag];
  const variant = variants.find((one) => one.name === name);
  if (variant === undefined || value[key] === undefined) return value;
  const payload = filledValue(variant.type, value[key], filling);
  return payload === value[key] ? value : { ...value, [key]: payload };
}

function keyOfResult(value: Readonly<Record<string, unknown>>): [string, string] {
  const key = 'ok' in value ? 'ok' : 'err';
  return [key, key];
}

/** Whether it is an object without a class: a row, a product or a variant, and no `Identity`. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

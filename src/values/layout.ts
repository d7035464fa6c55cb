/**
 * Traverses encoded values without decoding them. All three functions are compiled per type;
 * adjacent bytes of fixed width are passed in one step.
 */
import { emptyElementCountMax, nestingDepthMax } from '../shared-limits.ts';
import {
  DecodeError,
  invalidBool,
  tooDeep,
  tooManyElements,
  tooShort,
  unknownTag,
} from './binary-reader.ts';
import { perType } from './per-type.ts';
import { productDepthMax, specialElements, specialProductKindOf } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import { isUtf8 } from './utf8.ts';

/** End offset of the value at `offset`. The bytes must be valid: nothing is checked. */
export type Skipper = (bytes: Uint8Array, offset: number) => number;

/**
 * End offset of the value at `offset`, which must lie in `bytes[offset, end)`, else `DecodeError`.
 */
export type Validator = (bytes: Uint8Array, offset: number, end: number) => number;

type DeepValidator = (bytes: Uint8Array, offset: number, end: number, depth: number) => number;

/** Bytes of a scalar; 0 for strings, whose width varies. */
export const scalarBytes: Readonly<Record<ScalarKind, number>> = {
  string: 0,
  bool: 1,
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
  i128: 16,
  u128: 16,
  i256: 32,
  u256: 32,
  f32: 4,
  f64: 8,
};

/** Bytes that every value of `type` takes, or `undefined` if that depends on the value. */
export function fixedSizeOf(type: AlgebraicType, typespace?: Typespace): number | undefined {
  const size = fixedSize(type, typespace);
  return size === varying ? undefined : size;
}

const varying = -1;

const fixedSize = /* @__PURE__ */ perType((type, typespace): number => {
  const known = new Map<AlgebraicType, number>();
  const sizeOf = (current: AlgebraicType): number => {
    const target = resolveType(current, typespace);
    const before = known.get(target);
    if (before !== undefined) return before;
    // Recursion is legal only through sums and arrays, whose size varies whatever they contain.
    known.set(target, varying);
    const size = compute(target);
    known.set(target, size);
    return size;
  };
  const compute = (current: Exclude<AlgebraicType, { kind: 'ref' }>): number => {
    switch (current.kind) {
      case 'product':
        return current.elements.reduce((total, element) => {
          const size = sizeOf(element.type);
          return total === varying || size === varying ? varying : total + size;
        }, 0);
      case 'sum': {
        // Also a sum of equal payloads: plain enums take one byte.
        const sizes = new Set(current.variants.map((variant) => sizeOf(variant.type)));
        const [size] = sizes;
        return sizes.size === 1 && size !== undefined && size !== varying ? size + 1 : varying;
      }
      case 'array':
      case 'string':
        return varying;
      default:
        return scalarBytes[current.kind];
    }
  };
  return sizeOf(type);
});

export const skipperOf: (type: AlgebraicType, typespace?: Typespace) => Skipper =
  /* @__PURE__ */ perType((type, typespace) => {
    if (type.kind === 'ref') {
      let target: Skipper | undefined;
      return (bytes, offset) => {
        target ??= skipperOf(resolveType(type, typespace), typespace);
        return target(bytes, offset);
      };
    }
    const size = fixedSizeOf(type, typespace);
    if (size !== undefined) return (_bytes, offset) => offset + size;
    switch (type.kind) {
      case 'product':
        return productSkipper(
          type.elements.map((element) => element.type),
          typespace,
        );
      case 'sum': {
        const skippers = type.variants.map((variant) => skipperOf(variant.type, typespace));
        return (bytes, offset) => {
          const skip = skippers[bytes[offset] as number];
          return skip === undefined ? offset + 1 : skip(bytes, offset + 1);
        };
      }
      case 'array':
        return arraySkipper(type.element, typespace);
      default:
        return (bytes, offset) => offset + 4 + readCount(bytes, offset);
    }
  });

function productSkipper(types: readonly AlgebraicType[], typespace: Typespace): Skipper {
  const steps: (number | Skipper)[] = [];
  for (const type of types) {
    const size = fixedSizeOf(type, typespace);
    const last = steps.at(-1);
    if (size === undefined) steps.push(skipperOf(type, typespace));
    else if (typeof last === 'number') steps[steps.length - 1] = last + size;
    else steps.push(size);
  }
  return (bytes, offset) => {
    let at = offset;
    for (const step of steps) at = typeof step === 'number' ? at + step : step(bytes, at);
    return at;
  };
}

function arraySkipper(element: AlgebraicType, typespace: Typespace): Skipper {
  const size = fixedSizeOf(element, typespace);
  if (size !== undefined) return (bytes, offset) => offset + 4 + size * readCount(bytes, offset);
  const skip = skipperOf(element, typespace);
  return (bytes, offset) => {
    let at = offset + 4;
    for (let left = readCount(bytes, offset); left > 0; left -= 1) at = skip(bytes, at);
    return at;
  };
}

export const validatorOf: (type: AlgebraicType, typespace?: Typespace) => Validator =
  /* @__PURE__ */ perType((type, typespace) => {
    const validate = deepValidatorOf(type, typespace);
    return (bytes, offset, end) => {
      emptyElements = 0;
      return validate(bytes, offset, end, 0);
    };
  });

/** Elements without bytes seen in the value that is being validated. */
let emptyElements = 0;

const deepValidatorOf: (type: AlgebraicType, typespace?: Typespace) => DeepValidator =
  /* @__PURE__ */ perType((type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        let target: DeepValidator | undefined;
        return (bytes, offset, end, depth) => {
          target ??= deepValidatorOf(resolveType(type, typespace), typespace);
          return target(bytes, offset, end, depth);
        };
      }
      case 'product':
        return productValidator(type.elements, typespace);
      case 'sum':
        return sumValidator(
          type.variants.map((variant) => variant.type),
          typespace,
        );
      case 'array':
        return type.element.kind === 'u8' ? validateBytes : arrayValidator(type.element, typespace);
      case 'string':
        return validateString;
      case 'bool':
        return validateBool;
      default:
        return scalarValidator(type.kind);
    }
  });

function scalarValidator(kind: ScalarKind): DeepValidator {
  const size = scalarBytes[kind];
  return (_bytes, offset, end) => {
    if (offset + size > end) throw tooShort(kind, size, end - offset);
    return offset + size;
  };
}

function validateBool(bytes: Uint8Array, offset: number, end: number): number {
  if (offset >= end) throw tooShort('bool', 1, 0);
  const byte = bytes[offset] as number;
  if (byte > 1) throw invalidBool(byte);
  return offset + 1;
}

function validateBytes(bytes: Uint8Array, offset: number, end: number): number {
  if (offset + 4 > end) throw tooShort('u32', 4, end - offset);
  const start = offset + 4;
  const count = readCount(bytes, offset);
  if (count > end - start) throw tooShort('[u8]', count, end - start);
  return start + count;
}

function validateString(bytes: Uint8Array, offset: number, end: number): number {
  const stop = validateBytes(bytes, offset, end);
  if (!isUtf8(bytes, offset + 4, stop)) throw new DecodeError('invalid utf8');
  return stop;
}

function productValidator(elements: readonly NamedType[], typespace: Typespace): DeepValidator {
  const steps = productSteps(elements, typespace);
  const depthMax = productDepthMax(elements);
  return (bytes, offset, end, depth) => {
    if (depth >= depthMax) throw tooDeep();
    let at = offset;
    for (const { validators, freeBytes } of steps) {
      if (freeBytes > 0 && at + freeBytes <= end) {
        at += freeBytes;
        continue;
      }
      for (const validate of validators) at = validate(bytes, at, end, depth + 1);
    }
    return at;
  };
}

/** Adjacent elements; if any content is valid in them, `freeBytes` is their total width. */
interface ProductStep {
  readonly validators: DeepValidator[];
  freeBytes: number;
}

/** Joins adjacent elements in which any bytes are valid, so that one comparison checks them all. */
function productSteps(elements: readonly NamedType[], typespace: Typespace): ProductStep[] {
  const steps: ProductStep[] = [];
  for (const { type } of elements) {
    const validate = deepValidatorOf(type, typespace);
    const freeBytes = freeBytesOf(type);
    const last = steps.at(-1);
    if (last !== undefined && freeBytes > 0 && last.freeBytes > 0) {
      last.validators.push(validate);
      last.freeBytes += freeBytes;
    } else {
      steps.push({ validators: [validate], freeBytes });
    }
  }
  return steps;
}

/** The width of numbers and of special products made of one; 0 for all other types. */
function freeBytesOf(type: AlgebraicType): number {
  const special = specialProductKindOf(type);
  if (special !== undefined) return scalarBytes[specialElements[special].kind];
  if (type.kind === 'ref' || type.kind === 'product' || type.kind === 'sum') return 0;
  return type.kind === 'array' || type.kind === 'bool' ? 0 : scalarBytes[type.kind];
}

function sumValidator(types: readonly AlgebraicType[], typespace: Typespace): DeepValidator {
  const validators = types.map((type) => deepValidatorOf(type, typespace));
  return (bytes, offset, end, depth) => {
    if (depth >= nestingDepthMax) throw tooDeep();
    if (offset >= end) throw tooShort('u8', 1, 0);
    const tag = bytes[offset] as number;
    const validate = validators[tag];
    if (validate === undefined) throw unknownTag(tag);
    return validate(bytes, offset + 1, end, depth + 1);
  };
}

function arrayValidator(element: AlgebraicType, typespace: Typespace): DeepValidator {
  const isEmpty = fixedSizeOf(element, typespace) === 0;
  const validate = deepValidatorOf(element, typespace);
  return (bytes, offset, end, depth) => {
    if (depth >= nestingDepthMax) throw tooDeep();
    if (offset + 4 > end) throw tooShort('u32', 4, end - offset);
    const count = readCount(bytes, offset);
    if (isEmpty) {
      emptyElements += count;
      if (emptyElements > emptyElementCountMax) throw tooManyElements(count);
      return offset + 4;
    }
    let at = offset + 4;
    if (count > end - at) throw tooManyElements(count);
    for (let left = count; left > 0; left -= 1) at = validate(bytes, at, end, depth + 1);
    return at;
  };
}

/** The unsigned 32-bit number at `offset`. */
export function readCount(bytes: Uint8Array, offset: number): number {
  return (
    ((bytes[offset] as number) |
      ((bytes[offset + 1] as number) << 8) |
      ((bytes[offset + 2] as number) << 16) |
      ((bytes[offset + 3] as number) << 24)) >>>
    0
  );
}

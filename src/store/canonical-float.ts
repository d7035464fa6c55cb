import { skipperOf } from '../values/layout.ts';
import { readU32 } from '../values/read-bytes.ts';
import type { AlgebraicType, ScalarKind, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';

/**
 * Rewrites the floats of an encoded value in place so that equal keys have equal bytes: `-0`
 * becomes `+0`, and all NaNs become one. Returns the end of the value.
 */
export type FloatNormaliser = (bytes: Uint8Array, at: number) => number;

/** The normaliser of a type, or `undefined` when its values hold no float. */
export function floatNormaliserOf(
  type: AlgebraicType,
  types: Typespace,
): FloatNormaliser | undefined {
  return holdsFloat(type, types, new Set()) ? normaliserOf(type, types, new Map()) : undefined;
}

function holdsFloat(type: AlgebraicType, types: Typespace, seen: Set<AlgebraicType>): boolean {
  const resolved = resolveType(type, types);
  if (seen.has(resolved)) return false;
  seen.add(resolved);
  switch (resolved.kind) {
    case 'f32':
    case 'f64':
      return true;
    case 'array':
      return holdsFloat(resolved.element, types, seen);
    case 'product':
      return resolved.elements.some((element) => holdsFloat(element.type, types, seen));
    case 'sum':
      return resolved.variants.some((variant) => holdsFloat(variant.type, types, seen));
    default:
      resolved.kind satisfies ScalarKind;
      return false;
  }
}

/**
 * `known` ends the recursion of recursive types: an inner occurrence uses the normaliser being
 * built.
 */
function normaliserOf(
  type: AlgebraicType,
  types: Typespace,
  known: Map<AlgebraicType, FloatNormaliser>,
): FloatNormaliser {
  const resolved = resolveType(type, types);
  const made = known.get(resolved);
  if (made !== undefined) return made;
  let normaliser: FloatNormaliser | undefined;
  const late: FloatNormaliser = (bytes, at) => (normaliser as FloatNormaliser)(bytes, at);
  known.set(resolved, late);
  const of = (inner: AlgebraicType) => normaliserOf(inner, types, known);
  switch (resolved.kind) {
    case 'f32':
      normaliser = normaliseF32;
      break;
    case 'f64':
      normaliser = normaliseF64;
      break;
    case 'array':
      normaliser = arrayNormaliser(of(resolved.element));
      break;
    case 'product': {
      const elements = resolved.elements.map((element) => of(element.type));
      normaliser = (bytes, at) => elements.reduce((next, element) => element(bytes, next), at);
      break;
    }
    case 'sum': {
      const variants = resolved.variants.map((variant) => of(variant.type));
      normaliser = (bytes, at) => (variants[bytes[at] as number] as FloatNormaliser)(bytes, at + 1);
      break;
    }
    default:
      resolved.kind satisfies ScalarKind;
      normaliser = skipperOf(resolved, types);
  }
  return normaliser;
}

function arrayNormaliser(element: FloatNormaliser): FloatNormaliser {
  return (bytes, at) => {
    let next = at + 4;
    for (let left = readU32(bytes, at); left > 0; left--) next = element(bytes, next);
    return next;
  };
}

function normaliseF32(bytes: Uint8Array, at: number): number {
  const bits = readU32(bytes, at);
  if (bits === 0x8000_0000) writeU32(bytes, at, 0);
  else if ((bits & 0x7fff_ffff) > 0x7f80_0000) writeU32(bytes, at, 0x7fc0_0000);
  return at + 4;
}

function normaliseF64(bytes: Uint8Array, at: number): number {
  const low = readU32(bytes, at);
  const high = readU32(bytes, at + 4);
  const size = high & 0x7fff_ffff;
  if (low === 0 && size === 0) {
    writeU32(bytes, at + 4, 0);
  } else if (size > 0x7ff0_0000 || (size === 0x7ff0_0000 && low > 0)) {
    writeU32(bytes, at, 0);
    writeU32(bytes, at + 4, 0x7ff8_0000);
  }
  return at + 8;
}

function writeU32(bytes: Uint8Array, at: number, word: number): void {
  for (let index = 0; index < 4; index++) bytes[at + index] = word >>> (index << 3);
}

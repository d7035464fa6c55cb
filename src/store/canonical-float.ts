import { skipperOf } from '../values/layout.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';

/**
 * Rewrites the floats of an encoded value in place so that equal keys have equal bytes: `-0`
 * becomes `+0` and every NaN the same NaN. Returns the end of the value.
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
      return false;
  }
}

/**
 * `known` ends the recursion of recursive types: a type met again uses the normaliser being made.
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
      normaliser = skipperOf(resolved, types);
  }
  return normaliser;
}

function arrayNormaliser(element: FloatNormaliser): FloatNormaliser {
  return (bytes, at) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let next = at + 4;
    for (let left = view.getUint32(at, true); left > 0; left--) next = element(bytes, next);
    return next;
  };
}

function normaliseF32(bytes: Uint8Array, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, 4);
  view.setFloat32(0, canonicalFloat(view.getFloat32(0, true)), true);
  return at + 4;
}

function normaliseF64(bytes: Uint8Array, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, 8);
  view.setFloat64(0, canonicalFloat(view.getFloat64(0, true)), true);
  return at + 8;
}

function canonicalFloat(value: number): number {
  // Adding +0 turns -0 into +0; a NaN is replaced because its bits may differ.
  return Number.isNaN(value) ? Number.NaN : value + 0;
}

/**
 * Keys: bytes that are equal exactly when values are equal. The encoding of a value is such a key,
 * except for floats, which have two zeros and many NaN.
 */

import type { BinaryWriter } from '../../../values/binary-writer.ts';
import { decodeValue } from '../../../values/decode.ts';
import { encoderOf } from '../../../values/encode.ts';
import { skipperOf } from '../../../values/layout.ts';
import { perType } from '../../../values/per-type.ts';
import type { AlgebraicType, Typespace } from '../../../values/type.ts';
import { resolveType } from '../../../values/typespace.ts';
import type { SumValue, Value } from '../../../values/value.ts';
import type { TypedExpression } from '../check/typed.ts';
import type { QueryValue } from '../functions/function.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import { copyRange } from './copy-range.ts';
import type { Frame } from './frame.ts';
import { type Place, placeOf } from './place.ts';
import { valueWriterOf } from './value-codec.ts';

/** Appends a key to the writer; false, with part of it written, if a value is null. */
export type KeyWriter = (frame: Frame, writer: BinaryWriter) => boolean;

/** Keys for joins: null is equal to nothing, so there is no key with one. */
export function compileKey(
  expressions: readonly TypedExpression[],
  context: CompileContext,
): KeyWriter {
  const parts = expressions.map((expression) => compilePart(expression, context));
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return (frame, writer) => {
    for (const part of parts) if (!part(frame, writer)) return false;
    return true;
  };
}

/** Keys for groups and distinct rows: null is equal to null. A byte in front tells it apart. */
export function compileGroupKey(
  expressions: readonly TypedExpression[],
  context: CompileContext,
): (frame: Frame, writer: BinaryWriter) => void {
  const parts = expressions.map((expression) => compilePart(expression, context));
  return (frame, writer) => {
    for (const part of parts) {
      const at = writer.claim(1);
      writer.dataView.setUint8(at, 0);
      // What is null has written nothing.
      if (!part(frame, writer)) writer.dataView.setUint8(at, 1);
    }
  };
}

/** Whether equal values of the type can have different encodings: there is a float inside. */
export const hasFloats: (type: AlgebraicType, typespace?: Typespace) => boolean = perType(
  (type, typespace) => {
    const seen = new Set<AlgebraicType>();
    const search = (current: AlgebraicType): boolean => {
      const target = resolveType(current, typespace);
      if (seen.has(target)) return false;
      seen.add(target);
      switch (target.kind) {
        case 'product':
          return target.elements.some((element) => search(element.type));
        case 'sum':
          return target.variants.some((variant) => search(variant.type));
        case 'array':
          return search(target.element);
        default:
          return target.kind === 'f32' || target.kind === 'f64';
      }
    };
    return search(type);
  },
);

/** Writes the key of one value that is not null. */
export function keyWriterOf(
  type: AlgebraicType,
  types: Typespace,
): (writer: BinaryWriter, value: QueryValue) => void {
  const write = valueWriterOf(type, types);
  if (!hasFloats(type, types)) return write;
  const { kind } = resolveType(type, types);
  if (kind === 'f32' || kind === 'f64') {
    return (writer, value) => write(writer, oneFloat(value as number));
  }
  const encode = encoderOf(type, types);
  return (writer, value) => {
    encode(writer, withOneFloat(decodeValue(type, value as Uint8Array, types)));
  };
}

function compilePart(expression: TypedExpression, context: CompileContext): KeyWriter {
  const { types } = context;
  const place = placeOf(expression, context);
  if (place !== undefined && !hasFloats(place.type, types)) return copyPlace(place, types);
  const evaluate = compileExpression(expression, context);
  const write = keyWriterOf(expression.type, types);
  return (frame, writer) => {
    const value = evaluate(frame);
    if (value === null) return false;
    write(writer, value);
    return true;
  };
}

function copyPlace({ slot, locate, type, withoutRow }: Place, types: Typespace): KeyWriter {
  const skip = skipperOf(type, types);
  return (frame, writer) => {
    const bytes = frame.pages[slot];
    if (bytes === undefined) {
      if (withoutRow === undefined) return false;
      writer.raw(withoutRow);
      return true;
    }
    const at = locate(bytes, frame.rows[slot] as number);
    if (at < 0) return false;
    copyRange(writer, bytes, at, skip(bytes, at));
    return true;
  };
}

/** One zero and one NaN. */
function oneFloat(value: number): number {
  return Number.isNaN(value) ? Number.NaN : value + 0;
}

function withOneFloat(value: Value): Value {
  if (typeof value === 'number') return oneFloat(value);
  if (typeof value !== 'object' || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return (value as readonly Value[]).map(withOneFloat);
  const { tag, value: payload } = value as SumValue;
  return { tag, value: withOneFloat(payload) };
}

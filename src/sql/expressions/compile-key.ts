/**
 * Keys: bytes that are equal exactly when values are equal. The encoding of a value is such a key,
 * except for floats, which have two zeros and many NaN.
 */

import type { BinaryWriter } from '../../values/binary-writer.ts';
import { skipperOf } from '../../values/layout.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import type { TypedExpression } from '../check/typed.ts';
import { canonicalOf, hasFloats } from '../functions/canonical.ts';
import type { QueryValue } from '../functions/function.ts';
import { valueWriterOf } from '../functions/value-codec.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import { copyRange } from './copy-range.ts';
import type { Frame, KeyWriter } from './frame.ts';
import { type Place, placeOf } from './place.ts';

/** Keys for joins: null equals nothing, so no key contains one. */
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

/** Keys for groups and distinct rows: null is equal to null. A leading byte marks it. */
export function compileGroupKey(
  expressions: readonly TypedExpression[],
  context: CompileContext,
): (frame: Frame, writer: BinaryWriter) => void {
  const parts = expressions.map((expression) => compilePart(expression, context));
  return (frame, writer) => {
    for (const part of parts) {
      const at = writer.claim(1);
      writer.dataView.setUint8(at, 0);
      // A null value has written nothing.
      if (!part(frame, writer)) writer.dataView.setUint8(at, 1);
    }
  };
}

/** Writes the key of one value that is not null. */
export function keyWriterOf(
  type: AlgebraicType,
  types: Typespace,
): (writer: BinaryWriter, value: QueryValue) => void {
  const write = valueWriterOf(type, types);
  if (!hasFloats(type, types)) return write;
  const canonical = canonicalOf(type, types);
  return (writer, value) => write(writer, canonical(value));
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

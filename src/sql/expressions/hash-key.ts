import { present } from '../../assert.ts';
import { readI32 } from '../../values/read-bytes.ts';
import type { TypedExpression } from '../check/typed.ts';
import { borrowWriter, giveBackWriter } from '../functions/borrowed-writer.ts';
import { type KeyPart, shortNumber, textOfBytes } from '../functions/canonical.ts';
import { scalarOfKind, valueKindOf } from '../functions/value-kind.ts';
import { charge, lengthOf } from './charge.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import { compileKey } from './compile-key.ts';
import type { Evaluator, Frame } from './frame.ts';
import { locatorOf } from './row-layout.ts';

/** The key of the current row; `undefined` if a part of it is null. */
export type HashKey = (frame: Frame) => KeyPart | undefined;

/** Keys for joins: null is equal to nothing. */
export function compileHashKey(
  expressions: readonly TypedExpression[],
  context: CompileContext,
): HashKey {
  const parts = expressions.map((expression) => compilePart(expression, context));
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return (frame) => first(frame) ?? undefined;
  return (frame) => {
    let key = '';
    for (const part of parts) {
      const value = part(frame);
      if (value === null) return undefined;
      key += textOfPart(value);
    }
    return key;
  };
}

/** Keys for groups: null is equal to null. */
export function compileMapKey(
  expressions: readonly TypedExpression[],
  context: CompileContext,
): (frame: Frame) => KeyPart {
  const parts = expressions.map((expression) => compilePart(expression, context));
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  return (frame) => {
    let key = '';
    for (const part of parts) key += textOfPart(part(frame));
    return key;
  };
}

/** Adjacent parts are never confused: every key has the same type for each part. */
function textOfPart(part: KeyPart): string {
  switch (typeof part) {
    case 'string':
      return `${part.length}:${part}`;
    case 'object':
      return 'n;';
    default:
      return `${part};`;
  }
}

function compilePart(expression: TypedExpression, context: CompileContext): Evaluator {
  const kind = valueKindOf(expression.type, context.types);
  const scalar = scalarOfKind(kind);
  if (scalar === 'i64' || scalar === 'u64') {
    const direct = compileLongColumn(expression, scalar === 'i64', context);
    if (direct !== undefined) return direct;
  }
  if (scalar === undefined) {
    const writeKey = compileKey([expression], context);
    return (frame) => {
      const writer = borrowWriter();
      const key = writeKey(frame, writer) ? textOfBytes(writer.view()) : null;
      giveBackWriter(writer);
      charge(frame, lengthOf(key));
      return key;
    };
  }
  const evaluate = compileExpression(expression, context);
  switch (scalar) {
    case 'i64':
    case 'u64':
    case 'i128':
    case 'u128':
    case 'i256':
    case 'u256':
      return (frame) => {
        const value = evaluate(frame);
        return typeof value === 'bigint' ? shortNumber(value) : value;
      };
    case 'f32':
    case 'f64':
      // Zeros of both signs are equal.
      return (frame) => {
        const value = evaluate(frame);
        return value === 0 ? 0 : value;
      };
    default:
      return evaluate;
  }
}

/** A stored column of 64 bits, read without a bigint if the number is short. */
function compileLongColumn(
  expression: TypedExpression,
  isSigned: boolean,
  context: CompileContext,
): Evaluator | undefined {
  if (expression.kind !== 'column') return undefined;
  const { slot, column } = expression;
  const { shape, nullableColumns } = context.layoutOf(slot);
  if (nullableColumns[column] === true) return undefined;
  const locate = locatorOf(shape, column);
  return ({ pages, rows }) => {
    const bytes = pages[slot];
    if (bytes === undefined) return null;
    const at = locate(bytes, present(rows[slot], 'row of a slot'));
    const low = readI32(bytes, at) >>> 0;
    const high = isSigned ? readI32(bytes, at + 4) : readI32(bytes, at + 4) >>> 0;
    if (high < highMax && high >= -highMax) {
      const value = high * 0x1_0000_0000 + low;
      if (value >= Number.MIN_SAFE_INTEGER) return value;
    }
    return BigInt(high) * 0x1_0000_0000n + BigInt(low);
  };
}

/** Numbers with a smaller upper half are exact as doubles. */
const highMax = 0x20_0000;

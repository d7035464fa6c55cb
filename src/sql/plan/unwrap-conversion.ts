import { integerRange, isIntegerKind } from '../../values/integer-range.ts';
import type { Typespace } from '../../values/type.ts';
import { canRaise } from '../check/can-raise.ts';
import type { TypedConstant, TypedExpression } from '../check/typed.ts';
import { decodeQueryValue, encodeQueryValue } from '../functions/value-codec.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { swappedOperator } from '../syntax/comparison-operators.ts';

/**
 * `CAST(column AS wider) = 5` becomes `column = 5`: the column itself can be looked up in an index,
 * and compared without being decoded.
 */
export function unwrapConversion(e: TypedExpression, types: Typespace): TypedExpression {
  if (e.kind === 'comparison') {
    const { left, right, operator } = e;
    const isSwapped = left.kind === 'constant';
    const [wide, constant] = isSwapped ? [right, left] : [left, right];
    const column = narrowColumn(wide);
    if (column === undefined || constant.kind !== 'constant') return e;
    const narrow = narrowed(constant, column, types);
    if (narrow === undefined) return e;
    const turned: ComparisonOperator = isSwapped ? swappedOperator[operator] : operator;
    return { ...e, operator: turned, left: column, right: narrow };
  }
  if (e.kind === 'inList') {
    const column = narrowColumn(e.operand);
    if (column === undefined) return e;
    const values = e.values.map((value) =>
      value.kind === 'constant' ? narrowed(value, column, types) : undefined,
    );
    const known = values.filter((value) => value !== undefined);
    return known.length === values.length ? { ...e, operand: column, values: known } : e;
  }
  return e;
}

function narrowColumn(e: TypedExpression): TypedExpression | undefined {
  if (e.kind !== 'convert' || e.operand.kind !== 'column' || canRaise(e)) return undefined;
  const isWhole = isIntegerKind(e.type.kind) && isIntegerKind(e.operand.type.kind);
  return isWhole ? e.operand : undefined;
}

/** The constant in the column's type, if the type has that value. */
function narrowed(
  constant: TypedConstant,
  { type }: TypedExpression,
  types: Typespace,
): TypedConstant | undefined {
  if (constant.bytes === undefined || !isIntegerKind(type.kind)) return undefined;
  const value = BigInt(decodeQueryValue(constant.type, constant.bytes, types) as number | bigint);
  const { min, max } = integerRange[type.kind];
  if (value < min || value > max) return undefined;
  const isShort = typeof decodeQueryValue(type, new Uint8Array(32), types) === 'number';
  const bytes = encodeQueryValue(type, isShort ? Number(value) : value, types);
  return { kind: 'constant', type, isNullable: false, bytes };
}

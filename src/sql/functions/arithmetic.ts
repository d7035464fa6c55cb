/**
 * `+ - * / % ||` and negation: the types they take, their results, and what they refuse.
 *
 * | operands | result |
 * |---|---|
 * | integers | the smallest kind that holds both; beyond its range `Integer overflow` |
 * | F32 with F32 | F32 |
 * | other numbers with a float | F64 |
 * | Timestamp ± TimeDuration | Timestamp |
 * | Timestamp - Timestamp | TimeDuration |
 * | TimeDuration ± TimeDuration | TimeDuration |
 * | TimeDuration `*` `/` integer, integer `*` TimeDuration | TimeDuration |
 * | anything `\|\|` anything | String; byte arrays stay byte arrays |
 *
 * `/` of integers truncates toward zero and `%` has the sign of the dividend, so that
 * `(a / b) * b + a % b = a`. Dividing by zero is an error, for floats too.
 */
import { assert, unreachable } from '../../assert.ts';
import { type IntegerKind, integerRange, isIntegerKind } from '../../values/integer-range.ts';
import { bytesType, timeDurationType, timestampType } from '../../values/special-types.ts';
import { timeDurationToText } from '../../values/time-duration.ts';
import { timestampToText } from '../../values/timestamp.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { kindName } from '../../values/typespace.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import type { ArithmeticOperator } from '../syntax/ast.ts';
import type { QueryValue } from './function.ts';
import { checkArrayBytes, checkTextLength } from './text-length.ts';
import {
  isFloatType,
  isIntegerType,
  isNumericType,
  scalarTypes,
  type ValueKind,
  valueKindOf,
} from './value-kind.ts';

/** The types that the operands are converted to, and the type of the result. */
export interface ArithmeticTypes {
  readonly left: AlgebraicType;
  readonly right: AlgebraicType;
  readonly result: AlgebraicType;
}

/** Never called with null. */
export type BinaryOperation = (left: QueryValue, right: QueryValue) => QueryValue;
export type UnaryOperation = (operand: QueryValue) => QueryValue;

/** The number type that holds the values of both, or `undefined` unless both are numbers. */
export function promotedType(left: AlgebraicType, right: AlgebraicType): AlgebraicType | undefined {
  if (!isNumericType(left) || !isNumericType(right)) return undefined;
  if (left.kind === right.kind) return left;
  if (!isIntegerKind(left.kind) || !isIntegerKind(right.kind)) return scalarTypes.f64;
  const leftBits = bitsOf(left.kind);
  const rightBits = bitsOf(right.kind);
  const isSigned = isSignedKind(left.kind);
  if (isSigned === isSignedKind(right.kind)) return leftBits >= rightBits ? left : right;
  const signedBits = isSigned ? leftBits : rightBits;
  const unsignedBits = isSigned ? rightBits : leftBits;
  return signedType(Math.max(signedBits, 2 * unsignedBits));
}

/** Returns `undefined` if the operator does not take operands of these types. */
export function arithmeticTypes(
  operator: ArithmeticOperator,
  left: AlgebraicType,
  right: AlgebraicType,
): ArithmeticTypes | undefined {
  if (operator === '||') return concatenationTypes(left, right);
  const promoted = promotedType(left, right);
  if (promoted !== undefined) return { left: promoted, right: promoted, result: promoted };
  return timeTypes(operator, left, right);
}

/** The type of `-x`: an unsigned integer becomes the signed one that holds all its values. */
export function negatedType(type: AlgebraicType): AlgebraicType | undefined {
  if (isIntegerKind(type.kind)) {
    return isSignedKind(type.kind) ? type : signedType(2 * bitsOf(type.kind));
  }
  return isFloatType(type) || valueKindOf(type) === 'timeDuration' ? type : undefined;
}

/** Whether the operator can refuse some operands, where `right` is the type of the second. */
export function arithmeticCanRaise(operator: ArithmeticOperator, right: AlgebraicType): boolean {
  return !isFloatType(right) || operator === '/' || operator === '%';
}

export function negationCanRaise(type: AlgebraicType): boolean {
  return !isFloatType(type);
}

/** The operation for operands of the types that `arithmeticTypes` names. */
export function arithmeticOf(
  operator: ArithmeticOperator,
  left: AlgebraicType,
  right: AlgebraicType,
): BinaryOperation {
  if (operator === '||') return valueKindOf(left) === 'bytes' ? concatenateBytes : concatenateTexts;
  switch (left.kind) {
    case 'f32':
      return rounded(floatArithmetic(operator));
    case 'f64':
      return floatArithmetic(operator);
    default:
  }
  if (isIntegerKind(left.kind) && left.kind === right.kind) {
    return integerArithmetic(operator, left.kind);
  }
  return timeArithmetic(operator, valueKindOf(left), valueKindOf(right));
}

/** `-x` for an operand of the type that `negatedType` names. */
export function negationOf(type: AlgebraicType): UnaryOperation {
  if (isFloatType(type)) return (value) => -(value as number);
  if (isIntegerKind(type.kind)) return integerNegation(type.kind);
  assert(valueKindOf(type) === 'timeDuration', 'only numbers and durations have a sign');
  return (value) => {
    const negated = -(value as bigint);
    if (!fitsI64(negated)) throw timeOverflow('TimeDuration', `-(${durationText(value)})`);
    return negated;
  };
}

export function integerOverflow(expression: string, kind: IntegerKind): SqlFailure {
  const hint = 'CAST(x AS I64) has a larger range and accepts negative numbers';
  return invalid(`Integer overflow: ${expression} does not fit ${kindName(kind)}`, { hint });
}

export function divisionByZero(): SqlFailure {
  return invalid('Division by zero');
}

function isSignedKind(kind: IntegerKind): boolean {
  return kind.startsWith('i');
}

function bitsOf(kind: IntegerKind): number {
  return Number(kind.slice(1));
}

/** The signed integer type of that many bits, or the widest one. */
function signedType(bits: number): AlgebraicType {
  const kind = `i${Math.min(bits, 256)}`;
  assert(isIntegerKind(kind as 'i8'), 'widths are powers of two');
  return scalarTypes[kind as IntegerKind];
}

function concatenationTypes(left: AlgebraicType, right: AlgebraicType): ArithmeticTypes {
  const areBytes = valueKindOf(left) === 'bytes' && valueKindOf(right) === 'bytes';
  const type = areBytes ? bytesType : scalarTypes.string;
  return { left: type, right: type, result: type };
}

function timeTypes(
  operator: ArithmeticOperator,
  left: AlgebraicType,
  right: AlgebraicType,
): ArithmeticTypes | undefined {
  const leftKind = valueKindOf(left);
  const rightKind = valueKindOf(right);
  const isSum = operator === '+' || operator === '-';
  if (rightKind === 'timeDuration' && isSum) {
    if (leftKind === 'timestamp') return times(timestampType, timeDurationType, timestampType);
    if (leftKind === 'timeDuration') {
      return times(timeDurationType, timeDurationType, timeDurationType);
    }
  }
  if (rightKind === 'timestamp') {
    if (leftKind === 'timestamp' && operator === '-') {
      return times(timestampType, timestampType, timeDurationType);
    }
    if (leftKind === 'timeDuration' && operator === '+') {
      return times(timeDurationType, timestampType, timestampType);
    }
  }
  if (leftKind === 'timeDuration' && isIntegerType(right)) {
    const isScaling = operator === '*' || operator === '/';
    return isScaling ? times(timeDurationType, scalarTypes.i64, timeDurationType) : undefined;
  }
  if (rightKind === 'timeDuration' && isIntegerType(left) && operator === '*') {
    return times(scalarTypes.i64, timeDurationType, timeDurationType);
  }
  return undefined;
}

function times(left: AlgebraicType, right: AlgebraicType, result: AlgebraicType): ArithmeticTypes {
  return { left, right, result };
}

type Operator = Exclude<ArithmeticOperator, '||'>;

function floatArithmetic(operator: Operator): BinaryOperation {
  switch (operator) {
    case '+':
      return (left, right) => (left as number) + (right as number);
    case '-':
      return (left, right) => (left as number) - (right as number);
    case '*':
      return (left, right) => (left as number) * (right as number);
    case '/':
      return (left, right) => {
        if (right === 0) throw divisionByZero();
        return (left as number) / (right as number);
      };
    case '%':
      return (left, right) => {
        if (right === 0) throw divisionByZero();
        return (left as number) % (right as number);
      };
    default:
      return unreachable(operator);
  }
}

function rounded(operation: BinaryOperation): BinaryOperation {
  return (left, right) => Math.fround(operation(left, right) as number);
}

function integerArithmetic(operator: Operator, kind: IntegerKind): BinaryOperation {
  const { min, max } = integerRange[kind];
  return max <= 0xffff_ffffn
    ? shortArithmetic(operator, kind, Number(min), Number(max))
    : wideArithmetic(operator, kind, min, max);
}

/**
 * Up to 32 bits: sums are exact, and a product that is too large to be exact is far out of range.
 * Adding 0 turns -0 into 0.
 */
function shortArithmetic(
  operator: Operator,
  kind: IntegerKind,
  min: number,
  max: number,
): BinaryOperation {
  const checked = (result: number, left: QueryValue, right: QueryValue): number => {
    if (result < min || result > max) {
      throw integerOverflow(binaryText(left, operator, right), kind);
    }
    return result + 0;
  };
  switch (operator) {
    case '+':
      return (left, right) => checked((left as number) + (right as number), left, right);
    case '-':
      return (left, right) => checked((left as number) - (right as number), left, right);
    case '*':
      return (left, right) => checked((left as number) * (right as number), left, right);
    case '/':
      return (left, right) => {
        if (right === 0) throw divisionByZero();
        return checked(Math.trunc((left as number) / (right as number)), left, right);
      };
    case '%':
      return (left, right) => {
        if (right === 0) throw divisionByZero();
        return ((left as number) % (right as number)) + 0;
      };
    default:
      return unreachable(operator);
  }
}

function wideArithmetic(
  operator: Operator,
  kind: IntegerKind,
  min: bigint,
  max: bigint,
): BinaryOperation {
  const checked = (result: bigint, left: QueryValue, right: QueryValue): bigint => {
    if (result < min || result > max) {
      throw integerOverflow(binaryText(left, operator, right), kind);
    }
    return result;
  };
  switch (operator) {
    case '+':
      return (left, right) => checked((left as bigint) + (right as bigint), left, right);
    case '-':
      return (left, right) => checked((left as bigint) - (right as bigint), left, right);
    case '*':
      return (left, right) => checked((left as bigint) * (right as bigint), left, right);
    case '/':
      return (left, right) => {
        if (right === 0n) throw divisionByZero();
        return checked((left as bigint) / (right as bigint), left, right);
      };
    case '%':
      return (left, right) => {
        if (right === 0n) throw divisionByZero();
        return (left as bigint) % (right as bigint);
      };
    default:
      return unreachable(operator);
  }
}

function integerNegation(kind: IntegerKind): UnaryOperation {
  const { min, max } = integerRange[kind];
  if (max <= 0xffff_ffffn) {
    return (value) => {
      const negated = 0 - (value as number);
      if (negated < min || negated > max) throw integerOverflow(`-(${value})`, kind);
      return negated;
    };
  }
  return (value) => {
    const negated = -(value as bigint);
    if (negated < min || negated > max) throw integerOverflow(`-(${value})`, kind);
    return negated;
  };
}

/** `250 + 10`, `5 - (-3)` */
function binaryText(left: QueryValue, operator: string, right: QueryValue): string {
  const rightText = String(right);
  return `${left} ${operator} ${rightText.startsWith('-') ? `(${rightText})` : rightText}`;
}

function timeArithmetic(operator: Operator, left: ValueKind, right: ValueKind): BinaryOperation {
  const result =
    operator === '+' || operator === '-'
      ? (left === 'timestamp') !== (right === 'timestamp')
        ? 'Timestamp'
        : 'TimeDuration'
      : 'TimeDuration';
  return (a, b) => {
    const micros = timeResult(operator, a as bigint, b as bigint);
    if (fitsI64(micros)) return micros;
    throw timeOverflow(result, `${timeText(a, left)} ${operator} ${timeText(b, right)}`);
  };
}

function timeResult(operator: Operator, left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      if (right === 0n) throw divisionByZero();
      return left / right;
    default:
      assert(false, 'times have no remainder');
  }
}

function timeText(value: QueryValue, kind: ValueKind): string {
  if (kind === 'timestamp') return timestampToText(value as bigint);
  return kind === 'timeDuration' ? durationText(value) : String(value);
}

function durationText(value: QueryValue): string {
  return timeDurationToText(value as bigint);
}

function timeOverflow(type: string, expression: string): SqlFailure {
  return invalid(`Time overflow: ${expression} does not fit ${type}`);
}

function fitsI64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

function concatenateTexts(left: QueryValue, right: QueryValue): string {
  checkTextLength((left as string).length + (right as string).length);
  return (left as string) + (right as string);
}

/** Byte arrays are held with their count in front. */
function concatenateBytes(left: QueryValue, right: QueryValue): Uint8Array {
  const a = left as Uint8Array;
  const b = right as Uint8Array;
  checkArrayBytes(a.length + b.length - 4);
  const joined = new Uint8Array(a.length + b.length - 4);
  joined.set(a);
  joined.set(b.subarray(4), a.length);
  new DataView(joined.buffer).setUint32(0, joined.length - 4, true);
  return joined;
}

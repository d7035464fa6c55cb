import { describe, expect, it } from 'vitest';
import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { integerRange } from '../../values/integer-range.ts';
import { bytesType, timeDurationType, timestampType } from '../../values/special-types.ts';
import type { AlgebraicType, ScalarKind } from '../../values/type.ts';
import { kindName, typeText } from '../../values/typespace.ts';
import type { ArithmeticOperator } from '../syntax/ast.ts';
import {
  arithmeticOf,
  arithmeticTypes,
  negatedType,
  negationOf,
  promotedType,
} from './arithmetic.ts';
import { conversionOf } from './convert.ts';
import type { QueryValue } from './function.ts';
import { scalarTypes } from './value-kind.ts';

const integerKinds = Object.keys(integerRange) as (keyof typeof integerRange)[];
const wide = new Set<string>(['i64', 'u64', 'i128', 'u128', 'i256', 'u256']);

/** A whole number as values of the kind are held. */
function heldAs(kind: ScalarKind, value: bigint): QueryValue {
  return wide.has(kind) ? value : Number(value);
}

function compute(
  operator: ArithmeticOperator,
  left: readonly [AlgebraicType, QueryValue],
  right: readonly [AlgebraicType, QueryValue],
): QueryValue {
  const types = present(arithmeticTypes(operator, left[0], right[0]), 'types of the operands');
  const a = present(conversionOf(left[0], types.left), 'conversion').convert(left[1]);
  const b = present(conversionOf(right[0], types.right), 'conversion').convert(right[1]);
  return arithmeticOf(operator, types.left, types.right)(a, b);
}

describe.each(integerKinds)('arithmetic of %s', (kind) => {
  const type = scalarTypes[kind];
  const { min, max } = integerRange[kind];
  const of = (value: bigint) => heldAs(kind, value);
  const run = (operator: ArithmeticOperator, left: bigint, right: bigint) =>
    compute(operator, [type, of(left)], [type, of(right)]);

  it('computes up to both ends of the range', () => {
    expect(run('+', max - 1n, 1n)).toBe(of(max));
    expect(run('-', min + 1n, 1n)).toBe(of(min));
    expect(run('*', max, 1n)).toBe(of(max));
    expect(run('/', max, 2n)).toBe(of(max / 2n));
    expect(run('%', max, 10n)).toBe(of(max % 10n));
    expect(run('/', min, max)).toBe(of(min / max));
  });

  it('overflow is an error that shows the operands', () => {
    const name = kindName(kind);
    expect(() => run('+', max, 1n)).toThrow(`Integer overflow: ${max} + 1 does not fit ${name}`);
    expect(() => run('-', min, 1n)).toThrow(`Integer overflow: ${min} - 1 does not fit ${name}`);
    expect(() => run('*', max, max)).toThrow(`Integer overflow: ${max} * ${max} does not fit`);
    if (min < 0n) {
      expect(() => run('/', min, -1n)).toThrow(`Integer overflow: ${min} / (-1) does not fit`);
      expect(run('%', min, -1n)).toBe(of(0n));
      expect(() => negationOf(type)(of(min))).toThrow(`-(${min}) does not fit ${name}`);
      expect(negationOf(type)(of(max))).toBe(of(-max));
      expect(negationOf(type)(of(0n))).toBe(of(0n));
    }
  });

  it('division by zero is an error', () => {
    expect(() => run('/', 1n, 0n)).toThrow('Division by zero');
    expect(() => run('%', 1n, 0n)).toThrow('Division by zero');
  });

  it('truncates toward zero, the rest has the sign of the dividend', () => {
    if (min === 0n) return;
    expect(run('/', -7n, 2n)).toBe(of(-3n));
    expect(run('%', -7n, 2n)).toBe(of(-1n));
    expect(run('%', 7n, -2n)).toBe(of(1n));
    // Not -0.
    expect(run('*', 0n, -1n)).toBe(of(0n));
    expect(run('/', 0n, -1n)).toBe(of(0n));
    expect(run('%', -4n, 2n)).toBe(of(0n));
  });

  it('every other integer kind meets it in a kind that holds both', () => {
    for (const other of integerKinds) {
      const promoted = present(promotedType(type, scalarTypes[other]), 'the promoted type');
      const range = integerRange[promoted.kind as typeof kind];
      const isLargest = promoted.kind === 'i256';
      if (!isLargest) {
        expect(range.min <= min && range.max >= max).toBe(true);
        expect(range.max >= integerRange[other].max && range.min <= integerRange[other].min).toBe(
          true,
        );
      }
      expect(promotedType(scalarTypes[other], type)).toEqual(promoted);
    }
  });
});

describe('arithmetic of other types', () => {
  const { f32, f64, u8, u32, i32, i64, u64, u128, string, bool } = scalarTypes;

  it.each([
    [u8, i32, 'I32'],
    [u32, i32, 'I64'],
    [u64, i64, 'I128'],
    [u128, i32, 'I256'],
    [scalarTypes.u256, i64, 'I256'],
    [i64, f32, 'F64'],
    [f32, f32, 'F32'],
    [f32, f64, 'F64'],
    [u8, u8, 'U8'],
  ])('%o and %o meet in %s', (left, right, expected) => {
    expect(typeText(present(promotedType(left, right), 'it'))).toBe(expected);
  });

  it('floats may become infinite, but are not divided by zero', () => {
    expect(compute('*', [f64, 1e200], [f64, 1e200])).toBe(Number.POSITIVE_INFINITY);
    expect(compute('+', [f32, 0.1], [f32, 0.2])).toBe(Math.fround(0.1 + 0.2));
    expect(compute('%', [f64, -7.5], [f64, 2])).toBe(-1.5);
    expect(() => compute('/', [f64, 1], [f64, 0])).toThrow('Division by zero');
    expect(() => compute('/', [f64, 1], [f64, -0])).toThrow('Division by zero');
    expect(() => compute('%', [f64, 1], [f64, 0])).toThrow('Division by zero');
    expect(negationOf(f64)(1.5)).toBe(-1.5);
  });

  it('times and lengths of time', () => {
    const at = [timestampType, 1_000n] as const;
    const length = [timeDurationType, 30n] as const;
    expect(compute('+', at, length)).toBe(1_030n);
    expect(compute('+', length, at)).toBe(1_030n);
    expect(compute('-', at, length)).toBe(970n);
    expect(compute('-', at, [timestampType, 400n])).toBe(600n);
    expect(compute('-', length, [timeDurationType, 40n])).toBe(-10n);
    expect(compute('*', length, [u8, 3])).toBe(90n);
    expect(compute('*', [i64, -2n], length)).toBe(-60n);
    expect(compute('/', length, [i32, 4])).toBe(7n);
    expect(negationOf(timeDurationType)(5n)).toBe(-5n);
    const types = arithmeticTypes('-', timestampType, timestampType);
    expect(types?.result).toEqual(timeDurationType);
  });

  it('times that leave their range are errors', () => {
    const last = 2n ** 63n - 1n;
    expect(() => compute('+', [timestampType, last], [timeDurationType, 1n])).toThrow(
      'Time overflow: +294247-01-10T04:00:54.775807+00:00 + +0.000001 does not fit Timestamp',
    );
    expect(() => compute('-', [timestampType, last], [timestampType, -last])).toThrow(
      'does not fit TimeDuration',
    );
    expect(() => compute('*', [timeDurationType, last], [i64, 2n])).toThrow('TimeDuration');
    expect(() => compute('/', [timeDurationType, last], [i64, 0n])).toThrow('Division by zero');
    expect(() => negationOf(timeDurationType)(-last - 1n)).toThrow('does not fit TimeDuration');
  });

  it('|| joins texts of anything, and bytes', () => {
    expect(compute('||', [string, 'a'], [u8, 7])).toBe('a7');
    expect(compute('||', [bool, true], [f64, 1])).toBe('true1.0');
    const left = [bytesType, Uint8Array.of(1, 0, 0, 0, 5)] as const;
    const right = [bytesType, Uint8Array.of(2, 0, 0, 0, 6, 7)] as const;
    expect(compute('||', left, right)).toEqual(Uint8Array.of(3, 0, 0, 0, 5, 6, 7));
    const long = 'x'.repeat(limits.sqlTextCharactersMax / 2);
    expect(compute('||', [string, long], [string, long])).toHaveLength(2 * long.length);
    expect(() => compute('||', [string, long], [string, `${long}x`])).toThrow('characters');
  });

  it('other types are not computed with', () => {
    expect(arithmeticTypes('+', string, u8)).toBe(undefined);
    expect(arithmeticTypes('+', timestampType, timestampType)).toBe(undefined);
    expect(arithmeticTypes('*', timestampType, u8)).toBe(undefined);
    expect(arithmeticTypes('%', timeDurationType, u8)).toBe(undefined);
    expect(arithmeticTypes('/', i64, timeDurationType)).toBe(undefined);
    expect(arithmeticTypes('*', timeDurationType, f64)).toBe(undefined);
    expect(negatedType(string)).toBe(undefined);
    expect(negatedType(timestampType)).toBe(undefined);
  });

  it('unsigned numbers are negated in the signed type that holds them', () => {
    const negated = (type: AlgebraicType) => typeText(present(negatedType(type), 'it'));
    expect([u8, u32, u64, u128, scalarTypes.u256, i64, f32].map(negated)).toEqual([
      'I16',
      'I64',
      'I128',
      'I256',
      'I256',
      'I64',
      'F32',
    ]);
  });
});

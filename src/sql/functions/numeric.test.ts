import { describe, expect, it } from 'vitest';
import { callFunction as call, resultType, typed } from '../../../test/sql/call-function.ts';
import { timeDurationType } from '../../values/special-types.ts';
import type { AlgebraicType, ScalarKind } from '../../values/type.ts';
import type { QueryValue } from './function.ts';
import { scalarTypes } from './value-kind.ts';

const of = (kind: ScalarKind, value: QueryValue) => typed(scalarTypes[kind], value);

describe('numeric functions', () => {
  it.each([
    ['abs', [of('i8', -5)], 5],
    ['abs', [of('i64', -5n)], 5n],
    ['abs', [-1.5], 1.5],
    ['abs', [typed(timeDurationType, -5n)], 5n],
    ['ceil', [1.2], 2],
    ['ceiling', [-1.2], -1],
    ['floor', [-1.2], -2],
    ['floor', [of('u8', 7)], 7],
    ['round', [2.5], 2],
    ['round', [3.5], 4],
    ['round', [-2.5], -2],
    ['round', [2.675, 2n], 2.68],
    ['round', [1.005, 2n], 1.01],
    ['round', [-1.005, 2n], -1.01],
    ['round', [1234.5, -2n], 1200],
    ['round', [0.05, 1n], 0.1],
    ['round', [0.04, 1n], 0],
    ['round', [9.99, 1n], 10],
    ['round', [1e300, 5n], 1e300],
    ['round', [5e-324, 400n], 5e-324],
    ['round', [of('i32', 1250), -2n], 1300],
    ['round', [of('i64', -1250n), -2n], -1300n],
    ['round', [of('i32', 49), -2n], 0],
    ['round', [of('i32', 49), 2n], 49],
    ['round', [of('i32', 49), -900n], 0],
    ['trunc', [-1.7], -1],
    ['trunc', [1.789, 2n], 1.78],
    ['trunc', [of('i32', -1299), -2n], -1200],
    ['sign', [-2.5], -1],
    ['sign', [of('i64', 9n)], 1n],
    ['sign', [of('u8', 0)], 0],
    ['sqrt', [9], 3],
    ['sqrt', [of('u32', 16)], 4],
    ['cbrt', [-27], -3],
    ['power', [2, 10], 1024],
    ['pow', [1, Number.NaN], 1],
    ['power', [0, 0], 1],
    ['exp', [0], 1],
    ['ln', [1], 0],
    ['log', [1000], 3],
    ['log', [2, 8], 3],
    ['log', [4, 16], 2],
    ['log10', [100], 2],
    ['log2', [8], 3],
    ['mod', [of('i32', -7), of('i32', 3)], -1],
    ['mod', [7.5, 2], 1.5],
    ['div', [of('i32', -7), of('i32', 2)], -3],
    ['div', [7.5, 2], 3],
    ['degrees', [Math.PI], 180],
    ['radians', [180], Math.PI],
    ['sin', [0], 0],
    ['cos', [0], 1],
    ['tan', [0], 0],
    ['asin', [1], Math.PI / 2],
    ['acos', [1], 0],
    ['atan', [0], 0],
    ['atan2', [1, 0], Math.PI / 2],
    ['pi', [], Math.PI],
    ['greatest', [of('u8', 3), of('u8', 9), null], 9],
    ['greatest', [1, Number.NaN], Number.NaN],
    ['least', ['b', 'a'], 'a'],
    ['least', [null, null], null],
  ] as const)('%s(%o) = %s', (name, args, result) => {
    expect(call(name, ...args)).toBe(result);
  });

  it('no result is a negative zero of an integer', () => {
    expect(call('trunc', of('i32', -49), -2n)).toBe(0);
    expect(call('sign', of('i32', 0))).toBe(0);
    expect(call('mod', of('i32', -4), of('i32', 2))).toBe(0);
  });

  it.each([
    ['abs', [of('i8', -128)], 'Integer overflow: abs(-128) does not fit I8'],
    ['abs', [of('i256', -(2n ** 255n))], 'does not fit I256'],
    ['round', [of('u8', 255), -1n], 'Integer overflow: round(255, -1) does not fit U8'],
    ['sqrt', [-1], 'sqrt(-1) has no value'],
    ['ln', [0], 'ln(0) has no value'],
    ['log', [-1], 'log(-1) has no value'],
    ['log', [1, 5], 'Division by zero'],
    ['log2', [-4], 'log2(-4) has no value'],
    ['asin', [1.5], 'asin(1.5) has no value'],
    ['power', [0, -1], 'Division by zero'],
    ['power', [-8, 0.5], 'power(-8, 0.5) has no value'],
    ['mod', [of('i32', 1), of('i32', 0)], 'Division by zero'],
    ['div', [1, 0], 'Division by zero'],
  ] as const)('%s(%o) is an error', (name, args, message) => {
    expect(() => call(name, ...args)).toThrow(message);
  });

  it('integers keep their width, floats their precision', () => {
    const { u8, i64, f32, f64, i32, u32 } = scalarTypes;
    expect(resultType('abs', u8)).toBe('U8');
    expect(resultType('floor', i64)).toBe('I64');
    expect(resultType('round', f32, undefined)).toBe('F32');
    expect(resultType('mod', i32, u32)).toBe('I64');
    expect(resultType('greatest', u8, undefined, f64)).toBe('F64');
    expect(resultType('sqrt', u8)).toBe('F64');
    expect(resultType('abs', undefined)).toBe('F64');
  });

  it('texts are no numbers', () => {
    const text: AlgebraicType = scalarTypes.string;
    expect(resultType('abs', text)).toBe('none');
    expect(resultType('sqrt', text)).toBe('none');
    expect(resultType('greatest', text, scalarTypes.u8)).toBe('none');
    expect(resultType('mod', text, scalarTypes.u8)).toBe('none');
  });
});

import { describe, expect, it } from 'vitest';
import { present } from '../../assert.ts';
import { Random } from '../../testing/random.ts';
import { bytesType, timeDurationType, timestampType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { typeText } from '../../values/typespace.ts';
import { aggregateNamed } from './aggregate-names.ts';
import { findAggregate } from './aggregates.ts';
import { type QueryValue, retractable } from './function.ts';
import { scalarTypes } from './value-kind.ts';

const { u8, i8, u32, i32, i64, u64, u128, i256, f32, f64, string, bool } = scalarTypes;

function aggregate(
  name: string,
  type: AlgebraicType | undefined,
  values: readonly QueryValue[],
): QueryValue {
  const found = present(findAggregate(name, type, false), name);
  const accumulator = found.function.makeAccumulator();
  for (const value of values) accumulator.add(value);
  return accumulator.finish();
}

describe('aggregates', () => {
  it('have names in letters of any case', () => {
    for (const name of ['COUNT', 'sum', 'Avg', 'MIN', 'max', 'Median', 'STDDEV']) {
      expect(findAggregate(name, u8, false), name).toBeDefined();
    }
    expect(findAggregate('mode', u8, false)).toBe(undefined);
    expect(aggregateNamed('every')).toBe('bool_and');
    expect(aggregateNamed('variance')).toBe('var_samp');
    expect(aggregateNamed('mode')).toBe(undefined);
  });

  it('[ease 3.4] spread does not depend on the order of rows', () => {
    const random = new Random(7);
    const values = Array.from({ length: 500 }, () => (random.between(-1e6, 1e6) * 1e9) / 7);
    for (const name of ['stddev', 'variance', 'median', 'stddev_pop', 'var_pop']) {
      const expected = aggregate(name, f64, values);
      expect(aggregate(name, f64, values.toReversed()), name).toBe(expected);
      expect(aggregate(name, f64, values.toSorted()), name).toBe(expected);
    }
    expect(aggregate('variance', f64, [1])).toBe(null);
    expect(aggregate('var_pop', f64, [1])).toBe(0);
    expect(aggregate('median', f64, [4, 1, 3])).toBe(3);
    expect(aggregate('median', f64, [4, 1, 3, 2])).toBe(2.5);
    expect(aggregate('median', f64, [])).toBe(null);
    expect(findAggregate('stddev', string, false)).toBe(undefined);
  });

  it('[ease 3.4] bool_and and bool_or take values away again', () => {
    for (const [name, whole, rest] of [
      ['bool_and', false, true],
      ['bool_or', true, true],
    ] as const) {
      const made = present(findAggregate(name, bool, false), name).function.makeAccumulator();
      const truth = present(retractable(made), name);
      for (const value of [true, false, true]) truth.add(value);
      expect(truth.finish(), name).toBe(whole);
      truth.remove(false);
      expect(truth.finish(), name).toBe(rest);
      truth.remove(true);
      truth.remove(true);
      expect(truth.finish(), name).toBe(null);
    }
  });

  it('only COUNT is a value for nothing', () => {
    expect(aggregate('count', undefined, [])).toBe(0n);
    for (const name of ['sum', 'avg', 'min', 'max']) {
      for (const type of [u8, i64, f64, timeDurationType]) {
        expect(aggregate(name, type, [])).toBe(null);
        expect(findAggregate(name, type, false)?.result.isNullable).toBe(true);
      }
    }
    expect(findAggregate('count', u8, false)?.result.isNullable).toBe(false);
  });

  it.each([
    ['count', undefined, 'U64'],
    ['count', string, 'U64'],
    ['sum', i8, 'I64'],
    ['sum', i32, 'I64'],
    ['sum', u32, 'U64'],
    ['sum', i64, 'I128'],
    ['sum', u64, 'U128'],
    ['sum', u128, 'U128'],
    ['sum', i256, 'I256'],
    ['sum', f32, 'F64'],
    ['avg', u8, 'F64'],
    ['avg', i256, 'F64'],
    ['min', timestampType, '(__timestamp_micros_since_unix_epoch__: I64)'],
    ['max', string, 'String'],
  ] as const)('%s of %o is %s', (name, type, expected) => {
    expect(typeText(present(findAggregate(name, type, false), 'it').result.type)).toBe(expected);
  });

  it('SUM and AVG take numbers and durations only', () => {
    for (const type of [string, bool, timestampType, bytesType, undefined]) {
      expect(findAggregate('sum', type, false)).toBe(undefined);
      expect(findAggregate('avg', type, false)).toBe(undefined);
    }
    expect(aggregate('sum', timeDurationType, [5n, -2n])).toBe(3n);
    expect(aggregate('avg', timeDurationType, [5n, 2n])).toBe(3n);
    expect(() => aggregate('sum', timeDurationType, [2n ** 63n - 1n, 1n])).toThrow('Time overflow');
  });

  it('sums are exact beyond what floats hold', () => {
    const most = Array.from({ length: 3_000_000 }, () => 0xffff_ffff);
    expect(aggregate('sum', u32, most)).toBe(0xffff_ffffn * 3_000_000n);
    expect(aggregate('sum', i32, [2 ** 31 - 1, -1, -(2 ** 31)])).toBe(-2n);
    expect(aggregate('sum', u64, [2n ** 64n - 1n, 2n ** 64n - 1n])).toBe(2n ** 65n - 2n);
    expect(aggregate('sum', i64, [-(2n ** 63n), -1n])).toBe(-(2n ** 63n) - 1n);
  });

  it('sums of the widest integers can overflow, at the end', () => {
    const most = 2n ** 255n - 1n;
    expect(() => aggregate('sum', i256, [most, 1n])).toThrow('does not fit I256');
    expect(aggregate('sum', i256, [most, 1n, -1n])).toBe(most);
    expect(() => aggregate('sum', u128, [2n ** 128n - 1n, 1n])).toThrow('does not fit U128');
  });

  it('sums of floats do not lose what is small', () => {
    expect(aggregate('sum', f64, [1e16, 1, -1e16, 1])).toBe(2);
    expect(aggregate('sum', f64, [1, 1e100, 1, -1e100])).toBe(2);
    expect(aggregate('sum', f64, [1e308, 1e308])).toBe(Number.POSITIVE_INFINITY);
    expect(aggregate('sum', f64, [Number.POSITIVE_INFINITY, -1])).toBe(Number.POSITIVE_INFINITY);
    expect(aggregate('avg', f64, [1, 2])).toBe(1.5);
  });

  it('averages of integers are the nearest float', () => {
    expect(aggregate('avg', u8, [1, 2])).toBe(1.5);
    expect(aggregate('avg', i64, [2n ** 62n, 2n ** 62n + 2n])).toBe(Number(2n ** 62n + 1n));
    expect(aggregate('avg', i64, [-(2n ** 53n) - 2n, -(2n ** 53n) - 2n])).toBe(-(2 ** 53) - 2);
    expect(aggregate('avg', i256, [2n ** 200n, 2n ** 200n])).toBe(2 ** 200);
    const random = new Random(7);
    for (let round = 0; round < 200; round++) {
      const values = Array.from({ length: random.between(1, 9) }, () => random.bigint(63));
      const total = values.reduce((sum, value) => sum + value, 0n);
      // Scaled up, so that only the division rounds.
      const scaled = Number((total << 200n) / BigInt(values.length)) / 2 ** 200;
      expect(aggregate('avg', i64, values)).toBe(scaled);
    }
  });

  it('MIN and MAX follow the order of SQL', () => {
    const floats = [1, Number.NaN, Number.NEGATIVE_INFINITY];
    expect(aggregate('max', f64, floats)).toBe(Number.NaN);
    expect(aggregate('min', f64, floats)).toBe(Number.NEGATIVE_INFINITY);
    expect(aggregate('max', string, ['\uffff', '\u{10000}', 'a'])).toBe('\u{10000}');
    expect(aggregate('min', bool, [true, false])).toBe(false);
    expect(aggregate('max', i64, [3n, -5n, 2n])).toBe(3n);
  });
});

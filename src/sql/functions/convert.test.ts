import { describe, expect, it } from 'vitest';
import { present } from '../../assert.ts';
import { integerRange } from '../../values/integer-range.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  timeDurationType,
  timestampType,
  uuidType,
} from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { joined } from './arrays.ts';
import { conversionOf, isWidening, optionInnerType, roundHalfToEven } from './convert.ts';
import type { QueryValue } from './function.ts';
import { intervalFromText } from './interval.ts';
import { encodeQueryValue } from './value-codec.ts';
import { scalarTypes } from './value-kind.ts';

const { string, bool, u8, i8, i16, u32, i32, i64, u64, f32, f64, u256, i256 } = scalarTypes;
const integerKinds = Object.keys(integerRange) as (keyof typeof integerRange)[];
const isWide = (kind: string) => Number(kind.slice(1)) > 32;

function convert(from: AlgebraicType, to: AlgebraicType, value: QueryValue): QueryValue {
  return present(conversionOf(from, to), 'a conversion').convert(value);
}

describe('conversions', () => {
  it('[sql 8.4] a text is no longer than a function may make one', () => {
    const list: AlgebraicType = { kind: 'array', element: string };
    const of = (parts: readonly string[]) => {
      return joined(parts.map((part) => encodeQueryValue(string, part)));
    };
    const half = 'x'.repeat(2 ** 19);
    expect(convert(list, string, of([half, 'y']))).toBe(`["${half}", "y"]`);
    expect(() => convert(list, string, of([half, half]))).toThrow('at most 1048576 are allowed');
    const many: AlgebraicType = { kind: 'array', element: u8 };
    const bytes = (count: number) => joined(new Array<Uint8Array>(count).fill(Uint8Array.of(7)));
    expect(convert(many, string, bytes(1_000))).toHaveLength(2_002);
    expect(() => convert(many, string, bytes(2 ** 20))).toThrow('characters');
    const wide: AlgebraicType = { kind: 'array', element: u256 };
    const zeros = (count: number) => joined(new Array<Uint8Array>(count).fill(new Uint8Array(32)));
    expect(convert(wide, string, zeros(3))).toBe('[0, 0, 0]');
    expect(() => convert(wide, string, zeros(140_000))).toThrow('4480004 bytes');
    expect(present(conversionOf(list, string), 'it').canRaise).toBe(true);
  });

  it('every integer goes to every integer kind that holds it, else it is an error', () => {
    for (const from of integerKinds) {
      for (const to of integerKinds) {
        for (const value of [integerRange[from].min, 0n, 1n, integerRange[from].max]) {
          const given = isWide(from) ? value : Number(value);
          const fits = value >= integerRange[to].min && value <= integerRange[to].max;
          const run = () => convert(scalarTypes[from], scalarTypes[to], given);
          if (fits) expect(run()).toBe(isWide(to) ? value : Number(value));
          else expect(run).toThrow(`Integer overflow: ${value} does not fit`);
        }
        const { canRaise } = present(conversionOf(scalarTypes[from], scalarTypes[to]), 'it');
        expect(canRaise).toBe(!isWidening(scalarTypes[from], scalarTypes[to]));
      }
    }
  });

  it.each([
    [f64, i32, 2.5, 2],
    [f64, i32, 3.5, 4],
    [f64, i32, -2.5, -2],
    [f64, u8, -0.4, 0],
    [f64, i64, 1e15, 10n ** 15n],
    [f64, u256, 2 ** 200, 2n ** 200n],
    [f32, u8, 255.4, 255],
    [u8, f64, 7, 7],
    [u64, f64, 2n ** 64n - 1n, 2 ** 64],
    [i64, f32, 16_777_217n, 16_777_216],
    [f64, f32, 0.1, Math.fround(0.1)],
    [f32, f64, 0.5, 0.5],
    [bool, u8, true, 1],
    [bool, i64, false, 0n],
    [u8, bool, 2, true],
    [i64, bool, 0n, false],
    [timestampType, i64, 5n, 5n],
    [i64, timestampType, -5n, -5n],
    [u8, timeDurationType, 5, 5n],
    [identityType, u256, 7n, 7n],
    [u256, identityType, 7n, 7n],
    [uuidType, scalarTypes.u128, 7n, 7n],
    [string, i32, ' -12 ', -12],
    [string, u8, '1e2', 100],
    [string, f64, '1.5', 1.5],
    [string, f64, 'NaN', Number.NaN],
    [string, f32, '-Infinity', Number.NEGATIVE_INFINITY],
    [string, f32, '0.1', Math.fround(0.1)],
    [string, bool, 'TRUE', true],
    [string, bool, '0', false],
    [string, timestampType, '1970-01-01T00:00:01Z', 1_000_000n],
    [string, timeDurationType, '1 minute', 60_000_000n],
    [string, timeDurationType, '-0.000250', -250n],
    [string, identityType, 'ab'.padStart(64, '0'), 0xabn],
    [string, connectionIdType, `0x${'1'.padStart(32, '0')}`, 1n],
    [string, uuidType, '00000000-0000-0000-0000-000000000001', 1n],
    [i32, string, -12, '-12'],
    [f64, string, 1, '1.0'],
    [f32, string, Math.fround(0.1), '0.1'],
    [bool, string, true, 'true'],
    [timestampType, string, 1_500_000n, '1970-01-01T00:00:01.500+00:00'],
    [timeDurationType, string, -250n, '-0.000250'],
    [identityType, string, 0xabn, 'ab'.padStart(64, '0')],
    [uuidType, string, 1n, '00000000-0000-0000-0000-000000000001'],
    [i8, i8, 3, 3],
  ])('from %o to %o: %s is %s', (from, to, value, expected) => {
    expect(convert(from, to, value)).toBe(expected);
  });

  it.each([
    [f64, i32, 2 ** 31, 'Integer overflow: 2147483648 does not fit I32'],
    [f64, i32, Number.NaN, 'Integer overflow: NaN does not fit I32'],
    [f64, i256, Number.POSITIVE_INFINITY, 'Integer overflow: Infinity does not fit I256'],
    [f64, u8, -0.6, 'Integer overflow: -0.6 does not fit U8'],
    [string, u8, '256', "'256' cannot be converted to U8"],
    [string, i16, 'x', "'x' cannot be converted to I16"],
    [string, f64, '1,5', "'1,5' cannot be converted to F64"],
    [string, bool, 'maybe', "'maybe' cannot be converted to Bool"],
    [string, timestampType, 'today', "'today' cannot be converted to Timestamp"],
    [string, timeDurationType, 'soon', "'soon' is not an interval"],
    [string, identityType, 'ab', "'ab' cannot be converted to Identity"],
    [string, uuidType, 'ab', "'ab' cannot be converted to UUID"],
    [string, bytesType, 'abc', "'abc' cannot be converted to Array<U8>"],
    [u64, timestampType, 2n ** 63n, 'does not fit I64'],
  ])('from %o to %o: %s is an error', (from, to, value, message) => {
    expect(() => convert(from, to, value)).toThrow(message);
  });

  it('bytes and composite values have a text, and bytes are read from one', () => {
    expect(convert(string, bytesType, '0xAb01')).toEqual(Uint8Array.of(2, 0, 0, 0, 0xab, 1));
    expect(convert(bytesType, string, Uint8Array.of(2, 0, 0, 0, 0xab, 1))).toBe('0xab01');
    const point = product(['x', u8], ['name', string]);
    const encoded = Uint8Array.of(7, 1, 0, 0, 0, 65);
    expect(convert(point, string, encoded)).toBe('(x = 7, name = "A")');
    expect(convert(optionType(u8), string, Uint8Array.of(1))).toBe('(none = ())');
  });

  it('what has no sensible conversion has none', () => {
    const pairs: readonly (readonly [AlgebraicType, AlgebraicType])[] = [
      [string, optionType(u8)],
      [u8, bytesType],
      [bytesType, u8],
      [f64, bool],
      [f64, timestampType],
      [timestampType, f64],
      [timestampType, timeDurationType],
      [timestampType, bool],
      [identityType, uuidType],
      [product(['x', u8]), u8],
      [u8, product(['x', u8])],
    ];
    for (const [from, to] of pairs) expect(conversionOf(from, to)).toBe(undefined);
  });

  it('widening keeps every number or rounds it to the nearest float', () => {
    expect(isWidening(u8, u32)).toBe(true);
    expect(isWidening(u8, i8)).toBe(false);
    expect(isWidening(u8, i16)).toBe(true);
    expect(isWidening(u64, f32)).toBe(true);
    expect(isWidening(f32, f64)).toBe(true);
    expect(isWidening(f64, f32)).toBe(false);
    expect(isWidening(f64, i64)).toBe(false);
    expect(isWidening(bool, u8)).toBe(false);
    expect(isWidening(string, string)).toBe(false);
  });

  it('an Option carries its inner type, refs followed', () => {
    expect(optionInnerType(optionType(u8))).toEqual(u8);
    expect(optionInnerType({ kind: 'ref', ref: 0 }, { types: [optionType(u8)] })).toEqual(u8);
    expect(optionInnerType(u8)).toBe(undefined);
  });

  it('halves are rounded to the even neighbour', () => {
    expect([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994].map(roundHalfToEven)).toEqual([
      0, 2, 2, 0, -2, 0,
    ]);
    expect(roundHalfToEven(2 ** 53 + 2)).toBe(2 ** 53 + 2);
  });
});

describe('intervals', () => {
  const second = 1_000_000n;
  const hour = 3_600n * second;
  const day = 24n * hour;

  it.each([
    ['1 day 2 hours', day + 2n * hour],
    ['1 day, 2 hours', day + 2n * hour],
    ['-1 day 2 hours', -day + 2n * hour],
    ['90 minutes ago', -90n * 60n * second],
    ['1.5 hours', hour + hour / 2n],
    ['1h30m', hour + hour / 2n],
    ['2 weeks', 14n * day],
    ['3w', 21n * day],
    ['5 ms', 5_000n],
    ['5 microseconds', 5n],
    ['.5 s', second / 2n],
    ['0.0000019 s', 1n],
    ['1 DAY', day],
    ['- 2 days', -2n * day],
    ['01:30', hour + hour / 2n],
    ['1 day 01:30:15.25', day + hour + hour / 2n + 15n * second + second / 4n],
    ['-00:00:01', -second],
    ['PT90S', 90n * second],
    ['P1DT2H30M', day + 2n * hour + hour / 2n],
    ['p2w', 14n * day],
    ['-PT0.5S', -second / 2n],
    ['P1DT-2H', day - 2n * hour],
    ['90', 90n * second],
    ['+1.500000', 1_500_000n],
    ['  1 day  ', day],
  ])("'%s'", (text, micros) => {
    expect(intervalFromText(text)).toBe(micros);
  });

  it.each([
    ['', 'is not an interval'],
    ['ago', 'is not an interval'],
    ['1', undefined],
    ['day', 'is not an interval'],
    ['1 day two hours', 'is not an interval'],
    ['1 fortnight', "'fortnight' in the interval '1 fortnight' is not a unit"],
    ['1 month', 'months and years differ'],
    ['2 years 1 day', 'months and years differ'],
    ['P1Y', 'months and years differ'],
    ['P1M', 'months and years differ'],
    ['P', 'is not an interval'],
    ['P1DT', 'is not an interval'],
    ['01:60', 'is not an interval'],
    ['1:2:3', 'is not an interval'],
    ['1.2.3 s', 'is not an interval'],
    ['9999999999 weeks', 'does not fit TimeDuration'],
    [`${'9'.repeat(500)} s`, 'is not an interval'],
  ])("'%s' %s", (text, message) => {
    if (message === undefined) expect(intervalFromText(text)).toBe(second);
    else expect(() => intervalFromText(text)).toThrow(message);
  });
});

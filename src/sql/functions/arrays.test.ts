import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { limits } from '../../limits.ts';
import { encodeValue } from '../../values/encode.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { chargeElements } from '../expressions/charge.ts';
import { arrayOf, containsAll, overlaps, quantified } from './arrays.ts';
import { canonicalOf } from './canonical.ts';

const u32: AlgebraicType = { kind: 'u32' };
const most = limits.sqlArrayKeysMax;

function numbers(count: number, from = 0): Uint8Array {
  return encodeValue(
    arrayOf(u32),
    Array.from({ length: count }, (_, at) => from + at),
  );
}

describe('long arrays', () => {
  const long = numbers(2 * most + 5);
  const contains = (left: Uint8Array, right: Uint8Array) =>
    containsAll(u32).evaluate([left, right], 0n);
  const meet = (left: Uint8Array, right: Uint8Array) => overlaps(u32).evaluate([left, right], 0n);

  it('[ease 3.3] are looked up in several sets', () => {
    expect(contains(long, long)).toBe(true);
    expect(contains(long, numbers(most + 1, most + 5))).toBe(false);
    expect(contains(numbers(2 * most + 4), long)).toBe(false);
    expect(contains(long, numbers(0))).toBe(true);
    expect(meet(numbers(3, 2 * most + 4), long)).toBe(true);
    expect(meet(numbers(3, 2 * most + 5), long)).toBe(false);
    expect(meet(long, numbers(0))).toBe(false);
  });

  it('[ease 3.3] are the same when they are asked for again, whatever the elements are', () => {
    const bytes = numbers(4);
    const test = overlaps(u32);
    const other = overlaps({ kind: 'i32' });
    for (let round = 0; round < limits.sqlArraySetsMax + 2; round++) {
      expect(test.evaluate([numbers(1, 3), bytes], 0n)).toBe(true);
      expect(test.evaluate([numbers(1, 4), numbers(4, round)], 0n)).toBe(round > 0 && round < 5);
      expect(other.evaluate([numbers(1, 3), bytes], 0n)).toBe(true);
    }
  });

  it('[ease 3.3] count as work by their elements, and have an end within one row', () => {
    const of = (test: typeof containsAll, left: Uint8Array, right: Uint8Array) =>
      test(u32).elementCount?.([left, right]);
    expect(of(containsAll, numbers(100), numbers(3))).toBe(103);
    expect(of(overlaps, long, long)).toBe(4 * (2 * most + 5));
    expect(quantified('=', false, u32).elementCount?.([1, numbers(9)])).toBe(9);
    expect(quantified('=', false, u32).elementCount?.([1, null])).toBe(0);
    const frame = { pages: [], rows: [], values: [], parameters: [], nowMicros: 0n, ticks: 1_000 };
    chargeElements(frame, 7);
    expect(frame.ticks).toBe(1_000);
    chargeElements(frame, 800);
    expect(frame.ticks).toBe(900);
    expect(() => chargeElements(frame, 16 * limits.sqlRowWorkMax)).toThrow(
      'One row needs too much work on long arrays at once; ' +
        'use shorter arrays or fewer functions on them',
    );
  });

  it('[ease 3.3] are refused by a statement that would compare each with each', () => {
    const lab = new QueryLab([{ name: 't', columns: { a: arrayOf(u32), b: arrayOf(u32) } }]);
    const count = 6 * most;
    const list = (from: number) => Array.from({ length: count }, (_, at) => from + at);
    lab.insert('t', [[list(0), list(count)]]);
    const text = 'One row needs too much work on long arrays at once';
    expect(() => lab.rows('SELECT a && b AS x FROM t WHERE 7 = ANY(a)')).not.toThrow();
    const eight = Array.from({ length: 8 }, () => 'a && b').join(' OR ');
    expect(() => lab.rows(`SELECT ${eight} AS x FROM t`)).toThrow(text);
  });
});

describe('arrays of floats', () => {
  it.each(['f32', 'f64'] as const)('[ease 3.3] have one form for all equal ones: %s', (kind) => {
    const type = arrayOf({ kind });
    const canonical = canonicalOf(type);
    const other = encodeValue(type, [-0, Number.NaN, 1.5, -1.5]);
    // Another NaN: its lowest bit is set.
    const size = kind === 'f32' ? 4 : 8;
    other[4 + size] = 1;
    const before = other.slice();
    expect(canonical(other)).toEqual(encodeValue(type, [0, Number.NaN, 1.5, -1.5]));
    expect(other).toEqual(before);
  });
});

import { describe, expect, it } from 'vitest';
import { comparatorOf, encodedComparatorOf } from './compare.ts';
import { encodeValue } from './encode.ts';
import {
  bytesType,
  identityType,
  optionType,
  product,
  resultType,
  scheduleAtType,
  sum,
  timestampType,
  unitType,
} from './special-types.ts';
import type { AlgebraicType } from './type.ts';
import type { Value } from './value.ts';

/** Checks that `values` ascend strictly, decoded and encoded, at any offset. */
function expectAscending(type: AlgebraicType, values: readonly Value[]): void {
  for (const [i, a] of values.entries()) {
    for (const [j, b] of values.entries()) {
      expect(orders(type, a, b), `${i} against ${j}`).toEqual([Math.sign(i - j), Math.sign(i - j)]);
    }
  }
}

/** The signs of both comparators. */
function orders(type: AlgebraicType, a: Value, b: Value): [number, number] {
  const padded = (value: Value, before: number) => {
    const bytes = encodeValue(type, value);
    const result = new Uint8Array(before + bytes.length + 1).fill(0xee);
    result.set(bytes, before);
    return result;
  };
  const encoded = encodedComparatorOf(type)(padded(a, 3), 3, padded(b, 1), 1);
  return [Math.sign(comparatorOf(type)(a, b)) + 0, Math.sign(encoded) + 0];
}

const none = { tag: 1, value: [] };

describe('[values 6] the order of values', () => {
  it('puts false before true', () => expectAscending({ kind: 'bool' }, [false, true]));

  it('is numeric for integers of every width', () => {
    expectAscending({ kind: 'i8' }, [-128, -1, 0, 1, 127]);
    expectAscending({ kind: 'u8' }, [0, 1, 127, 128, 255]);
    expectAscending({ kind: 'i16' }, [-32768, -256, -1, 0, 255, 256, 32767]);
    expectAscending({ kind: 'u16' }, [0, 255, 256, 32768, 65535]);
    expectAscending({ kind: 'i32' }, [-(2 ** 31), -1, 0, 256, 2 ** 31 - 1]);
    expectAscending({ kind: 'u32' }, [0, 1, 2 ** 31, 2 ** 32 - 1]);
    for (const [signed, unsigned, bits] of [
      ['i64', 'u64', 64n],
      ['i128', 'u128', 128n],
      ['i256', 'u256', 256n],
    ] as const) {
      const half = 1n << (bits - 1n);
      expectAscending({ kind: signed }, [-half, -257n, -256n, -1n, 0n, 1n, 255n, 256n, half - 1n]);
      expectAscending({ kind: unsigned }, [0n, 1n, 255n, 256n, half, 2n * half - 1n]);
    }
  });

  it('is total for floats', () => {
    const tiny = { f32: 1.401298464324817e-45, f64: 5e-324 };
    const huge = { f32: 3.4028234663852886e38, f64: Number.MAX_VALUE };
    for (const kind of ['f32', 'f64'] as const) {
      expectAscending({ kind }, [
        -Infinity,
        -huge[kind],
        -1.5,
        -1,
        -tiny[kind],
        0,
        tiny[kind],
        1,
        1.5,
        huge[kind],
        Infinity,
        Number.NaN,
      ]);
      expect(orders({ kind }, -0, 0)).toEqual([0, 0]);
      expect(orders({ kind }, Number.NaN, Number.NaN)).toEqual([0, 0]);
    }
  });

  it('holds every pattern of NaN to be equal and last', () => {
    const compare = encodedComparatorOf({ kind: 'f64' });
    const quiet = encodeValue({ kind: 'f64' }, Number.NaN);
    const other = Uint8Array.of(1, 0, 0, 0, 0, 0, 0xf0, 0xff);
    expect(compare(quiet, 0, other, 0)).toBe(0);
    expect(compare(other, 0, encodeValue({ kind: 'f64' }, Infinity), 0)).toBeGreaterThan(0);
    const narrow = encodedComparatorOf({ kind: 'f32' });
    expect(narrow(Uint8Array.of(1, 0, 0x80, 0xff), 0, Uint8Array.of(0, 0, 0xc0, 0x7f), 0)).toBe(0);
  });

  it('is that of code points for strings', () => {
    expectAscending({ kind: 'string' }, ['', 'A', 'B', 'a', 'aa', 'b', 'é', '漢', '\uffff', '😀']);
  });

  it('goes element by element, then the shorter first', () => {
    expectAscending(bytesType, [
      Uint8Array.of(),
      Uint8Array.of(0),
      Uint8Array.of(0, 9),
      Uint8Array.of(1),
      Uint8Array.of(255),
    ]);
    expectAscending({ kind: 'array', element: { kind: 'i16' } }, [[], [-1], [-1, 5], [0], [256]]);
    expectAscending({ kind: 'array', element: { kind: 'string' } }, [[], ['a'], ['a', 'b'], ['b']]);
    expectAscending({ kind: 'array', element: unitType }, [[], [[]], [[], []]]);
  });

  it('goes by element for products and by tag, then payload, for sums', () => {
    const row = product(['s', { kind: 'string' }], ['f', { kind: 'f64' }], ['n', { kind: 'i8' }]);
    expectAscending(row, [
      ['', 9, 9],
      ['a', -1, 5],
      ['a', 0, -1],
      ['a', 0, 3],
      ['b', -9, -9],
    ]);
    expect(orders(row, ['a', -0, 1], ['a', 0, 1])).toEqual([0, 0]);
    const shape = sum(['B', { kind: 'u8' }], ['A', unitType], ['C', { kind: 'string' }]);
    expectAscending(shape, [
      { tag: 0, value: 0 },
      { tag: 0, value: 9 },
      none,
      { tag: 2, value: '' },
      { tag: 2, value: 'x' },
    ]);
  });

  it('puts some before none, ok before err, Interval before Time', () => {
    expectAscending(optionType({ kind: 'u8' }), [{ tag: 0, value: 0 }, { tag: 0, value: 9 }, none]);
    expectAscending(resultType({ kind: 'u8' }, { kind: 'u8' }), [
      { tag: 0, value: 9 },
      { tag: 1, value: 0 },
    ]);
    expectAscending(scheduleAtType, [
      { tag: 0, value: [9n] },
      { tag: 1, value: [0n] },
    ]);
  });

  it('is numeric for special types', () => {
    expectAscending(identityType, [[0n], [255n], [256n], [2n ** 255n]]);
    expectAscending(timestampType, [[-1n], [0n], [1n]]);
  });

  it('follows refs', () => {
    const typespace = {
      types: [
        sum(
          ['Nil', unitType],
          ['Cons', product(['h', { kind: 'u8' }], ['t', { kind: 'ref', ref: 0 }])],
        ),
      ],
    };
    const type: AlgebraicType = { kind: 'ref', ref: 0 };
    const nil = { tag: 0, value: [] };
    const one = { tag: 1, value: [1, nil] };
    const long = { tag: 1, value: [1, one] };
    for (const [a, b] of [
      [nil, one],
      [one, long],
    ] as const) {
      expect(comparatorOf(type, typespace)(a, b)).toBeLessThan(0);
      const [left, right] = [encodeValue(type, a, typespace), encodeValue(type, b, typespace)];
      expect(encodedComparatorOf(type, typespace)(left, 0, right, 0)).toBeLessThan(0);
    }
  });
});

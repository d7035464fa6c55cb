import { describe, expect, it } from 'vitest';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
import { valueToText } from './text.ts';
import type { AlgebraicType } from './type.ts';
import type { Value } from './value.ts';

const none = { tag: 1, value: [] };

describe('[values 7] texts of values', () => {
  const cases: readonly (readonly [AlgebraicType, Value, plain: string, table?: string])[] = [
    [{ kind: 'bool' }, true, 'true'],
    [{ kind: 'i32' }, -5, '-5'],
    [{ kind: 'u256' }, 2n ** 255n, String(2n ** 255n)],
    [{ kind: 'f64' }, 1, '1.0'],
    [{ kind: 'f32' }, Math.fround(0.1), '0.1'],
    [{ kind: 'f64' }, -Infinity, '-inf'],
    [{ kind: 'string' }, 'a"b\n', '"a"b\n"'],
    [bytesType, Uint8Array.of(0, 255), '0x00ff'],
    [{ kind: 'array', element: { kind: 'u8' } }, Uint8Array.of(), '0x'],
    [{ kind: 'array', element: { kind: 'i8' } }, [1, -2], '[1, -2]'],
    [product(['x', { kind: 'u8' }], ['y', { kind: 'u8' }]), [1, 2], '(x = 1, y = 2)'],
    [
      { kind: 'product', elements: [{ name: undefined, type: { kind: 'u8' } }] },
      [1],
      '(col_0 = 1)',
    ],
    [unitType, [], '()'],
    [optionType({ kind: 'u8' }), { tag: 0, value: 5 }, '(some = 5)'],
    [optionType({ kind: 'u8' }), none, '(none = ())'],
    [sum(['Red', unitType]), { tag: 0, value: [] }, '(Red = ())'],
    [identityType, [255n], `${'0'.repeat(62)}ff`, `0x${'0'.repeat(62)}ff`],
    [connectionIdType, [255n], `${'0'.repeat(30)}ff`, `0x${'0'.repeat(30)}ff`],
    [timestampType, [-1n], '1969-12-31T23:59:59.999999+00:00'],
    [timeDurationType, [-250n], '-0.000250'],
    [
      uuidType,
      [2038248931870793702824066173118709760n],
      '01888d6e-5c00-7000-8000-000000000000',
      '"01888d6e-5c00-7000-8000-000000000000"',
    ],
    [
      optionType(product(['who', identityType])),
      { tag: 0, value: [[1n]] },
      `(some = (who = ${'0'.repeat(63)}1))`,
      `(some = (who = 0x${'0'.repeat(63)}1))`,
    ],
  ];
  for (const [type, value, plain, table = plain] of cases) {
    it(plain, () => {
      expect(valueToText(type, value)).toBe(plain);
      expect(valueToText(type, value, undefined, 'table')).toBe(table);
    });
  }

  it('follow refs', () => {
    const typespace = { types: [optionType({ kind: 'ref', ref: 0 })] };
    const value = { tag: 0, value: none };
    expect(valueToText({ kind: 'ref', ref: 0 }, value, typespace)).toBe('(some = (none = ()))');
  });
});

import { describe, expect, it } from 'vitest';
import { BinaryReader } from './binary-reader.ts';
import { encodeValue } from './encode.ts';
import { encodedToJsonPieces } from './json.ts';
import { plainWriterOf } from './plain.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  resultType,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
import type { AlgebraicType, Typespace } from './type.ts';
import type { Value } from './value.ts';

const u8: AlgebraicType = { kind: 'u8' };
const string: AlgebraicType = { kind: 'string' };
const status = sum(['Todo', unitType], ['Done', unitType]);
const content = sum(['Text', string], ['Nothing', unitType]);
const types: Typespace = { types: [unitType, optionType(u8), status] };
const ref = (at: number): AlgebraicType => ({ kind: 'ref', ref: at });
const none = { tag: 1, value: [] };
const some = (value: Value) => ({ tag: 0, value });

describe('[ease 2.4] the plain form', () => {
  const cases: readonly (readonly [AlgebraicType, Value, string])[] = [
    [product(['id', u8], ['name', string]), [7, 'Ann'], '{"id":7,"name":"Ann"}'],
    [unitType, [], '{}'],
    [{ kind: 'array', element: status }, [none, some([])], '["Done","Todo"]'],
    [content, some('hi'), '{"Text":"hi"}'],
    [content, none, '"Nothing"'],
    [sum(['A', ref(0)], ['B', ref(0)]), none, '"B"'],
    [{ kind: 'sum', variants: [{ name: undefined, type: unitType }] }, some([]), '"0"'],
    [optionType(status), none, 'null'],
    [optionType(status), some(none), '"Done"'],
    [optionType(content), some(some('hi')), '{"Text":"hi"}'],
    [optionType(optionType(u8)), none, 'null'],
    [optionType(optionType(u8)), some(none), '{"some":null}'],
    [optionType(optionType(u8)), some(some(5)), '{"some":5}'],
    [optionType(ref(1)), some(none), '{"some":null}'],
    [optionType(product(['some', u8])), some([5]), '{"some":{"some":5}}'],
    [optionType(product(['some', u8], ['b', u8])), some([5, 6]), '{"some":5,"b":6}'],
    [optionType(sum(['none', u8], ['b', u8])), some(some(5)), '{"some":{"none":5}}'],
    [resultType(u8, string), { tag: 1, value: 'no' }, '{"err":"no"}'],
    [scheduleAtType, some([1_500_000n]), '{"Interval":"1.5s"}'],
    [scheduleAtType, { tag: 1, value: [0n] }, '{"Time":"1970-01-01T00:00:00Z"}'],
    [bytesType, Uint8Array.of(0, 255), '"00ff"'],
    [identityType, [10n], `"${'0'.repeat(63)}a"`],
    [connectionIdType, [10n], `"${'0'.repeat(31)}a"`],
    [uuidType, [10n], '"00000000-0000-0000-0000-00000000000a"'],
    [{ kind: 'i64' }, 2n ** 53n, '9007199254740992'],
    [{ kind: 'i64' }, -(2n ** 53n), '-9007199254740992'],
    [{ kind: 'u64' }, 2n ** 53n + 1n, '"9007199254740993"'],
    [{ kind: 'i64' }, -(2n ** 53n) - 1n, '"-9007199254740993"'],
    [{ kind: 'i128' }, -1n, '-1'],
    [{ kind: 'u128' }, 2n ** 127n, `"${2n ** 127n}"`],
    [{ kind: 'i256' }, -(2n ** 255n), `"-${2n ** 255n}"`],
    [{ kind: 'u256' }, 10n, '10'],
    [{ kind: 'f64' }, 1, '1.0'],
    [{ kind: 'f32' }, Math.fround(0.1), '0.1'],
    [{ kind: 'f64' }, Number.NaN, '"NaN"'],
    [{ kind: 'f32' }, -Infinity, '"-Infinity"'],
    [{ kind: 'bool' }, true, 'true'],
    [string, 'a"b\n', '"a\\"b\\n"'],
  ];

  it.each(cases.map((one) => [one[2], one] as const))('writes %s', (_, [type, value, text]) => {
    expect(plainWriterOf(type, types)(value)).toBe(text);
    const bytes = encodeValue(type, value, types);
    const pieces = encodedToJsonPieces(type, new BinaryReader(bytes), 'plain', types);
    expect([...pieces].join('')).toBe(text);
  });

  it.each([
    [0n, '1970-01-01T00:00:00Z'],
    [1_739_788_245_123_456n, '2025-02-17T10:30:45.123456Z'],
    [1_739_788_245_100_000n, '2025-02-17T10:30:45.1Z'],
    [1_739_788_240_000_000n, '2025-02-17T10:30:40Z'],
    [-1n, '1969-12-31T23:59:59.999999Z'],
    [-62_167_219_200_000_000n, '0000-01-01T00:00:00Z'],
    [-62_167_219_200_000_001n, '-62167219200000001'],
    [253_402_300_799_999_999n, '9999-12-31T23:59:59.999999Z'],
    [253_402_300_800_000_000n, '253402300800000000'],
  ])('writes the time %s as %s', (micros, text) => {
    expect(plainWriterOf(timestampType)([micros])).toBe(`"${text}"`);
  });

  it.each([
    [0n, '0s'],
    [1n, '1us'],
    [-250n, '-250us'],
    [1_500n, '1.5ms'],
    [999_999n, '999.999ms'],
    [1_000_000n, '1s'],
    [10_000_001n, '10.000001s'],
    [60_000_000n, '1m'],
    [3_600_000_000n, '1h'],
    [5_400_000_000n, '1h30m'],
    [-3_601_500_000n, '-1h1.5s'],
    [360_000_000_000n, '100h'],
    [-(2n ** 63n), '-2562047788h54.775808s'],
  ])('writes the duration %s as %s', (micros, text) => {
    expect(plainWriterOf(timeDurationType)([micros])).toBe(`"${text}"`);
  });
});

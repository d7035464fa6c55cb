import { describe, expect, it } from 'vitest';
import { callFunction as call, resultType, typed } from '../../../test/sql/call-function.ts';
import { present } from '../../assert.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  sum,
  unitType,
  uuidType,
} from '../../values/special-types.ts';
import { findFunction } from './library.ts';
import { scalarTypes } from './value-kind.ts';

const bytes = (...all: number[]) => typed(bytesType, Uint8Array.of(all.length, 0, 0, 0, ...all));

describe('conditional functions', () => {
  it('coalesce and ifnull take the first value', () => {
    expect(call('coalesce', null, 'a', 'b')).toBe('a');
    expect(call('coalesce', null, null)).toBe(null);
    expect(call('ifnull', null, 2n)).toBe(2n);
    expect(call('ifnull', 1n, 2n)).toBe(1n);
  });

  it('coalesce is null only if every argument can be, and looks no further than it must', () => {
    const made = present(findFunction('coalesce')?.resolve([scalarTypes.u8, scalarTypes.u8]), 'it');
    expect(made.function.isLazy).toBe(true);
    expect(made.function.isNullableFor?.([true, false])).toBe(false);
    expect(made.function.isNullableFor?.([true, true])).toBe(true);
  });

  it('nullif takes equal values away', () => {
    expect(call('nullif', 'a', 'a')).toBe(null);
    expect(call('nullif', 'a', 'b')).toBe('a');
    expect(call('nullif', null, 'b')).toBe(null);
    expect(call('nullif', 'a', null)).toBe('a');
    expect(call('nullif', Number.NaN, Number.NaN)).toBe(null);
    expect(call('nullif', 0, -0)).toBe(null);
    expect(call('nullif', bytes(1, 2), bytes(1, 2))).toBe(null);
  });

  it('greatest and least order as the rest of SQL does', () => {
    expect(call('greatest', '\u{1f600}', '\uffff')).toBe('\u{1f600}');
    expect(call('least', bytes(1, 2), bytes(1))).toEqual(Uint8Array.of(1, 0, 0, 0, 1));
  });

  it('numbers meet in the promoted type', () => {
    const { u8, i8, f32, string } = scalarTypes;
    expect(resultType('coalesce', u8, i8)).toBe('I16');
    expect(resultType('coalesce', u8, undefined)).toBe('U8');
    expect(resultType('coalesce', u8, f32)).toBe('F64');
    expect(resultType('coalesce', undefined)).toBe('String');
    expect(resultType('coalesce', u8, string)).toBe('none');
    expect(resultType('coalesce')).toBe('none');
    expect(resultType('nullif', u8)).toBe('none');
  });

  it('sums have names, arrays a length, values a type', () => {
    const color = sum(['Red', unitType], ['Custom', scalarTypes.u8]);
    expect(call('variant_name', typed(color, Uint8Array.of(1, 7)))).toBe('Custom');
    expect(call('variant_name', typed(optionType(color), Uint8Array.of(1)))).toBe('none');
    expect(call('variant_name', typed(color, null))).toBe(null);
    const list = { kind: 'array', element: scalarTypes.u16 } as const;
    expect(call('cardinality', typed(list, Uint8Array.of(1, 0, 0, 0, 9, 9)))).toBe(1n);
    expect(call('array_length', typed(list, Uint8Array.of(0, 0, 0, 0)))).toBe(0n);
    expect(call('typeof', typed(list, null))).toBe('Array<U16>');
    expect(resultType('variant_name', scalarTypes.u8)).toBe('none');
    expect(resultType('cardinality', scalarTypes.string)).toBe('none');
  });
});

describe('encodings', () => {
  it('to_hex writes numbers, ids and bytes', () => {
    expect(call('to_hex', typed(scalarTypes.u8, 255))).toBe('ff');
    expect(call('to_hex', typed(scalarTypes.i8, -1))).toBe('ff');
    expect(call('to_hex', typed(scalarTypes.i64, -1n))).toBe('ffffffffffffffff');
    expect(call('to_hex', 0n)).toBe('0');
    expect(call('to_hex', typed(identityType, 0xabn))).toBe('ab'.padStart(64, '0'));
    expect(call('to_hex', typed(connectionIdType, 1n))).toBe('1'.padStart(32, '0'));
    expect(call('to_hex', typed(uuidType, 1n))).toBe('1'.padStart(32, '0'));
    expect(call('to_hex', bytes(0, 171))).toBe('00ab');
    expect(resultType('to_hex', scalarTypes.f64)).toBe('none');
    expect(resultType('to_hex', scalarTypes.string)).toBe('none');
  });

  it('encode and decode are inverse', () => {
    for (const format of ['hex', 'base64']) {
      for (const all of [[], [0], [255, 0], [1, 2, 3], [250, 251, 252, 253]]) {
        const text = call('encode', bytes(...all), format);
        expect(call('decode', text as string, format)).toEqual(bytes(...all).value);
      }
    }
    const long = new Uint8Array(4 + 10_000).map((_, at) => at * 7);
    new DataView(long.buffer).setUint32(0, 10_000, true);
    const inHex = call('encode', typed(bytesType, long), 'hex');
    const inBase64 = call('encode', typed(bytesType, long), 'base64');
    expect(inBase64).toBe(Buffer.from(long.subarray(4)).toString('base64'));
    expect(inHex).toBe(Buffer.from(long.subarray(4)).toString('hex'));
    expect(call('encode', bytes(1, 2, 3, 4), 'BASE64')).toBe('AQIDBA==');
    expect(call('decode', 'AQIDBA', 'base64')).toEqual(bytes(1, 2, 3, 4).value);
    expect(call('decode', 'é', 'utf8')).toEqual(bytes(0xc3, 0xa9).value);
    expect(call('encode', bytes(0xc3, 0xa9), 'utf8')).toBe('é');
  });

  it('what is not in the format is an error', () => {
    expect(() => call('decode', 'abc', 'hex')).toThrow("decode: 'abc' is not hex");
    expect(() => call('decode', 'a?bc', 'base64')).toThrow('is not base64');
    expect(() => call('decode', 'abcde', 'base64')).toThrow('is not base64');
    expect(() => call('encode', bytes(0xff), 'utf8')).toThrow('not UTF-8');
    expect(() => call('encode', bytes(1), 'rot13')).toThrow("'rot13' is not a format");
  });
});

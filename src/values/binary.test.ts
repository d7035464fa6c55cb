import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { BinaryReader, DecodeError } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { decodeValue } from './decode.ts';
import { encodeValue } from './encode.ts';
import { fromHex, toHex } from './hex.ts';
import { fixedSizeOf, skipperOf, validatorOf } from './layout.ts';
import { nativeDecoderOf } from './native.ts';
import {
  bytesType,
  neverType,
  optionType,
  product,
  sum,
  timestampType,
  unitType,
} from './special-types.ts';
import type { AlgebraicType, Typespace } from './type.ts';

function bytes(hex: string): Uint8Array {
  const parsed = fromHex(hex.replaceAll(' ', ''));
  if (parsed === undefined) throw new Error(`not hexadecimal: ${hex}`);
  return parsed;
}

/** The error with which every reader of `type` rejects `hex`. */
function refusal(type: AlgebraicType, hex: string, typespace?: Typespace): string {
  const readers = [
    () => decodeValue(type, bytes(hex), typespace),
    () => nativeDecoderOf(type, typespace)(new BinaryReader(bytes(hex))),
    () => validatorOf(type, typespace)(bytes(hex), 0, bytes(hex).length),
  ];
  const texts = readers.map((read) => {
    try {
      read();
    } catch (error) {
      expect(error).toBeInstanceOf(DecodeError);
      return (error as DecodeError).message;
    }
    throw new Error(`${hex} was accepted`);
  });
  expect(new Set(texts).size).toBe(1);
  return texts[0] ?? '';
}

describe('[values 2] worked examples', () => {
  it('encode as written', () => {
    const row = product(['id', { kind: 'u32' }], ['name', { kind: 'string' }]);
    expect(toHex(encodeValue(row, [7, 'Ann']))).toBe('0700000003000000416e6e');
    const option = optionType(optionType({ kind: 'u8' }));
    const none = { tag: 1, value: [] };
    expect(toHex(encodeValue(option, none))).toBe('01');
    expect(toHex(encodeValue(option, { tag: 0, value: none }))).toBe('0001');
    expect(toHex(encodeValue(option, { tag: 0, value: { tag: 0, value: 4 } }))).toBe('000004');
    const units: AlgebraicType = { kind: 'array', element: unitType };
    expect(toHex(encodeValue(units, [[], [], []]))).toBe('03000000');
  });

  it('ignore what is left over', () => {
    expect(decodeValue({ kind: 'i16' }, bytes('feff 00'))).toBe(-2);
  });
});

describe('[values 2] bytes that are refused', () => {
  const row = product(
    ['id', { kind: 'u32' }],
    ['x', { kind: 'u16' }],
    ['name', { kind: 'string' }],
  );

  it('are too few', () => {
    expect(refusal({ kind: 'u32' }, '0102')).toBe('data too short for u32: Expected 4, given 2');
    expect(refusal({ kind: 'string' }, '05000000 6162')).toBe(
      'data too short for [u8]: Expected 5, given 2',
    );
    expect(refusal(bytesType, 'ffffffff 00')).toBe(
      'data too short for [u8]: Expected 4294967295, given 1',
    );
    expect(refusal(row, '07000000 05')).toBe('data too short for u16: Expected 2, given 1');
    expect(refusal(row, '')).toBe('data too short for u32: Expected 4, given 0');
    expect(refusal(sum(['A', unitType]), '')).toBe('data too short for u8: Expected 1, given 0');
    expect(refusal({ kind: 'u256' }, '00')).toBe('data too short for u256: Expected 32, given 1');
  });

  it('are no bool and no known tag', () => {
    expect(refusal({ kind: 'bool' }, '02')).toBe('byte 2 not valid as `bool` (must be 0 or 1)');
    expect(refusal(sum(['A', unitType], ['B', { kind: 'u8' }]), '1f')).toBe(
      'unknown tag 0x1f for sum type <unknown>',
    );
    expect(refusal(sum(['A', unitType], ['B', unitType]), '02')).toBe(
      'unknown tag 0x2 for sum type <unknown>',
    );
    expect(refusal(neverType, '00')).toBe('unknown tag 0x0 for sum type <unknown>');
  });

  const notUtf8 = [
    '80',
    'c3',
    'c080',
    'e08080',
    'eda080',
    'f0808080',
    'f4908080',
    'f5808080',
    'ff',
    'e28228',
    'c328',
    'f09f98',
    'f09f9828',
  ];
  for (const hex of notUtf8) {
    it(`are a string of ${hex}`, () => {
      const count = toHex(Uint8Array.of(hex.length / 2));
      expect(refusal({ kind: 'string' }, `${count}000000${hex}`)).toBe('invalid utf8');
      // Long texts take a different code path.
      const long = `${'61'.repeat(200)}${hex}`;
      const longCount = toHex(Uint8Array.of(200 + hex.length / 2));
      expect(refusal({ kind: 'string' }, `${longCount}000000${long}`)).toBe('invalid utf8');
    });
  }

  it('announce more elements than can follow', () => {
    const list: AlgebraicType = { kind: 'array', element: { kind: 'string' } };
    expect(refusal(list, 'ffffff7f 00')).toBe('allocation of 2147483647 elements failed');
  });

  it('announce more elements without bytes than the limit', () => {
    const units: AlgebraicType = { kind: 'array', element: unitType };
    const count = limits.emptyElementCountMax;
    const writer = new BinaryWriter();
    writer.u32(count);
    expect(validatorOf(units)(writer.view(), 0, 4)).toBe(4);
    expect(refusal(units, 'ffffffff')).toBe('allocation of 4294967295 elements failed');
    const twice = product(['a', units], ['b', units]);
    writer.u32(1);
    expect(refusal(twice, toHex(writer.view()))).toBe('allocation of 1 elements failed');
  });

  it('are nested beyond the limit', () => {
    const typespace = { types: [optionType({ kind: 'ref', ref: 0 })] };
    const type: AlgebraicType = { kind: 'ref', ref: 0 };
    const deepest = `${'00'.repeat(127)}01`;
    expect(validatorOf(type, typespace)(bytes(deepest), 0, 128)).toBe(128);
    expect(decodeValue(type, bytes(deepest), typespace)).toBeDefined();
    expect(nativeDecoderOf(type, typespace)(new BinaryReader(bytes(deepest)))).toBeUndefined();
    expect(refusal(type, `00${deepest}`, typespace)).toBe('value is nested deeper than 128 levels');
    expect(refusal(type, '00'.repeat(100_000), typespace)).toContain('nested deeper');
  });
});

describe('nesting at the limit', () => {
  it('takes special products for leaves in every reader', () => {
    const leaf = product(['n', { kind: 'u8' }], ['at', timestampType]);
    const typespace = { types: [sum(['leaf', leaf], ['more', { kind: 'ref', ref: 0 }])] };
    const type: AlgebraicType = { kind: 'ref', ref: 0 };
    const deep = (levels: number) => `${'01'.repeat(levels)}00${'00'.repeat(9)}`;
    const deepest = bytes(deep(126));
    expect(validatorOf(type, typespace)(deepest, 0, deepest.length)).toBe(deepest.length);
    expect(decodeValue(type, deepest, typespace)).toBeDefined();
    expect(nativeDecoderOf(type, typespace)(new BinaryReader(deepest))).toBeDefined();
    expect(refusal(type, deep(127), typespace)).toContain('nested deeper');
  });
});

describe('strings', () => {
  const texts = [
    '',
    'a',
    'hello',
    'é',
    '漢字',
    '😀',
    '\ufeffbom',
    'a\u0000b',
    'x'.repeat(1000),
    'äöü😀'.repeat(100),
    `${'a'.repeat(63)}é`,
    `${'a'.repeat(7)}é${'b'.repeat(9)}😀`,
  ];
  for (const text of texts) {
    it(`keep ${JSON.stringify(text.slice(0, 20))} (${text.length} units)`, () => {
      const encoded = encodeValue({ kind: 'string' }, text);
      expect(encoded.subarray(4)).toEqual(new Uint8Array(Buffer.from(text, 'utf8')));
      expect(decodeValue({ kind: 'string' }, encoded)).toBe(text);
    });
  }

  it('write a surrogate without partner as U+FFFD', () => {
    for (const text of ['\ud800', 'a\udc00b', '\ud800\ud800\udc00', `${'x'.repeat(100)}\ud83d`]) {
      const encoded = encodeValue({ kind: 'string' }, text);
      expect(encoded.subarray(4)).toEqual(new Uint8Array(Buffer.from(text, 'utf8')));
    }
  });
});

describe('the writer and the reader', () => {
  it('write every width at its extremes', () => {
    const writer = new BinaryWriter(1);
    writer.bool(true);
    writer.i8(-128);
    writer.u8(255);
    writer.i16(-2);
    writer.u16(65535);
    writer.i32(-(2 ** 31));
    writer.u32(2 ** 32 - 1);
    writer.i64(-1n);
    writer.u64(2n ** 64n - 1n);
    writer.i128(-(2n ** 127n));
    writer.u128(2n ** 128n - 1n);
    writer.i256(-(2n ** 255n));
    writer.u256(2n ** 256n - 1n);
    writer.f32(0.1);
    writer.f64(-0);
    writer.bytes(Uint8Array.of(1, 2));
    writer.string('é');
    const reader = new BinaryReader(writer.finish());
    expect(reader.bool()).toBe(true);
    expect(reader.i8()).toBe(-128);
    expect(reader.u8()).toBe(255);
    expect(reader.i16()).toBe(-2);
    expect(reader.u16()).toBe(65535);
    expect(reader.i32()).toBe(-(2 ** 31));
    expect(reader.u32()).toBe(2 ** 32 - 1);
    expect(reader.i64()).toBe(-1n);
    expect(reader.u64()).toBe(2n ** 64n - 1n);
    expect(reader.i128()).toBe(-(2n ** 127n));
    expect(reader.u128()).toBe(2n ** 128n - 1n);
    expect(reader.i256()).toBe(-(2n ** 255n));
    expect(reader.u256()).toBe(2n ** 256n - 1n);
    expect(reader.f32()).toBe(Math.fround(0.1));
    expect(reader.f64()).toBe(-0);
    expect(reader.bytes()).toEqual(Uint8Array.of(1, 2));
    expect(reader.string()).toBe('é');
    expect(reader.remaining).toBe(0);
  });

  it('are reused', () => {
    const writer = new BinaryWriter();
    writer.u32(1);
    const copy = writer.finish();
    writer.reset();
    writer.u32(2);
    expect(toHex(writer.view())).toBe('02000000');
    expect(toHex(copy)).toBe('01000000');
    const reader = new BinaryReader(copy);
    reader.u32();
    reader.reset(writer.finish());
    expect(reader.u32()).toBe(2);
  });

  it('read within a slice and not beyond its end', () => {
    const outer = bytes('ff 0100 0200 ff');
    const reader = new BinaryReader(outer.subarray(1), 0, 4);
    expect([reader.u16(), reader.u16()]).toEqual([1, 2]);
    expect(() => reader.u8()).toThrow('data too short for u8: Expected 1, given 0');
    const middle = new BinaryReader(outer, 1, 3);
    expect(middle.u16()).toBe(1);
    expect(() => middle.raw(1)).toThrow('data too short for [u8]: Expected 1, given 0');
  });

  it('hand out copies of bytes', () => {
    const source = bytes('02000000 0102');
    const read = new BinaryReader(source).bytes();
    source.fill(0);
    expect(read).toEqual(Uint8Array.of(1, 2));
  });
});

describe('fixed sizes', () => {
  const cases: readonly (readonly [string, AlgebraicType, number | undefined])[] = [
    ['unit', unitType, 0],
    ['a product of scalars', product(['a', { kind: 'u8' }], ['b', { kind: 'u256' }]), 33],
    ['a plain enum', sum(['A', unitType], ['B', unitType]), 1],
    ['a sum of equal payloads', sum(['A', { kind: 'i64' }], ['B', { kind: 'u64' }]), 9],
    ['an option', optionType({ kind: 'u8' }), undefined],
    ['a string', { kind: 'string' }, undefined],
    ['an array of unit', { kind: 'array', element: unitType }, undefined],
    ['never', neverType, undefined],
  ];
  for (const [name, type, size] of cases) {
    it(`${name}: ${size}`, () => expect(fixedSizeOf(type)).toBe(size));
  }

  it('vary for recursive types', () => {
    const typespace = { types: [optionType({ kind: 'ref', ref: 0 })] };
    expect(fixedSizeOf({ kind: 'ref', ref: 0 }, typespace)).toBeUndefined();
    expect(skipperOf({ kind: 'ref', ref: 0 }, typespace)(bytes('00000105'), 0)).toBe(3);
  });
});

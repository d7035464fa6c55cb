import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someRuns } from '../../../test/support/share.ts';
import { present } from '../../assert.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import { encodeValue } from '../../values/encode.ts';
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
import type { AlgebraicType, ScalarKind } from '../../values/type.ts';
import type { Value } from '../../values/value.ts';
import { keyWriterOf } from '../expressions/compile-key.ts';
import { canonicalOf, setKeyOf } from './canonical.ts';
import { comparatorOf, decodeQueryValue, encodeQueryValue, valueReaderOf } from './value-codec.ts';

interface Domain {
  readonly type: AlgebraicType;
  readonly values: fc.Arbitrary<Value>;
}

/** Whole numbers, many of them small, so that equal ones occur. */
function integers(kind: keyof typeof integerRange): Domain {
  const { min, max } = integerRange[kind];
  const all = fc.oneof(
    fc.bigInt({ min, max }),
    fc.bigInt({ min: min < -3n ? -3n : min, max: 3n }),
    fc.constantFrom(min, max),
  );
  const isShort = max <= 0xffff_ffffn;
  return { type: { kind }, values: isShort ? all.map(Number) : all };
}

function special(type: AlgebraicType, kind: keyof typeof integerRange): Domain {
  return { type, values: integers(kind).values.map((value) => [value]) };
}

const floats = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY, 1, -1),
);
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', 'a', '\uffff', '\u{10000}'),
);

const domains: readonly Domain[] = [
  ...(Object.keys(integerRange) as (keyof typeof integerRange)[]).map(integers),
  { type: { kind: 'bool' }, values: fc.boolean() },
  { type: { kind: 'f64' }, values: floats },
  { type: { kind: 'f32' }, values: floats.map(Math.fround) },
  { type: { kind: 'string' }, values: texts },
  special(timestampType, 'i64'),
  special(timeDurationType, 'i64'),
  special(identityType, 'u256'),
  special(connectionIdType, 'u128'),
  special(uuidType, 'u128'),
  { type: bytesType, values: fc.uint8Array({ maxLength: 4 }) },
  {
    type: product(['x', { kind: 'f64' }], ['y', { kind: 'string' }]),
    values: fc.tuple(floats, texts),
  },
  {
    type: optionType({ kind: 'u8' }),
    values: fc.option(fc.nat(3)).map((value): Value => {
      return value === null ? { tag: 1, value: [] } : { tag: 0, value };
    }),
  },
  {
    type: { kind: 'array', element: { kind: 'f32' } },
    values: fc.array(floats.map(Math.fround), { maxLength: 3 }),
  },
];

const pairs = fc.nat(domains.length - 1).chain((at) => {
  const { type, values } = present(domains[at], 'the domain');
  return fc.tuple(fc.constant(type), values, values);
});

const heldAs: Readonly<Partial<Record<ScalarKind, string>>> = {
  bool: 'boolean',
  string: 'string',
  u32: 'number',
  f32: 'number',
  i64: 'bigint',
  u256: 'bigint',
};

describe('query values', () => {
  it('come back from their encoding, wherever it stands', () => {
    fc.assert(
      fc.property(pairs, fc.nat(5), ([type, value], before) => {
        const encoded = encodeValue(type, value);
        const page = new Uint8Array(before + encoded.length + 2).fill(0x77);
        page.set(encoded, before);
        const read = valueReaderOf(type)(page, before);
        page.fill(0);
        expect(encodeQueryValue(type, read)).toEqual(encoded);
        expect(decodeQueryValue(type, encoded)).toEqual(read);
        const expected = heldAs[type.kind as ScalarKind];
        if (expected !== undefined) expect(typeof read).toBe(expected);
      }),
      { numRuns: someRuns(4_000) },
    );
  });

  it('null is what has no bytes', () => {
    expect(decodeQueryValue({ kind: 'u8' }, undefined)).toBe(null);
  });

  it('have the order of encoded values', () => {
    fc.assert(
      fc.property(pairs, ([type, left, right]) => {
        const a = encodeValue(type, left);
        const b = encodeValue(type, right);
        const expected = Math.sign(encodedComparatorOf(type)(a, 0, b, 0)) + 0;
        const [x, y] = [decodeQueryValue(type, a), decodeQueryValue(type, b)];
        expect(Math.sign(comparatorOf(type)(x, y)) + 0).toBe(expected);
      }),
      { numRuns: someRuns(6_000) },
    );
  });

  it('have equal keys exactly when they are equal', () => {
    fc.assert(
      fc.property(pairs, ([type, left, right]) => {
        const [x, y] = [left, right].map((value) => {
          return decodeQueryValue(type, encodeValue(type, value));
        });
        const isEqual = comparatorOf(type)(x ?? null, y ?? null) === 0;
        const [a, b] = [x, y].map((value) => {
          const writer = new BinaryWriter(4);
          keyWriterOf(type, { types: [] })(writer, value ?? null);
          return writer.finish().join();
        });
        expect(a === b).toBe(isEqual);
        const keyOf = setKeyOf(type);
        expect(new Set([keyOf(x ?? null), keyOf(y ?? null)]).size).toBe(isEqual ? 1 : 2);
        const canonical = canonicalOf(type);
        expect(comparatorOf(type)(canonical(x ?? null), x ?? null) === 0).toBe(true);
      }),
      { numRuns: someRuns(6_000) },
    );
  });
});

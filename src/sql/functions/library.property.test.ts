import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nowMicros } from '../../../test/sql/call-function.ts';
import { someRuns } from '../../../test/support/share.ts';
import { present } from '../../assert.ts';
import { integerRange, isIntegerKind } from '../../values/integer-range.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { SqlFailure } from '../failure.ts';
import type { ArithmeticOperator } from '../syntax/ast.ts';
import {
  arithmeticCanRaise,
  arithmeticOf,
  arithmeticTypes,
  negatedType,
  negationCanRaise,
  negationOf,
} from './arithmetic.ts';
import { conversionOf } from './convert.ts';
import type { QueryValue } from './function.ts';
import { findFunction, functionNames } from './library.ts';
import { decodeQueryValue, encodeQueryValue } from './value-codec.ts';
import { scalarOfKind, scalarTypes, valueKindOf } from './value-kind.ts';

const color = sum(['Red', unitType], ['Custom', scalarTypes.u8]);
const list: AlgebraicType = { kind: 'array', element: scalarTypes.u16 };
const types: readonly AlgebraicType[] = [
  ...Object.values(scalarTypes),
  timestampType,
  timeDurationType,
  identityType,
  connectionIdType,
  uuidType,
  bytesType,
  color,
  list,
  optionType(scalarTypes.i32),
];

const floats = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, 0.5, -1, 2.5, 10, 1e308, Number.NaN, Number.NEGATIVE_INFINITY),
);
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom('', 'a', 'year', 'hex', 'base64', 'utf8', '😀', '1.5', '1 day', 'true', 'day'),
);

/** Values of a type, including the ends of its range. */
function valuesOf(type: AlgebraicType): fc.Arbitrary<QueryValue> {
  const kind = scalarOfKind(valueKindOf(type));
  if (kind === undefined) return fc.constantFrom(...encodedSamples(type));
  if (kind === 'bool') return fc.boolean();
  if (kind === 'string') return texts;
  if (!isIntegerKind(kind)) return kind === 'f32' ? floats.map(Math.fround) : floats;
  const { min, max } = integerRange[kind];
  const small = { min: min < -3n ? -3n : min, max: 12n };
  const all = fc.oneof(fc.bigInt({ min, max }), fc.bigInt(small), fc.constantFrom(min, max));
  return max <= 0xffff_ffffn ? all.map(Number) : all;
}

function encodedSamples(type: AlgebraicType): Uint8Array[] {
  if (type === color) return [Uint8Array.of(0), Uint8Array.of(1, 9)];
  if (type === list) return [Uint8Array.of(0, 0, 0, 0), Uint8Array.of(1, 0, 0, 0, 7, 8)];
  if (type === bytesType) return [Uint8Array.of(0, 0, 0, 0), Uint8Array.of(2, 0, 0, 0, 255, 65)];
  return [Uint8Array.of(1), Uint8Array.of(0, 1, 2, 3, 4)];
}

const typedValues = fc
  .constantFrom(...types)
  .chain((type) => valuesOf(type).map((value) => ({ type, value })));

/** The value, unless it is refused; any other error is a bug. */
function outcome(run: () => QueryValue, canRaise: boolean): QueryValue | undefined {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    // Texts that get too long are refused even where `canRaise` is false.
    if (error.error.code !== 'sql.overBudget') expect(canRaise).toBe(true);
    return undefined;
  }
}

/** A value of the type: encoding and decoding leaves it unchanged. */
function expectOfType(type: AlgebraicType, value: QueryValue | undefined): void {
  if (value === null || value === undefined) return;
  const kind = scalarOfKind(valueKindOf(type));
  if (kind !== undefined && isIntegerKind(kind)) {
    const { min, max } = integerRange[kind];
    expect(typeof value).toBe(max <= 0xffff_ffffn ? 'number' : 'bigint');
    expect((value as bigint) >= min && (value as bigint) <= max).toBe(true);
  }
  // Only a surrogate without its partner changes; no stored text has one.
  if (typeof value === 'string' && !Buffer.from(value).toString().includes('\ufffd')) {
    expect(Buffer.from(value).toString()).toBe(value);
  }
  if (typeof value !== 'string') {
    expect(decodeQueryValue(type, encodeQueryValue(type, value))).toEqual(value);
  }
}

describe('every function', () => {
  it.each(functionNames())(
    '%s gives a value of its type or a refusal that it announces',
    (name) => {
      const family = present(findFunction(name), name);
      const args = fc.array(typedValues, { maxLength: 6 });
      // Most functions take lists in which all arguments have one type.
      const alike = fc.constantFrom(...types).chain((type) =>
        fc.array(
          valuesOf(type).map((value) => ({ type, value })),
          { minLength: 1, maxLength: 3 },
        ),
      );
      const textFirst = fc
        .tuple(texts, fc.array(typedValues, { maxLength: 2 }))
        .map(([text, rest]) => [{ type: scalarTypes.string, value: text as QueryValue }, ...rest]);
      fc.assert(
        fc.property(fc.oneof(args, alike, textFirst), (given) => {
          const resolved = family.resolve(given.map(({ type }) => type));
          if (resolved === undefined) return;
          const { function: called, result } = resolved;
          expect(called.parameters).toHaveLength(given.length);
          let converted: QueryValue[];
          try {
            converted = given.map(({ type, value }, at) => {
              const parameter = present(called.parameters[at], 'the parameter');
              return present(conversionOf(type, parameter), 'the conversion').convert(value);
            });
          } catch (error) {
            if (error instanceof SqlFailure) return;
            throw error;
          }
          const value = outcome(() => called.evaluate(converted, nowMicros), called.canRaise);
          if (value === null) {
            expect(called.isNullableFor?.(given.map(() => false)) ?? result.isNullable).toBe(true);
          }
          expectOfType(result.type, value);
        }),
        { numRuns: 400 },
      );
    },
  );
});

describe('every operator and conversion', () => {
  const operators: readonly ArithmeticOperator[] = ['+', '-', '*', '/', '%', '||'];

  it('gives a value of its type or a refusal that it announces', () => {
    fc.assert(
      fc.property(typedValues, typedValues, fc.constantFrom(...operators), (a, b, operator) => {
        const made = arithmeticTypes(operator, a.type, b.type);
        if (made === undefined) return;
        const left = conversionOf(a.type, made.left);
        const right = conversionOf(b.type, made.right);
        if (left === undefined || right === undefined) return;
        const x = outcome(() => left.convert(a.value), left.canRaise);
        const y = outcome(() => right.convert(b.value), right.canRaise);
        if (x === undefined || y === undefined) return;
        const operate = arithmeticOf(operator, made.left, made.right);
        const canRaise = arithmeticCanRaise(operator, made.right);
        expectOfType(
          made.result,
          outcome(() => operate(x, y), canRaise),
        );
      }),
      { numRuns: someRuns(20_000) },
    );
  });

  it('negates into the type it names', () => {
    fc.assert(
      fc.property(typedValues, ({ type, value }) => {
        const negated = negatedType(type);
        if (negated === undefined) return;
        const { convert } = present(conversionOf(type, negated), 'a conversion');
        const run = () => negationOf(negated)(convert(value));
        expectOfType(negated, outcome(run, negationCanRaise(negated)));
      }),
      { numRuns: someRuns(4_000) },
    );
  });

  it('converts into the type it names', () => {
    fc.assert(
      fc.property(typedValues, fc.constantFrom(...types), ({ type, value }, to) => {
        const conversion = conversionOf(type, to);
        if (conversion === undefined) return;
        expectOfType(
          to,
          outcome(() => conversion.convert(value), conversion.canRaise),
        );
      }),
      { numRuns: someRuns(20_000) },
    );
  });

  it('texts of scalars are read back', () => {
    fc.assert(
      fc.property(typedValues, ({ type, value }) => {
        if (valueKindOf(type) === 'composite') return;
        const text = present(conversionOf(type, scalarTypes.string), 'to text').convert(value);
        const back = present(conversionOf(scalarTypes.string, type), 'from text');
        // A year of more than four digits is written in a way that no literal accepts.
        if (valueKindOf(type) === 'timestamp' && /^[+-]/.test(text as string)) return;
        expect(back.convert(text)).toEqual(value);
      }),
      { numRuns: someRuns(10_000) },
    );
  });
});

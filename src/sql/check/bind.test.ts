import { describe, expect, it } from 'vitest';
import { errorOf, sampleIdentity } from '../../../test/sql/check-statement.ts';
import { encodeValue } from '../../values/encode.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import {
  bytesType,
  identityType,
  optionType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
} from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { emptyTypespace } from '../../values/type.ts';
import { bindParameters, type ParameterValue } from './bind.ts';

function bound(value: ParameterValue, type: AlgebraicType, refusesNull = false) {
  const specs = [{ name: '1', type, refusesNull }];
  return bindParameters(
    specs,
    new Map([['1', value]]),
    callerIdentity(sampleIdentity),
    emptyTypespace,
  )[0];
}

const u8: AlgebraicType = { kind: 'u8' };

describe('bindParameters', () => {
  it('[sql 5.3] reads values by their text', () => {
    for (const value of [5, 5n, '5', '5.0', '5e0'])
      expect(bound(value, u8)).toEqual(Uint8Array.of(5));
    expect(bound(1e21, { kind: 'i128' })).toEqual(encodeValue({ kind: 'i128' }, 10n ** 21n));
    expect(bound(7, { kind: 'string' })).toEqual(encodeValue({ kind: 'string' }, '7'));
    expect(bound(true, { kind: 'bool' })).toEqual(Uint8Array.of(1));
    expect(bound('0xab', bytesType)).toEqual(encodeValue(bytesType, Uint8Array.of(0xab)));
    expect(bound('1970-01-01T00:00:01Z', timestampType)).toEqual(
      encodeValue(timestampType, [1_000_000n]),
    );
    expect(bound('2 seconds', timeDurationType)).toEqual(
      encodeValue(timeDurationType, [2_000_000n]),
    );
  });

  it('[ease 3.1, 3.3] reads variants by name, and lists as arrays', () => {
    const color = sum(['red', unitType], ['darkBlue', unitType]);
    const colors: AlgebraicType = { kind: 'array', element: color };
    expect(bound('DarkBlue', color)).toEqual(Uint8Array.of(1));
    expect(bound('red', optionType(color))).toEqual(Uint8Array.of(0, 0));
    expect(bound(['dark_blue', 'red'], colors)).toEqual(Uint8Array.of(2, 0, 0, 0, 1, 0));
    expect(bound([], optionType(colors))).toEqual(Uint8Array.of(0, 0, 0, 0, 0));
    expect(bound(['1', 2], bytesType)).toEqual(encodeValue(bytesType, Uint8Array.of(1, 2)));
    const variants = "is not a variant of this enum: it is one of 'red', 'darkBlue'";
    const refused = (value: ParameterValue, type: AlgebraicType) =>
      errorOf(() => bound(value, type))?.message;
    expect(refused('pink', color)).toBe(`The value of the parameter $1 ${variants}`);
    expect(refused(['red', 'pink'], colors)).toBe(`The value of the parameter $1[2] ${variants}`);
    expect(refused([null], colors)).toBe('The parameter $1[1] cannot be null: arrays hold no NULL');
    expect(refused([1], u8)).toBe(
      'The value of the parameter $1 cannot be read as `U8`: it is a list',
    );
  });

  it('gives null where null may be, and none to Options', () => {
    expect(bound(null, u8)).toBe(undefined);
    expect(bound(null, optionType(u8))).toEqual(Uint8Array.of(1));
    expect(bound(5, optionType(u8))).toEqual(Uint8Array.of(0, 5));
    expect(errorOf(() => bound(null, u8, true))).toEqual({
      code: 'sql.invalidParameter',
      message: 'The parameter $1 cannot be null: its place does not accept NULL',
    });
  });

  it('names parameter, type and kind of a value that does not fit, not the value', () => {
    const cases: readonly (readonly [ParameterValue, AlgebraicType, string])[] = [
      [256, u8, '`U8`: it is a number'],
      ['x', u8, '`U8`: it is a string'],
      ['-1', u8, '`U8`: it is a number'],
      ['2.5e-3', u8, '`U8`: it is a number'],
      [true, u8, '`U8`: it is a boolean'],
      [1, { kind: 'bool' }, '`Bool`: it is a number'],
      [Number.NaN, { kind: 'f64' }, '`F64`: it is a number'],
      [5, timestampType, '`(__timestamp_micros_since_unix_epoch__: I64)`: it is a number'],
      [5, timeDurationType, '`(__time_duration_micros__: I64)`: it is a number'],
      ['soon', timeDurationType, '`(__time_duration_micros__: I64)`: it is a string'],
    ];
    for (const [value, type, end] of cases) {
      expect(errorOf(() => bound(value, type))).toEqual({
        code: 'sql.invalidParameter',
        message: `The value of the parameter $1 cannot be read as ${end}`,
      });
    }
  });

  it('[sql 5.1] gives the caller as an identity or as its bytes', () => {
    const specs = [identityType, bytesType].map((type) => {
      return { name: undefined, type, refusesNull: false };
    });
    const little = encodeValue(identityType, [sampleIdentity]);
    expect(
      bindParameters(specs, new Map(), callerIdentity(sampleIdentity), emptyTypespace),
    ).toEqual([little, encodeValue(bytesType, little.toReversed())]);
  });

  it('asks for every parameter by its name', () => {
    const specs = [{ name: 'since', type: u8, refusesNull: false }];
    expect(
      errorOf(() => bindParameters(specs, new Map(), callerIdentity(0n), emptyTypespace))?.message,
    ).toBe('The parameter :since has no value');
  });
});

import { describe, expect, it } from 'vitest';
import { argumentsFromJson, JsonError, parseJson, valueFromJson } from './json.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
import type { AlgebraicType, ScalarKind } from './type.ts';
import type { Value } from './value.ts';

function read(type: AlgebraicType | ScalarKind, text: string): Value {
  return valueFromJson(typeof type === 'string' ? { kind: type } : type, parseJson(text));
}

/** The error with which `text` is rejected. */
function refusal(type: AlgebraicType | ScalarKind, text: string): string {
  try {
    read(type, text);
  } catch (error) {
    expect(error).toBeInstanceOf(JsonError);
    return (error as JsonError).message;
  }
  throw new Error(`${text} was accepted`);
}

const u32: AlgebraicType = { kind: 'u32' };
const pair = product(['a', u32], ['b', { kind: 'string' }]);
const color = sum(['Red', unitType], ['Custom', u32], ['1', { kind: 'string' }]);

describe('[values 4] products from JSON', () => {
  it('are taken as an array of exact length', () => {
    expect(read(pair, '[1,"x"]')).toEqual([1, 'x']);
    expect(refusal(pair, '[1]')).toBe(
      'invalid length 1, expected product type <unknown> with 2 elements at line 1 column 3',
    );
    expect(refusal(pair, '[1,"x", 7]')).toBe('trailing characters at line 1 column 9');
  });

  it('are taken as an object with its keys in any order', () => {
    expect(read(pair, '{"b":"x","a":1}')).toEqual([1, 'x']);
  });

  it('need every element once, and know no others', () => {
    expect(refusal(pair, '{"a":1}')).toContain('missing field `b`');
    expect(refusal(pair, '{"a":1,"a":2}')).toContain('duplicate field `a`');
    expect(refusal(pair, '{"zz":1,"a":1,"b":""}')).toContain(
      'unknown field `zz`, expected `a` or `b`',
    );
    expect(refusal(unitType, '{"zz":1}')).toContain('unknown field `zz`, there are no fields');
  });

  it('allow nothing behind the last element', () => {
    expect(refusal(pair, '{"a":1,"b":"","c":2}')).toContain('trailing comma');
  });

  it('are nothing else', () => {
    expect(refusal(pair, 'null')).toContain('invalid type: null, expected product type');
    expect(refusal(pair, '"x"')).toContain('invalid type: string "x", expected product type');
  });
});

describe('[values 4] options from JSON', () => {
  const option = optionType(u32);

  it('are none for null, at every level but the inner ones', () => {
    expect(read(option, 'null')).toEqual({ tag: 1, value: [] });
    expect(read(optionType(option), 'null')).toEqual({ tag: 1, value: [] });
    expect(refusal(u32, 'null')).toContain('invalid type: null, expected u32');
    expect(refusal(color, 'null')).toContain('invalid type: null, expected sum type');
  });

  it('are neither left out nor bare', () => {
    expect(refusal(product(['x', option], ['y', u32]), '{"y":1}')).toContain('missing field `x`');
    expect(refusal(option, '5')).toContain('invalid type: integer `5`, expected sum type');
  });

  it('are sums', () => {
    expect(read(option, '{"some":5}')).toEqual({ tag: 0, value: 5 });
    expect(read(option, '[0,5]')).toEqual({ tag: 0, value: 5 });
    expect(read(option, '{"none":{}}')).toEqual({ tag: 1, value: [] });
    expect(read(option, '[1,[]]')).toEqual({ tag: 1, value: [] });
  });
});

describe('[values 4] sums from JSON', () => {
  it('are taken as an object with the one variant', () => {
    expect(read(color, '{"Custom":7}')).toEqual({ tag: 1, value: 7 });
    expect(refusal(color, '{"custom":7}')).toContain(
      'unknown variant `custom`, expected one of `Red`, `Custom`, `1`',
    );
    expect(refusal(color, '{}')).toContain('invalid length 0');
    expect(refusal(color, '{"Red":[],"Custom":7}')).toContain('trailing comma');
  });

  it('take a key that reads as a tag for one, even if a variant is called so', () => {
    expect(read(color, '{"1":7}')).toEqual({ tag: 1, value: 7 });
    expect(read(color, '{"2":"x"}')).toEqual({ tag: 2, value: 'x' });
    expect(refusal(color, '{"3":7}')).toContain('unknown variant `3`');
    expect(refusal(color, '{"256":7}')).toContain('unknown variant `256`');
  });

  it('are taken as tag and payload', () => {
    expect(read(color, '[1,7]')).toEqual({ tag: 1, value: 7 });
    expect(read(color, '["1",7]')).toEqual({ tag: 1, value: 7 });
    expect(read(color, '["Custom",7]')).toEqual({ tag: 1, value: 7 });
    expect(refusal(color, '[1]')).toContain('invalid length 1');
    expect(refusal(color, '[1,7,8]')).toContain('trailing characters');
    expect(refusal(color, '[1.0,7]')).toContain('invalid type: floating point `1.0`');
    expect(refusal(color, '[9,7]')).toContain('unknown variant `9`');
  });

  it('are no bare names, no bare tags and no { tag, value }', () => {
    expect(refusal(color, '"Red"')).toContain('invalid type: string "Red", expected sum type');
    expect(refusal(color, '0')).toContain('invalid type: integer `0`, expected sum type');
    expect(refusal(color, '{"tag":"Red","value":{}}')).toContain('trailing comma');
  });

  it('take unit as [] or {}, not as null', () => {
    expect(read(color, '{"Red":[]}')).toEqual({ tag: 0, value: [] });
    expect(read(color, '{"Red":{}}')).toEqual({ tag: 0, value: [] });
    expect(refusal(color, '{"Red":null}')).toContain('invalid type: null');
  });
});

describe('[values 4] integers from JSON', () => {
  it('are integers in range', () => {
    expect(read('u8', '255')).toBe(255);
    expect(read('i8', '-128')).toBe(-128);
    expect(refusal('u8', '300')).toBe(
      'invalid value: integer `300`, expected u8 at line 1 column 3',
    );
    expect(refusal('u32', '-1')).toContain('invalid value: integer `-1`, expected u32');
    expect(read('u64', '18446744073709551615')).toBe(2n ** 64n - 1n);
    expect(refusal('u64', '18446744073709551616')).toContain('invalid type: floating point');
    expect(refusal('i64', '9223372036854775808')).toContain(
      'invalid value: integer `9223372036854775808`, expected i64',
    );
  });

  it('have no fraction, no exponent and no quotes', () => {
    expect(refusal('u32', '1.0')).toContain('invalid type: floating point `1.0`, expected u32');
    expect(refusal('u32', '1e3')).toContain('invalid type: floating point `1000.0`, expected u32');
    expect(refusal('u32', '"1"')).toContain('invalid type: string "1", expected u32');
    expect(refusal('i128', '1.0')).toContain('invalid type: floating point `1.0`, expected i128');
    expect(refusal('u128', '"1"')).toContain('invalid type: string "1", expected u128');
    expect(refusal('u8', 'true')).toContain('invalid type: boolean `true`, expected u8');
  });

  it('may have as many digits as 128 bits take', () => {
    expect(read('u128', String(2n ** 128n - 1n))).toBe(2n ** 128n - 1n);
    expect(read('i128', String(-(2n ** 127n)))).toBe(-(2n ** 127n));
    expect(refusal('u128', String(2n ** 128n))).toContain('number out of range');
    expect(refusal('u128', '-1')).toContain('number out of range');
    expect(refusal('i128', '9'.repeat(100_000))).toContain('number out of range');
  });

  it('are hexadecimal strings for 256 bits', () => {
    expect(read('u256', '"0x0"')).toBe(0n);
    expect(read('u256', '"+0x00FF"')).toBe(255n);
    expect(read('u256', `"0x${'0'.repeat(200)}1"`)).toBe(1n);
    expect(read('i256', '"-0x1"')).toBe(-1n);
    expect(read('i256', `"-0x8${'0'.repeat(63)}"`)).toBe(-(2n ** 255n));
    for (const text of ['"-0x1"', '"12"', '"ff"', '"0x"', '"0xg"', `"0x1${'0'.repeat(64)}"`]) {
      expect(refusal('u256', text)).toContain('invalid value: string');
    }
    expect(refusal('i256', '"0x-1"')).toContain('invalid value: string');
    expect(refusal('i256', `"0x8${'0'.repeat(63)}"`)).toContain('invalid value: string');
    expect(refusal('u256', '12')).toContain('invalid type: integer `12`, expected u256');
  });
});

describe('[values 4] floats and booleans from JSON', () => {
  it('take every number', () => {
    expect(read('f64', '1')).toBe(1);
    expect(read('f64', '-1.5e3')).toBe(-1500);
    expect(read('f64', '-0.0')).toBe(-0);
    expect(read('f32', '0.1')).toBe(Math.fround(0.1));
  });

  it('take neither null nor text', () => {
    expect(refusal('f64', 'null')).toContain('invalid type: null, expected f64');
    expect(refusal('f32', '"1"')).toContain('invalid type: string "1", expected f32');
    expect(refusal('f64', '1e999')).toContain('number out of range');
  });

  it('know true and false only', () => {
    expect(read('bool', 'true')).toBe(true);
    expect(refusal('bool', '1')).toContain('invalid type: integer `1`, expected a boolean');
    expect(refusal('bool', '"true"')).toContain('invalid type: string "true"');
  });
});

describe('[values 4] bytes, strings and arrays from JSON', () => {
  it('take bytes as pairs of digits or as numbers', () => {
    expect(read(bytesType, '"00fF"')).toEqual(Uint8Array.of(0, 255));
    expect(read(bytesType, '[0,255]')).toEqual(Uint8Array.of(0, 255));
    for (const text of ['"0x00"', '"abc"', '"AAE="', '"zz"']) {
      expect(refusal(bytesType, text)).toContain(
        `invalid value: string ${text}, expected a byte array or hex string`,
      );
    }
    expect(refusal(bytesType, '[256]')).toContain('invalid value: integer `256`, expected u8');
    expect(refusal(bytesType, '7')).toContain('expected a byte array or hex string');
  });

  it('take strings and arrays as such', () => {
    expect(read('string', '"\\ud83d\\ude00"')).toBe('😀');
    expect(refusal('string', '1')).toContain('invalid type: integer `1`, expected a string');
    expect(read({ kind: 'array', element: u32 }, '[1,2]')).toEqual([1, 2]);
    expect(refusal({ kind: 'array', element: u32 }, '{}')).toContain('invalid type: map');
  });

  it('say where in the value and in the text something is wrong', () => {
    const list: AlgebraicType = { kind: 'array', element: pair };
    expect(refusal(list, '[[1,"x"],\n {"b":"y","a":"z"}]')).toBe(
      '[1].a: invalid type: string "z", expected u32 at line 2 column 17',
    );
  });
});

describe('[values 4] special types from JSON', () => {
  it('are the products that they are made of', () => {
    const hex = `c2${'0'.repeat(61)}7`;
    expect(read(identityType, `{"__identity__":"0x${hex}"}`)).toEqual([BigInt(`0x${hex}`)]);
    expect(read(identityType, `["0x${hex}"]`)).toEqual([BigInt(`0x${hex}`)]);
    expect(read(timestampType, '{"__timestamp_micros_since_unix_epoch__":5}')).toEqual([5n]);
    expect(read(timestampType, '[5]')).toEqual([5n]);
    expect(read(connectionIdType, '[7]')).toEqual([7n]);
    expect(read(timeDurationType, '{"__time_duration_micros__":-250}')).toEqual([-250n]);
    expect(read(uuidType, '{"__uuid__":1}')).toEqual([1n]);
  });

  it('have no shorter forms', () => {
    refusal(identityType, `"c2${'0'.repeat(62)}"`);
    refusal(identityType, `"0xc2${'0'.repeat(62)}"`);
    refusal(timestampType, '5');
    refusal(timestampType, '"2025-02-17T10:30:45Z"');
    refusal(uuidType, '"01888d6e-5c00-7000-8000-000000000000"');
  });

  it('are sums for ScheduleAt', () => {
    for (const text of ['{"Interval":{"__time_duration_micros__":5}}', '[0,[5]]']) {
      expect(read(scheduleAtType, text)).toEqual({ tag: 0, value: [5n] });
    }
    expect(read(scheduleAtType, '{"Time":[5]}')).toEqual({ tag: 1, value: [5n] });
  });
});

describe('[values 4] nesting', () => {
  const list: AlgebraicType = { kind: 'array', element: { kind: 'ref', ref: 0 } };
  const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

  it('goes 128 levels deep and no deeper', () => {
    const typespace = { types: [list] };
    expect(valueFromJson(list, parseJson(nest(128)), typespace)).toBeDefined();
    expect(() => parseJson(nest(129))).toThrow(/^recursion limit exceeded at line 1 column 129$/);
  });

  it('counts levels that null stands for', () => {
    const typespace = { types: [optionType(list)] };
    const text = `${'[0,['.repeat(64)}null${']]'.repeat(64)}`;
    expect(() => valueFromJson({ kind: 'ref', ref: 0 }, parseJson(text), typespace)).toThrow(
      /recursion limit exceeded/,
    );
  });
});

describe('[values 4] arguments from JSON', () => {
  const params = product(['name', { kind: 'string' }], ['level', { kind: 'u8' }]);
  const call = (text: string) => argumentsFromJson(params, parseJson(text), 'add');

  it('are taken by position or by name', () => {
    expect(call('["Ann",3]')).toEqual(['Ann', 3]);
    expect(call('{"level":3,"name":"Ann"}')).toEqual(['Ann', 3]);
    expect(argumentsFromJson(product(), parseJson('[]'), 'f')).toEqual([]);
    expect(argumentsFromJson(product(), parseJson('{}'), 'f')).toEqual([]);
  });

  it('are spoken of as arguments when refused', () => {
    expect(() => call('["Ann"]')).toThrow(
      'invalid length 1, expected reducer args for add with 2 elements',
    );
    expect(() => call('["Ann",3,4]')).toThrow(/^trailing characters at line 1 column 10$/);
    expect(() => call('{"level":3}')).toThrow('missing reducer argument `name`');
    expect(() => call('{"zz":3}')).toThrow(
      'unknown reducer argument `zz`, expected `name` or `level`',
    );
    expect(() => call('{"level":3,"level":3}')).toThrow('duplicate reducer argument `level`');
    expect(() => call('{"level":3,"name":"","zz":1}')).toThrow('trailing comma');
    expect(() => call('"Ann"')).toThrow(
      'invalid type: string "Ann", expected reducer args for add',
    );
    expect(() => call('[1,3]')).toThrow(
      '[0]: invalid type: integer `1`, expected a string at line 1 column 2',
    );
    expect(() => argumentsFromJson(product(), parseJson('{"zz":1}'), 'f')).toThrow(
      'unknown reducer argument `zz`, there are no reducer arguments',
    );
  });
});

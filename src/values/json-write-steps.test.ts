import { expect, it } from 'vitest';
import { BinaryReader } from './binary-reader.ts';
import { encodeValue } from './encode.ts';
import {
  encodedToJson,
  encodedToJsonPieces,
  encodedToJsonSteps,
  encodedToShortJson,
  JsonTooLongError,
} from './json.ts';
import { optionType, product, unitType } from './special-types.ts';
import type { AlgebraicType } from './type.ts';
import type { Value } from './value.ts';

/** Large values, which must take many steps; see `values.property.test.ts` for all types. */

const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
const u32: AlgebraicType = { kind: 'u32' };
const string: AlgebraicType = { kind: 'string' };
const pair = product(['a', u32], ['text', string], ['more', optionType(u32)]);
const units = Array.from({ length: 500 }, (_, at) => [`unit${at}`, unitType] as const);
const wide = product(['x', { kind: 'bool' }], ...units);
const wideValue: Value = [true, ...units.map(() => [])];
const longBytes = Uint8Array.from({ length: 300_001 }, (_, at) => at % 256);
const many = <Item>(item: Item): Item[] => Array.from({ length: 50_000 }, () => item);

it.each<[string, AlgebraicType, Value]>([
  ['numbers', list(u32), many(7)],
  ['texts', list(string), many('a "quoted" text')],
  ['objects', list(pair), many([1, 'b', { tag: 0, value: 3 }])],
  ['lists of lists', list(list(u32)), many([1, 2, 3])],
  ['what is nested and large', product(['x', product(['y', list(u32)])]), [[many(1)]]],
  ['elements without bytes', list(unitType), many([])],
  ['a long text', product(['id', u32], ['text', string]), [1, 'a "quoted" 1é€🙂\n'.repeat(40_000)]],
  ['many bytes', product(['bytes', list({ kind: 'u8' })], ['id', u32]), [longBytes, 2]],
  ['elements of a byte and a thousand characters', list(wide), many(wideValue).slice(0, 1_000)],
])('[values 4] prints %s in steps', (_, type, value) => {
  const bytes = encodeValue(type, value);
  for (const shape of ['named', 'positional', 'plain'] as const) {
    const pieces = [...encodedToJsonPieces(type, new BinaryReader(bytes), shape)];
    const whole = encodedToShortJson(
      type,
      new BinaryReader(bytes),
      shape,
      Number.POSITIVE_INFINITY,
    );
    expect(pieces.join('') === whole).toBe(true);
    expect(pieces.length).toBeGreaterThan(10);
  }
});

it('[values 4] prints no value as a whole whose JSON is out of proportion', () => {
  const print = (type: AlgebraicType, bytes: Uint8Array) => {
    expect(() => encodedToJson(type, new BinaryReader(bytes), 'named')).toThrow(JsonTooLongError);
    expect(() => [...encodedToJsonSteps(type, new BinaryReader(bytes), 'named')]).toThrow(
      /^the value has more than \d+ characters as JSON/,
    );
  };
  print(list(wide), encodeValue(list(wide), many(wideValue).slice(0, 200)));
  const nothing = product(...units);
  const nothings = new Array(100).fill(units.map(() => []));
  print(list(nothing), encodeValue(list(nothing), nothings));
  const bytes = encodeValue(list(unitType), new Array(65_536).fill([]));
  const text = encodedToJson(list(unitType), new BinaryReader(bytes), 'positional');
  expect(text).toHaveLength(3 * 65_536 + 1);
});

it.each<[string, AlgebraicType, Value, number]>([
  ['a number', u32, 7, 1],
  ['numbers', list(u32), many(7), 1 + 2 * 50_000],
  ['elements without bytes', list(unitType), many([]), 1 + 3 * 50_000],
  ['parts of a product', wide, wideValue, 'false'.length + 3 * 500],
])('[values 4] prints %s only if it is short', (_, type, value, length) => {
  const bytes = encodeValue(type, value);
  const printed = (max: number) =>
    encodedToShortJson(type, new BinaryReader(bytes), 'positional', max);
  const whole = encodedToJson(type, new BinaryReader(bytes), 'positional');
  expect(whole.length).toBeGreaterThanOrEqual(length);
  expect(printed(whole.length) === whole).toBe(true);
  if (length > 1) expect(printed(length / 2)).toBe(undefined);
  // The bound was for that value alone.
  expect(encodedToJson(type, new BinaryReader(bytes), 'positional') === whole).toBe(true);
});

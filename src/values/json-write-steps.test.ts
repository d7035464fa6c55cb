import { expect, it } from 'vitest';
import { BinaryReader } from './binary-reader.ts';
import { encodeValue } from './encode.ts';
import { encodedToJson, encodedToJsonSteps } from './json.ts';
import { optionType, product, unitType } from './special-types.ts';
import type { AlgebraicType } from './type.ts';
import type { Value } from './value.ts';

/** Large values, which must take many steps; see `values.property.test.ts` for all types. */

const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
const u32: AlgebraicType = { kind: 'u32' };
const string: AlgebraicType = { kind: 'string' };
const pair = product(['a', u32], ['text', string], ['more', optionType(u32)]);
const many = <Item>(item: Item): Item[] => Array.from({ length: 50_000 }, () => item);

it.each<[string, AlgebraicType, Value]>([
  ['numbers', list(u32), many(7)],
  ['texts', list(string), many('a "quoted" text')],
  ['objects', list(pair), many([1, 'b', { tag: 0, value: 3 }])],
  ['lists of lists', list(list(u32)), many([1, 2, 3])],
  ['what is nested and large', product(['x', product(['y', list(u32)])]), [[many(1)]]],
  ['elements without bytes', list(unitType), many([])],
])('[values 4] prints %s in steps', (_, type, value) => {
  const bytes = encodeValue(type, value);
  for (const shape of ['named', 'positional'] as const) {
    const steps = encodedToJsonSteps(type, new BinaryReader(bytes), shape);
    let count = 1;
    let step = steps.next();
    for (; step.done !== true; count += 1) step = steps.next();
    expect(step.value === encodedToJson(type, new BinaryReader(bytes), shape)).toBe(true);
    expect(count).toBeGreaterThan(10);
  }
});

import { expect, it } from 'vitest';
import { resultOrWords, runSteps } from '../../test/support/steps.ts';
import { limits } from '../limits.ts';
import { encodeValue } from './encode.ts';
import { argumentsFromJson, argumentsFromLooseJson, encodeArgumentsSteps } from './json.ts';
import type { FilledTypespace } from './json-loose.ts';
import { isHeavy, parseJsonSteps } from './json-steps.ts';
import { JsonNumber, parseJson } from './json-text.ts';
import { optionType, product, sum, unitType } from './special-types.ts';
import type { AlgebraicType, ProductType } from './type.ts';

/** Encoding in steps and at once must agree on every text, and no step may be slow. */

const noTypes = { types: [] };
const u32: AlgebraicType = { kind: 'u32' };
const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
const pair = product(['a', u32], ['b', list({ kind: 'string' })]);
const color = sum(['Red', unitType], ['Many', list(u32)]);

function direct(params: ProductType, text: string, isLoose: boolean) {
  const read = isLoose ? argumentsFromLooseJson : argumentsFromJson;
  return resultOrWords(() => encodeValue(params, read(params, parseJson(text), 'f', noTypes)));
}

function stepped(params: ProductType, text: string, isLoose: boolean) {
  const typespace = noTypes;
  return resultOrWords(() => {
    const json = runSteps(parseJsonSteps(text)).value;
    expect(isHeavy(json)).toBe(true);
    const encoding = { params, functionName: 'f', typespace, isLoose };
    return runSteps(encodeArgumentsSteps(json, encoding)).value;
  });
}

const many = (item: string, count = 9_000) => Array.from({ length: count }, () => item).join(',');
const numbers = many('7');

it.each<[string, AlgebraicType, string]>([
  ['numbers', list(u32), `[[${numbers}]]`],
  ['bytes', list({ kind: 'u8' }), `[[${numbers}]]`],
  ['a byte that is none', list({ kind: 'u8' }), `[[${numbers},256]]`],
  ['an argument by name', list(u32), `{"x":[${numbers}]}`],
  ['an unknown name', list(u32), `{"y":[${numbers}]}`],
  ['an argument too many', list(u32), `[[${numbers}],1]`],
  ['one of another type behind them', list(u32), `[[${numbers},"x"]]`],
  ['a negative zero', list(u32), `[[${numbers},-0]]`],
  ['one that is too large', list(u32), `[[${numbers},4294967296]]`],
  ['one with a fraction', list(u32), `[[${numbers},1.0]]`],
  ['products by name, in another order', list(pair), `[[{"b":[${many('"x"')}],"a":1}]]`],
  ['products by position', list(pair), `[[[1,[${many('"x"')}]]]]`],
  ['a duplicate field', list(pair), `[[{"b":[${many('"x"')}],"b":[]}]]`],
  ['a missing field', list(pair), `[[{"b":[${many('"x"')}]}]]`],
  ['duplicate keys', u32, `[{${many('"a":1')}}]`],
  ['a sum by name', color, `[{"Many":[${numbers}]}]`],
  ['a sum by tag', color, `[[1,[${numbers}]]]`],
  ['an unknown variant', color, `[{"None":[${numbers}]}]`],
  ['a fault within a sum', color, `[{"Many":[${numbers},null]}]`],
  ['an option', optionType(list(u32)), `[{"some":[${numbers}]}]`],
  ['lists of lists', list(list(u32)), `[[${many('[1,2]')}]]`],
  ['a fault deep inside', list(list(u32)), `[[${many('[1,2]')},[1,[]]]]`],
  ['a list where a scalar belongs', u32, `[[${numbers}]]`],
  ['a map where a list belongs', list(u32), `[{${many('"a":1')}}]`],
  ['an option without its key', optionType(list(u32)), `[[${numbers}]]`],
  ['a fault in one', optionType(list(u32)), `[[${numbers},"x"]]`],
  ['a sum with a tag', color, `[{"tag":"many","value":[${numbers}]}]`],
  ['a product in another spelling', list(pair), `[[{"A":1,"B":[${many('"x"')}]}]]`],
  ['wide integers', list({ kind: 'u64' }), `[[${numbers},18446744073709551615]]`],
  ['wide integers in quotes', list({ kind: 'u64' }), `[[${numbers},"18446744073709551615"]]`],
])('[values 4] %s are read in steps as at once', (_, type, text) => {
  const params = product(['x', type]);
  for (const isLoose of [false, true]) {
    expect(stepped(params, text, isLoose)).toEqual(direct(params, text, isLoose));
  }
});

it('[values 4] a text is parsed in many steps, strings too', () => {
  const texts = [
    `[${numbers}]`,
    `["${'\\"'.repeat(400_000)}"]`,
    `{"${'\\u0041'.repeat(80_000)}":1}`,
  ];
  for (const text of texts) {
    const { value, count } = runSteps(parseJsonSteps(text));
    expect(count).toBeGreaterThan(5);
    expect(value).toEqual(parseJson(text));
  }
  for (const bad of [`[${numbers}`, `[${numbers},]`, `["${'\\"'.repeat(40_000)}\\x"]`]) {
    const steps = () => runSteps(parseJsonSteps(bad)).value;
    expect(resultOrWords(steps)).toBe(resultOrWords(() => parseJson(bad)));
  }
});

it('[ease 2.3] arguments in which much is filled in stay within a limit', () => {
  const row = product(['words', { kind: 'string' }], ['more', u32]);
  const words = 'w'.repeat(60_000);
  const typespace: FilledTypespace = {
    types: [row],
    leftOut: new Map([[row, [words, new JsonNumber('7')]]]),
  };
  const params = product(['rows', list({ kind: 'ref', ref: 0 })]);
  const encode = (count: number) => {
    const json = runSteps(parseJsonSteps(`[[${many('{"more":1}', count)}]]`)).value;
    expect(isHeavy(json)).toBe(true);
    const encoding = { params, functionName: 'f', typespace, isLoose: true };
    return runSteps(encodeArgumentsSteps(json, encoding)).value;
  };
  const bytesMax = limits.jsonArgumentsBytesMax;
  expect(bytesMax / words.length).toBeLessThan(2_000);
  expect(() => encode(2_000)).toThrow(`the arguments take more than ${bytesMax} bytes`);
});

import { describe, expect, it } from 'vitest';
import { parametersJson } from './sql-parameters.ts';

describe('--param', () => {
  it.each([
    [['5'], '{"1":5}'],
    [['5', 'ada'], '{"1":5,"2":"ada"}'],
    [['name=ada', '7'], '{"name":"ada","1":7}'],
    [[':name=ada'], '{"name":"ada"}'],
    [['$2=x', '1=y'], '{"2":"x","1":"y"}'],
    [['1=a=b'], '{"1":"a=b"}'],
    [['true', 'null', '"5"'], '{"1":true,"2":null,"3":"5"}'],
    [['[1]', '{}', ''], '{"1":"[1]","2":"{}","3":""}'],
    [['340282366920938463463374607431768211455'], '{"1":340282366920938463463374607431768211455}'],
  ])('%j is %s', (given, json) => {
    expect(parametersJson(given)).toBe(json);
  });
});

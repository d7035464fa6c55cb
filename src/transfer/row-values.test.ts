import { expect, it } from 'vitest';
import { parseJson } from '../values/json.ts';
import {
  optionType,
  product,
  sum,
  timeDurationType,
  timestampType,
  unitType,
} from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { Value } from '../values/value.ts';
import { cellReaderOf } from './csv-cells.ts';
import { valueReaderOf } from './row-values.ts';

const string: AlgebraicType = { kind: 'string' };
const status = sum(['inProgress', unitType], ['text', string]);
const line = product(['order_id', { kind: 'u64' }], ['note', optionType(string)]);
const none = { tag: 1, value: [] };

it.each<[AlgebraicType, string, Value]>([
  [timeDurationType, '"1h"', [3_600_000_000n]],
  [timeDurationType, '"PT1H30M"', [5_400_000_000n]],
  [timeDurationType, '"250"', [250n]],
  [timeDurationType, '["250"]', [250n]],
  [timestampType, '"1970-01-01T00:00:01Z"', [1_000_000n]],
  [status, '"InProgress"', { tag: 0, value: [] }],
  [status, '{"tag":"in_progress"}', { tag: 0, value: [] }],
  [status, '{"tag":"Text","value":"a"}', { tag: 1, value: 'a' }],
  [status, '[1,"a"]', { tag: 1, value: 'a' }],
  [line, '{"orderId":7}', [7n, none]],
  [line, '["7",[0,"a"]]', [7n, { tag: 0, value: 'a' }]],
  [optionType(timeDurationType), '"1h"', { tag: 0, value: [3_600_000_000n] }],
])('[ease 1.4] a column of %o is read from %s, as in a call', (type, text, value) => {
  expect(valueReaderOf(type)(parseJson(text), 0)).toEqual(value);
});

it('[ease 1.4] a field of CSV is a duration in words', () => {
  const field = { text: '1h30m', isQuoted: false };
  expect(cellReaderOf(timeDurationType)(field)).toEqual([5_400_000_000n]);
});

it('[ease 1.6] a text that is no duration is refused with one that is', () => {
  expect(() => valueReaderOf(timeDurationType)('soon', 0)).toThrow(
    expect.objectContaining({
      message: 'invalid value: string "soon", expected a duration such as 1h30m, or microseconds',
    }),
  );
});

import { expect, it } from 'vitest';
import {
  bytesType,
  identityType,
  optionType,
  product,
  sum,
  timestampType,
  unitType,
} from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { callArguments } from './call-arguments.ts';

const string: AlgebraicType = { kind: 'string' };
const status = sum(['todo', unitType], ['text', string]);

function argument(type: AlgebraicType, word: string): string {
  const typespace = { types: [status] };
  const params = [{ name: 'it', type }];
  return callArguments({ kind: 'reducer', name: 'f', params, typespace }, [word]);
}

it.each<[AlgebraicType, string, string]>([
  [string, '5', '["5"]'],
  [string, '"a"', '["a"]'],
  [optionType(string), '5', '["5"]'],
  [optionType(string), 'null', '[null]'],
  [optionType(string), '{"some":"a"}', '[{"some":"a"}]'],
  [{ kind: 'ref', ref: 0 }, 'todo', '["todo"]'],
  [optionType({ kind: 'ref', ref: 0 }), 'todo', '["todo"]'],
  [status, '{"text":"a"}', '[{"text":"a"}]'],
  [timestampType, '2026-01-31T12:00:00Z', '["2026-01-31T12:00:00Z"]'],
  [timestampType, '5', '[5]'],
  [bytesType, '1234', '["1234"]'],
  [bytesType, '[1,2]', '[[1,2]]'],
  [identityType, '12', '["12"]'],
  [{ kind: 'u64' }, '5', '[5]'],
  [{ kind: 'u64' }, 'abc', '["abc"]'],
  [{ kind: 'array', element: string }, 'abc', '["abc"]'],
])('[ease 1.2] a word for %o: %s', (type, word, json) => {
  expect(argument(type, word)).toBe(json);
});

it('[ease 1.2] a word that cannot be a text is JSON', () => {
  expect(() => argument(status, '{"text":')).toThrow(
    /^argument it: `{"text":` is not JSON \(.*\); expected todo \| text\(String\)$/,
  );
});

it('[ease 1.5] a single object is the arguments by name, unless it is the first argument', () => {
  const call = (params: readonly [string, AlgebraicType][], ...words: string[]) => {
    const named = params.map(([name, type]) => ({ name, type }));
    const typespace = { types: [] };
    return callArguments({ kind: 'reducer', name: 'f', params: named, typespace }, words);
  };
  const u8: AlgebraicType = { kind: 'u8' };
  const point = product(['x', u8]);
  expect(
    call(
      [
        ['orderId', u8],
        ['x', u8],
      ],
      '{"order_id":1,"y":2}',
    ),
  ).toBe('{"order_id":1,"y":2}');
  expect(call([['x', u8]], '{"x":1}')).toBe('{"x":1}');
  expect(call([['x', point]], '{"x":1}')).toBe('[{"x":1}]');
  expect(
    call(
      [
        ['at', point],
        ['text', string],
      ],
      '{"x":1}',
    ),
  ).toBe('[{"x":1}]');
  expect(
    call(
      [
        ['at', point],
        ['text', string],
      ],
      '{"x":1}',
      'a',
    ),
  ).toBe('[{"x":1},"a"]');
});

import { describe, expect, it } from 'vitest';
import { JsonError } from './json-error.ts';
import {
  anything,
  boolean,
  either,
  list,
  nullable,
  number,
  object,
  optional,
  parseAs,
  record,
  string,
  word,
} from './json-shape.ts';

const shape = object({
  name: string,
  sizes: list(number),
  kind: word('a', 'b'),
  isOpen: optional(boolean),
  until: nullable(number),
  amount: either(number, word('all')),
  more: record(object({ rest: anything })),
});

const right = {
  name: 'x',
  sizes: [1, 2],
  kind: 'b',
  until: null,
  more: { one: { rest: [] } },
  amount: 'all',
};

describe('the shape of JSON', () => {
  it('lets through what has it, without other fields', () => {
    expect(parseAs(JSON.stringify({ ...right, other: 1 }), shape)).toEqual(right);
    expect(parseAs(JSON.stringify({ ...right, isOpen: true }), shape).isOpen).toBe(true);
  });

  it.each([
    ['{', 'it is not JSON'],
    ['[]', 'it is not an object'],
    ['null', 'it is not an object'],
    [{ ...right, name: 7 }, '`name` is not a string'],
    [{ ...right, sizes: {} }, '`sizes` is not a list'],
    [{ ...right, sizes: [1, '2'] }, '`sizes[1]` is not a number'],
    [{ ...right, kind: 'c' }, '`kind` is not one of a, b'],
    [{ ...right, isOpen: null }, '`isOpen` is not true or false'],
    [{ ...right, until: undefined }, '`until` is not a number'],
    [{ ...right, more: { one: 1 } }, '`more.one` is not an object'],
    [{ ...right, amount: 'none' }, '`amount` is not a number, and `amount` is not one of all'],
  ])('refuses %j, and says where', (json, message) => {
    const text = typeof json === 'string' ? json : JSON.stringify(json);
    expect(() => parseAs(text, shape)).toThrow(new JsonError(message));
  });

  it('takes a field only if it is the object’s own', () => {
    expect(() => parseAs('{}', object({ toString: string }))).toThrow('`toString` is not a string');
  });
});

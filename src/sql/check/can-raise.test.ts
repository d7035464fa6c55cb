import { describe, expect, it } from 'vitest';
import {
  branch,
  compare,
  constant,
  inList,
  isNull,
  not,
  parameter,
  Slots,
  variant,
} from '../../../test/sql/typed-expressions.ts';
import { present } from '../../assert.ts';
import { optionType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { findAggregate } from '../functions/aggregates.ts';
import { findFunction } from '../functions/library.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import { canRaise } from './can-raise.ts';
import type { TypedExpression, TypedQuery } from './typed.ts';
import { hasSubquery, isFree, needsOf } from './typed-expression.ts';

const { u8, u32, i64, f64, string, bool } = scalarTypes;
const slots = new Slots([[{ type: u8 }, { type: string }], [{ type: optionType(u8) }]]);
const number = slots.column(0, 0);
const text = slots.column(0, 1);

function arithmetic(
  operator: '+' | '/' | '||',
  left: TypedExpression,
  right: TypedExpression,
): TypedExpression {
  return { kind: 'arithmetic', operator, left, right, type: left.type, isNullable: false };
}

function convert(operand: TypedExpression, type: AlgebraicType): TypedExpression {
  return { kind: 'convert', operand, type, isNullable: false };
}

function call(name: string, ...args: readonly TypedExpression[]): TypedExpression {
  const resolved = present(findFunction(name)?.resolve(args.map(({ type }) => type)), name);
  const { function: called, result } = resolved;
  return { kind: 'call', function: called, arguments: args, ...result };
}

function query(items: readonly TypedExpression[]): TypedQuery {
  return {
    body: {
      kind: 'block',
      relations: [],
      joins: [],
      where: undefined,
      grouping: undefined,
      having: undefined,
      items,
      isDistinct: false,
    },
    order: [],
    limit: undefined,
    offset: undefined,
    columns: items.map(({ type, isNullable }) => ({ name: 'c', type, isNullable })),
    outerSlots: [],
  };
}

function subquery(mode: 'scalar' | 'exists', inner: TypedQuery): TypedExpression {
  return { kind: 'subquery', mode, operand: undefined, query: inner, type: bool, isNullable: true };
}

const raising = arithmetic('/', number, constant(u8, 0));
const floatSum = arithmetic('+', constant(f64, 1), constant(f64, 2));

describe('what can raise', () => {
  it.each([
    ['integer arithmetic', raising],
    ['the sum of integers', arithmetic('+', number, number)],
    ['division of floats', arithmetic('/', constant(f64, 1), constant(f64, 2))],
    ['joining texts, which may become too long', arithmetic('||', text, text)],
    ['negation of integers', { kind: 'negate', operand: number, type: u8, isNullable: false }],
    ['a narrowing conversion', convert(number, scalarTypes.i8)],
    ['reading a text as a number', convert(text, u8)],
    ['functions with a domain', call('sqrt', number)],
    ['a scalar subquery', subquery('scalar', query([number]))],
    ['what raises inside of EXISTS', subquery('exists', query([raising]))],
    ['what raises deep inside', not(isNull(inList(number, constant(u8, 1), raising)))],
    [
      'a branch of CASE',
      {
        kind: 'case',
        branches: [branch(constant(bool, true), raising)],
        otherwise: undefined,
        type: u8,
        isNullable: true,
      },
    ],
  ] as const)('%s', (_name, expression) => {
    expect(canRaise(expression as TypedExpression)).toBe(true);
  });

  it.each([
    ['columns and constants', compare(number, '=', constant(u8, 1))],
    ['sums of floats', floatSum],
    ['widening', convert(number, u32)],
    ['texts of anything', convert(number, string)],
    ['wrapping into an Option', convert(number, optionType(u8))],
    ['functions that take everything', call('upper', text)],
    ['EXISTS', subquery('exists', query([number]))],
    ['parameters', compare(number, '<', parameter(u8, 0))],
  ] as const)('not %s', (_name, expression) => {
    expect(canRaise(expression as TypedExpression)).toBe(false);
  });

  it('LIKE raises only for a pattern that is not known yet', () => {
    const like = { kind: 'like', operand: text, ignoresCase: false, type: bool } as const;
    const rest = { escape: undefined, isNullable: false };
    expect(canRaise({ ...like, ...rest, pattern: constant(string, 'a%') })).toBe(false);
    expect(canRaise({ ...like, ...rest, pattern: text })).toBe(true);
  });

  it('sums inside of subqueries do', () => {
    const found = present(findAggregate('sum', i64, false), 'sum');
    const aggregate = {
      function: found.function,
      argument: constant(i64, 1n),
      isDistinct: false,
      ...found.result,
    };
    const inner = query([number]);
    const grouping = { keys: [], aggregates: [aggregate], firstValue: 0 };
    const body = { ...inner.body, grouping } as TypedQuery['body'];
    expect(canRaise(subquery('exists', { ...inner, body }))).toBe(true);
  });
});

describe('what an expression reads', () => {
  it('slots, outer ones of subqueries included', () => {
    const option = variant(slots.column(1, 0), 0, u8);
    expect([...needsOf(compare(number, '=', option)).slots]).toEqual([0, 1]);
    expect([...needsOf(subquery('exists', query([number, option]))).slots]).toEqual([0, 1]);
    expect(needsOf(constant(u8, 1)).slots.size).toBe(0);
  });

  it('rows, groups or neither', () => {
    expect(isFree(needsOf(number))).toBe(false);
    expect(isFree(needsOf({ kind: 'value', value: 0, type: u8, isNullable: false }))).toBe(false);
    expect(isFree(needsOf(call('now')))).toBe(true);
    expect(isFree(needsOf(parameter(u8, 0)))).toBe(true);
    expect(hasSubquery(not(subquery('exists', query([]))))).toBe(true);
    expect(hasSubquery(number)).toBe(false);
  });
});

describe('recursive types', () => {
  const list: AlgebraicType = {
    kind: 'sum',
    variants: [
      { name: 'end', type: u8 },
      { name: 'more', type: { kind: 'ref', ref: 0 } },
    ],
  };

  it('fit functions that compare nothing, and no others', () => {
    const resolve = (name: string) => findFunction(name)?.resolve([list, list]);
    expect(findFunction('variant_name')?.resolve([list])).toBeDefined();
    expect(findFunction('typeof')?.resolve([{ kind: 'ref', ref: 0 }])).toBeDefined();
    expect(resolve('greatest')).toBe(undefined);
    expect(resolve('nullif')).toBe(undefined);
    expect(findFunction('length')?.resolve([{ kind: 'array', element: list }])).toBe(undefined);
    expect(findAggregate('count', list, false)).toBeDefined();
    expect(findAggregate('count', list, true)).toBe(undefined);
    expect(findAggregate('min', list, false)).toBe(undefined);
    const column = { ...number, type: list };
    // The text can be too long.
    expect(canRaise(convert(column, string))).toBe(true);
  });
});

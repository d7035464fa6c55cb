import { describe, expect, it } from 'vitest';
import { callFunction, nowMicros } from '../../../test/sql/call-function.ts';
import {
  branch,
  chain,
  compare,
  constant,
  field,
  isNull,
  not,
  parameter,
  type Rows,
  Slots,
  variant,
} from '../../../test/sql/typed-expressions.ts';
import { present } from '../../assert.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { decodeValue } from '../../values/decode.ts';
import { encodeValue } from '../../values/encode.ts';
import { optionType, product, timeDurationType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { Value } from '../../values/value.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import { findAggregate } from '../functions/aggregates.ts';
import type { QueryValue } from '../functions/function.ts';
import { findFunction } from '../functions/library.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import { compileAggregate } from './compile-aggregate.ts';
import { compileCondition } from './compile-condition.ts';
import { compileExpression } from './compile-expression.ts';
import { compileGroupKey, compileKey } from './compile-key.ts';
import { compileOutput } from './compile-output.ts';
import type { Frame } from './frame.ts';
import { compileMapKey } from './hash-key.ts';

const { u8, i32, i64, f64, string, bool } = scalarTypes;
const point = product(['x', i32], ['label', string], ['inner', product(['y', f64])]);
const list: AlgebraicType = { kind: 'array', element: u8 };

/** Slot 0 is a table, slot 1 a derived query, slot 2 another table. */
const slots = new Slots([
  [
    { type: u8 },
    { type: string },
    { type: optionType(i32) },
    { type: point },
    { type: bool },
    { type: i64 },
  ],
  [{ type: i32, isNullable: true }, { type: string }, { type: bool, isNullable: true }],
  [{ type: u8 }, { type: optionType(string) }, { type: list }],
]);

const some = (value: Value): Value => ({ tag: 0, value });
const none: Value = { tag: 1, value: [] };
const table: readonly Value[] = [7, 'seven', some(-5), [1, 'p', [2.5]], true, 9n];
const derived: readonly (Value | null)[] = [null, 'd', null];
const other: readonly Value[] = [1, some('x'), Uint8Array.of(1)];
const rows: Rows = [table, derived, other];
const withoutOther: Rows = [table, derived, undefined];

function evaluate(expression: TypedExpression, at: Frame = slots.frame(rows)): QueryValue {
  return compileExpression(expression, slots.context)(at);
}

function call(name: string, ...args: readonly TypedExpression[]): TypedExpression {
  const resolved = present(findFunction(name)?.resolve(args.map(({ type }) => type)), name);
  return {
    kind: 'call',
    function: resolved.function,
    arguments: args,
    type: resolved.result.type,
    isNullable: true,
  };
}

function arithmetic(
  left: TypedExpression,
  operator: '+' | '-' | '*' | '/' | '%' | '||',
  right: TypedExpression,
): TypedExpression {
  return { kind: 'arithmetic', operator, left, right, type: left.type, isNullable: true };
}

function convert(operand: TypedExpression, type: AlgebraicType): TypedExpression {
  return { kind: 'convert', operand, type, isNullable: operand.isNullable };
}

const option = slots.column(0, 2);
const raising = arithmetic(constant(u8, 1), '/', constant(u8, 0));

describe('expressions', () => {
  it('columns are read where they stand, also behind others of any length', () => {
    expect(evaluate(slots.column(0, 0))).toBe(7);
    expect(evaluate(slots.column(0, 1))).toBe('seven');
    expect(evaluate(slots.column(0, 5))).toBe(9n);
    expect(evaluate(slots.column(1, 0))).toBe(null);
    expect(evaluate(slots.column(1, 1))).toBe('d');
    expect(evaluate(slots.column(2, 2))).toEqual(encodeValue(list, Uint8Array.of(1)));
  });

  it('a read value outlives the page it came from', () => {
    const frame = slots.frame(rows);
    const value = evaluate(slots.column(2, 2), frame);
    frame.pages[2]?.fill(0);
    expect(value).toEqual(encodeValue(list, Uint8Array.of(1)));
  });

  it('fields and variants are found inside of rows and of computed values', () => {
    const place = slots.column(0, 3);
    expect(evaluate(field(place, 1, string))).toBe('p');
    expect(evaluate(field(field(place, 2, product(['y', f64])), 0, f64))).toBe(2.5);
    expect(evaluate(variant(option, 0, i32))).toBe(-5);
    expect(evaluate(variant(option, 1, product()))).toBe(null);
    const computed: TypedExpression = {
      kind: 'case',
      branches: [branch(constant(bool, true), place)],
      otherwise: undefined,
      type: point,
      isNullable: true,
    };
    expect(evaluate(field(computed, 1, string))).toBe('p');
    const computedOption = convert(constant(i32, 3), optionType(i32));
    expect(evaluate(variant(computedOption, 0, i32))).toBe(3);
    expect(evaluate(variant(computedOption, 1, product()))).toBe(null);
  });

  it('without a row all columns are null, those of Options none', () => {
    const frame = slots.frame(withoutOther);
    const nullable = { ...slots.column(2, 0), isNullable: true };
    expect(evaluate(nullable, frame)).toBe(null);
    expect(evaluate(slots.column(2, 1), frame)).toEqual(Uint8Array.of(1));
    expect(evaluate(variant(slots.column(2, 1), 0, string), frame)).toBe(null);
    expect(evaluate(isNull(variant(slots.column(2, 1), 0, string)), frame)).toBe(true);
    expect(evaluate(isNull(nullable), frame)).toBe(true);
    expect(evaluate(compare(nullable, '=', constant(u8, 1)), frame)).toBe(null);
  });

  it('parameters follow the request, also when one plan serves many', () => {
    const condition = compare(slots.column(0, 0), '=', parameter(u8, 0));
    const test = compileCondition(condition, slots.context);
    const value = compileExpression(parameter(u8, 0), slots.context);
    for (const given of [7, 8, 7, null]) {
      const bytes = given === null ? undefined : Uint8Array.of(given);
      const frame = slots.frame(rows, [bytes]);
      expect(test(frame)).toBe(given === 7);
      expect(value(frame)).toBe(given);
    }
  });

  it('grouped values are those of the frame', () => {
    const frame = slots.frame(rows);
    frame.values[1] = 5n;
    const value = (at: number): TypedExpression => {
      return { kind: 'value', value: at, type: i64, isNullable: true };
    };
    expect(evaluate(value(1), frame)).toBe(5n);
    expect(evaluate(value(0), frame)).toBe(null);
  });

  it('AND and OR stop at the first term that decides', () => {
    const isRaising = compare(raising, '=', constant(u8, 1));
    const { context } = slots;
    for (const decisive of [false, true]) {
      const kind = decisive ? 'or' : 'and';
      const condition = chain(kind, constant(bool, decisive), isRaising);
      expect(compileCondition(condition, context)(slots.frame(rows))).toBe(decisive);
      expect(evaluate(condition)).toBe(decisive);
      const other = chain(kind, constant(bool, !decisive), isRaising);
      expect(() => compileCondition(other, context)(slots.frame(rows))).toThrow('Division by zero');
    }
  });

  it('three-valued logic has its tables', () => {
    const truths = [true, false, null] as const;
    const of = (truth: boolean | null) => ({ ...constant(bool, truth), isNullable: true });
    const table3 = (kind: 'and' | 'or') =>
      truths.map((a) => truths.map((b) => evaluate(chain(kind, of(a), of(b)))));
    expect(table3('and')).toEqual([
      [true, false, null],
      [false, false, false],
      [null, false, null],
    ]);
    expect(table3('or')).toEqual([
      [true, true, true],
      [true, false, null],
      [true, null, null],
    ]);
    expect(truths.map((truth) => evaluate(not(of(truth))))).toEqual([false, true, null]);
    const equal = truths.map((a) => truths.map((b) => evaluate(compare(of(a), '=', of(b)))));
    expect(equal).toEqual([
      [true, false, null],
      [false, true, null],
      [null, null, null],
    ]);
  });

  it('CASE takes the first branch that is true and evaluates no other', () => {
    const branches = [
      branch(constant(bool, null), raising),
      branch(slots.column(0, 4), constant(u8, 3)),
      branch(constant(bool, true), raising),
    ];
    const expression = { kind: 'case', type: u8, isNullable: true } as const;
    expect(evaluate({ ...expression, branches, otherwise: raising })).toBe(3);
    expect(evaluate({ ...expression, branches: [], otherwise: constant(u8, 9) })).toBe(9);
    expect(evaluate({ ...expression, branches: [], otherwise: undefined })).toBe(null);
  });

  it('COALESCE evaluates no more than it must', () => {
    const nothing = convert(constant(u8, null), u8);
    expect(evaluate(call('coalesce', nothing, slots.column(0, 0), raising))).toBe(7);
    expect(evaluate(call('coalesce', nothing, nothing))).toBe(null);
    expect(() => evaluate(call('coalesce', nothing, raising))).toThrow('Division by zero');
  });

  it('functions get values, the moment, and null only if they want it', () => {
    expect(evaluate(call('upper', slots.column(0, 1)))).toBe('SEVEN');
    expect(evaluate(call('now'))).toBe(nowMicros);
    expect(evaluate(call('now'))).toBe(callFunction('now'));
    expect(evaluate(call('substring', slots.column(0, 1), constant(i64, null)))).toBe(null);
    const withRaising = call('substring', slots.column(0, 1), constant(i64, null), raising);
    expect(() => evaluate(withRaising)).toThrow('Division by zero');
    const text = call('concat', constant(string, null), slots.column(0, 1));
    expect(evaluate(text)).toBe('seven');
  });

  it('arithmetic is null when an operand is', () => {
    const number = convert(slots.column(1, 0), i32);
    expect(evaluate(arithmetic(number, '+', constant(i32, 1)))).toBe(null);
    expect(evaluate(arithmetic(constant(i32, 1), '+', number))).toBe(null);
    expect(evaluate(arithmetic(slots.column(0, 0), '+', constant(u8, null)))).toBe(null);
    expect(evaluate(arithmetic(slots.column(0, 0), '*', slots.column(0, 0)))).toBe(49);
    const negated = { kind: 'negate', operand: variant(option, 0, i32), type: i32 } as const;
    expect(evaluate({ ...negated, isNullable: true })).toBe(5);
    const length = constant(timeDurationType, [5n]);
    expect(evaluate(arithmetic(length, '-', constant(timeDurationType, [7n])))).toBe(-2n);
  });

  it('conversion to an Option turns null into none', () => {
    expect(evaluate(convert(slots.column(1, 0), optionType(i32)))).toEqual(Uint8Array.of(1));
    const wrapped = convert(constant(i32, 3), optionType(i32));
    expect(evaluate(wrapped)).toEqual(Uint8Array.of(0, 3, 0, 0, 0));
    expect(evaluate(convert(slots.column(0, 0), string))).toBe('7');
  });

  it('LIKE takes patterns of constants, columns and parameters', () => {
    const like = (pattern: TypedExpression, character?: TypedExpression): TypedExpression => ({
      kind: 'like',
      operand: slots.column(0, 1),
      pattern,
      escape: character,
      ignoresCase: false,
      type: bool,
      isNullable: true,
    });
    const all = [
      [like(constant(string, 's%n')), true],
      [like(constant(string, 's_v%')), true],
      [like(constant(string, 'S%')), false],
      [like(constant(string, null)), null],
      [like(constant(string, 's!even'), constant(string, '!')), true],
      [like(constant(string, 's%'), constant(string, null)), null],
      [like(slots.column(0, 1)), true],
      [like(slots.column(1, 1)), false],
      [like(parameter(string, 0)), true],
      [like(parameter(string, 1)), null],
      [{ ...like(constant(string, 'SEV%')), ignoresCase: true } as TypedExpression, true],
    ] as const;
    const frame = slots.frame(rows, [encodeValue(string, '%eve%'), undefined]);
    for (const [condition, expected] of all) {
      expect(evaluate(condition, frame)).toBe(expected);
      expect(compileCondition(condition, slots.context)(frame)).toBe(expected === true);
      expect(compileCondition(not(condition), slots.context)(frame)).toBe(expected === false);
    }
  });
});

describe('work with long values', () => {
  const text = slots.column(0, 1);
  const frameWith = (length: number): Frame => {
    const row = table.with(1, 'x'.repeat(length));
    return { ...slots.frame([row, derived, other]), ticks: 1_000 };
  };
  const contains: TypedExpression = {
    kind: 'like',
    operand: text,
    pattern: constant(string, '%y%'),
    escape: undefined,
    ignoresCase: false,
    type: bool,
    isNullable: false,
  };

  it.each([
    ['reading it', text],
    ['a function of it', call('upper', text)],
    ['joining it', arithmetic(text, '||', text)],
    ['LIKE', contains],
  ])('counts as rows: %s', (_name, expression) => {
    const long = frameWith(100 * 512);
    compileExpression(expression, slots.context)(long);
    expect(long.ticks).toBeLessThanOrEqual(900);
    const short = frameWith(10);
    compileExpression(expression, slots.context)(short);
    expect(short.ticks).toBe(1_000);
  });

  it('counts as rows: a key of an array', () => {
    const type = { kind: 'array', element: { kind: 'u32' } } as const;
    const key = compileMapKey([constant(type, new Array<number>(12_800).fill(1))], slots.context);
    const frame = { ...slots.frame([table, derived, other]), ticks: 1_000 };
    key(frame);
    expect(frame.ticks).toBe(900);
  });

  it('has an end within one row', () => {
    const long = call('repeat', constant(string, 'x'), constant(i64, 1_000_000n));
    const again = Array.from({ length: 640 }, () => compare(long, '=', constant(string, '')));
    const frame = { ...slots.frame(rows), ticks: 1_000 };
    const condition = compileCondition(chain('or', ...again), slots.context);
    expect(() => condition(frame)).toThrow('One row needs too much work');
  });
});

function outputRow(
  items: readonly TypedExpression[],
  nullable: readonly boolean[],
  frame: Frame = slots.frame(rows),
): Value {
  const columns: OutputColumn[] = items.map(({ type }, at) => {
    return { name: `c${at}`, type, isNullable: nullable[at] === true };
  });
  const written: number[] = [];
  const write = compileOutput(items, columns, slots.context);
  write(frame, { append: (bytes, from, to) => written.push(...bytes.subarray(from, to)) });
  const types = columns.map(({ name, type, isNullable }) => {
    return [name, isNullable ? optionType(type) : type] as const;
  });
  const decoded = decodeValue(product(...types), Uint8Array.from(written));
  expect(encodeValue(product(...types), decoded)).toEqual(Uint8Array.from(written));
  return decoded;
}

describe('output rows', () => {
  it('columns are copied, side by side or not', () => {
    const columns = [0, 1, 2, 3, 4, 5].map((at) => slots.column(0, at));
    expect(outputRow(columns, [])).toEqual(table);
    const mixed = [slots.column(0, 5), slots.column(0, 0), slots.column(2, 0), slots.column(0, 1)];
    expect(outputRow(mixed, [])).toEqual([9n, 7, 1, 'seven']);
  });

  it('nullable columns are Options', () => {
    const items = [slots.column(1, 0), slots.column(0, 0), variant(option, 0, i32)];
    expect(outputRow(items, [true, true, true])).toEqual([none, some(7), some(-5)]);
    const computed = [
      call('upper', slots.column(0, 1)),
      arithmetic(raising, '+', constant(u8, null)),
    ];
    expect(outputRow(computed, [true, true])).toEqual([some('SEVEN'), none]);
    expect(outputRow([call('upper', slots.column(0, 1))], [false])).toEqual(['SEVEN']);
  });

  it('the null side of a left join has none, also for columns of Options', () => {
    const nullable = { ...slots.column(2, 0), isNullable: true };
    const items = [nullable, slots.column(2, 1), slots.column(0, 0)];
    const frame = slots.frame(withoutOther);
    expect(outputRow(items, [true, false, false], frame)).toEqual([none, none, 7]);
    const fromDerived = [slots.column(1, 0), slots.column(1, 2)];
    expect(outputRow(fromDerived, [true, true])).toEqual([none, none]);
    const nothing = slots.frame([table, undefined, undefined]);
    expect(outputRow(fromDerived, [true, true], nothing)).toEqual([none, none]);
  });
});

describe('keys', () => {
  const key = (expressions: readonly TypedExpression[], frame: Frame = slots.frame(rows)) => {
    const writer = new BinaryWriter(4);
    const isWhole = compileKey(expressions, slots.context)(frame, writer);
    return isWhole ? [...writer.finish()] : null;
  };

  it('are the bytes of the values, and none with a null', () => {
    expect(key([slots.column(0, 0), slots.column(2, 0)])).toEqual([7, 1]);
    expect(key([arithmetic(slots.column(0, 0), '+', constant(u8, 1))])).toEqual([8]);
    expect(key([slots.column(0, 0), slots.column(1, 0)])).toBe(null);
    expect(key([slots.column(2, 1)], slots.frame(withoutOther))).toEqual([1]);
    expect(key([{ ...slots.column(2, 0), isNullable: true }], slots.frame(withoutOther))).toBe(
      null,
    );
    expect(key([])).toEqual([]);
  });

  it('have one zero and one NaN, also inside of products', () => {
    const zero = key([constant(f64, 0)]);
    expect(key([constant(f64, -0)])).toEqual(zero);
    const inside = (value: number) => key([constant(product(['y', f64]), [value])]);
    expect(inside(-0)).toEqual(inside(0));
    expect(inside(1)).not.toEqual(inside(0));
  });

  it('of groups tell null from every value', () => {
    const writer = new BinaryWriter(4);
    const write = compileGroupKey([slots.column(1, 0), slots.column(0, 0)], slots.context);
    write(slots.frame(rows), writer);
    expect([...writer.finish()]).toEqual([1, 0, 7]);
  });
});

describe('aggregates of rows', () => {
  it('leave nulls out and count rows without reading them', () => {
    const of = (name: string, argument: TypedExpression | undefined) => {
      const found = present(findAggregate(name, argument?.type, false), name);
      const aggregate = { function: found.function, argument, isDistinct: false, ...found.result };
      const { makeAccumulator, add } = compileAggregate(aggregate, slots.context);
      const accumulator = makeAccumulator();
      const all: Rows[] = [rows, withoutOther, [[...table.with(0, 9)], [3, 'e', true], other]];
      for (const one of all) add(slots.frame(one), accumulator);
      return accumulator.finish();
    };
    expect(of('count', undefined)).toBe(3n);
    expect(of('count', slots.column(1, 0))).toBe(1n);
    expect(of('count', { ...slots.column(2, 0), isNullable: true })).toBe(2n);
    expect(of('sum', slots.column(0, 0))).toBe(23n);
    expect(of('sum', slots.column(1, 0))).toBe(3n);
    expect(of('max', call('upper', slots.column(0, 1)))).toBe('SEVEN');
  });
});

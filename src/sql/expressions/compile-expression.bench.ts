import { nowMicros } from '../../../test/sql/call-function.ts';
import { chain, compare, constant, Slots, variant } from '../../../test/sql/typed-expressions.ts';
import { assert, present } from '../../assert.ts';
import { Random } from '../../testing/random.ts';
import { optionType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import { findAggregate } from '../functions/aggregates.ts';
import { findFunction } from '../functions/library.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import { compileAggregate } from './compile-aggregate.ts';
import { compileCondition } from './compile-condition.ts';
import { compileExpression } from './compile-expression.ts';
import { compileOutput } from './compile-output.ts';
import type { Frame } from './frame.ts';

/**
 * The cost of one row for compiled expressions, over a million rows (`scale` 1) of (u32, i64, f64,
 * string of 12 characters, i32 option) that lie one after another.
 */
export function benchmarks(scale: number): readonly Measure[] {
  const rows = new BenchRows(Math.max(1_000, Math.round(1_000_000 * scale)));
  return [...conditions(rows), ...values(rows), ...aggregates(rows), ...output(rows)];
}

interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const { u32, i32, i64, f64, string, bool } = scalarTypes;
const slots = new Slots([
  [{ type: u32 }, { type: i64 }, { type: f64 }, { type: string }, { type: optionType(i32) }],
]);
const [id, sent, weight, text, option] = [0, 1, 2, 3, 4].map((at) => slots.column(0, at)) as [
  TypedExpression,
  TypedExpression,
  TypedExpression,
  TypedExpression,
  TypedExpression,
];

/** Encoded rows in one page, and a frame that steps over them. */
class BenchRows {
  readonly count: number;
  readonly #page: Uint8Array;
  readonly #starts: Int32Array;
  readonly #frame: Frame;

  constructor(count: number) {
    const random = new Random(1);
    const encoded = Array.from({ length: count }, (_, at) => {
      const name = `note ${String(random.below(10_000_000)).padStart(7, '0')}`;
      const part = random.chance(0.5) ? { tag: 0, value: at & 0xffff } : { tag: 1, value: [] };
      const time = BigInt(random.below(1_000_000_000));
      return slots.encodeRow(0, [at, time, random.fraction(), name, part]);
    });
    this.count = count;
    this.#starts = new Int32Array(count);
    this.#page = new Uint8Array(encoded.reduce((total, { length }) => total + length, 0));
    let at = 0;
    for (const [index, row] of encoded.entries()) {
      this.#page.set(row, at);
      this.#starts[index] = at;
      at += row.length;
    }
    this.#frame = { pages: [this.#page], rows: [0], values: [], parameters: [], nowMicros };
  }

  /** Nanoseconds for each row, the best of five rounds. */
  measure(visit: (frame: Frame) => void): number {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round++) {
      const begin = performance.now();
      for (let index = 0; index < this.count; index++) {
        this.#frame.rows[0] = this.#starts[index] as number;
        visit(this.#frame);
      }
      best = Math.min(best, ((performance.now() - begin) * 1e6) / this.count);
    }
    return best;
  }
}

function conditions(rows: BenchRows): Measure[] {
  const like = (pattern: string, ignoresCase = false): TypedExpression => ({
    kind: 'like',
    operand: text,
    pattern: constant(string, pattern),
    escape: undefined,
    ignoresCase,
    type: bool,
    isNullable: false,
  });
  const list = Array.from({ length: 100 }, (_, at) => constant(u32, at * 31));
  const inList: TypedExpression = {
    kind: 'inList',
    operand: id,
    values: list,
    type: bool,
    isNullable: false,
  };
  const all: readonly (readonly [string, TypedExpression])[] = [
    ['u32 < constant', compare(id, '<', constant(u32, 1_000))],
    [
      'i64 range',
      chain('and', compare(sent, '>', constant(i64, 5n)), compare(sent, '<', constant(i64, 900n))),
    ],
    ['f64 > constant', compare(weight, '>', constant(f64, 0.5))],
    ['text = constant', compare(text, '=', constant(string, 'note 0000077'))],
    ['option = constant', compare(variant(option, 0, i32), '=', constant(i32, 5))],
    ['u32 + 1 = constant', compare(add(id, constant(u32, 1)), '=', constant(u32, 5))],
    ['IN of 100', inList],
    ["LIKE '%77%'", like('%77%')],
    ["LIKE 'note_0%'", like('note_0%')],
    ["ILIKE 'NOTE%'", like('NOTE%', true)],
  ];
  return all.map(([name, condition]) => {
    const test = compileCondition(condition, slots.context);
    let found = 0;
    const value = rows.measure((frame) => {
      if (test(frame)) found++;
    });
    return { name: `condition ${name} (rows ${found})`, unit: 'ns/row', value };
  });
}

function values(rows: BenchRows): Measure[] {
  const length = present(findFunction('length')?.resolve([string]), 'length');
  const all: readonly (readonly [string, TypedExpression])[] = [
    ['u32 + 1', add(id, constant(u32, 1))],
    ['i64 + i64', add(sent, sent)],
    ['f64 * f64', { ...add(weight, weight), operator: '*' } as TypedExpression],
    [
      'length(text)',
      { kind: 'call', function: length.function, arguments: [text], type: i64, isNullable: false },
    ],
  ];
  return all.map(([name, expression]) => {
    const evaluate = compileExpression(expression, slots.context);
    let sum = 0;
    const value = rows.measure((frame) => {
      sum += evaluate(frame) === null ? 1 : 0;
    });
    return { name: `value ${name} (nulls ${sum})`, unit: 'ns/row', value };
  });
}

function add(left: TypedExpression, right: TypedExpression): TypedExpression {
  return { kind: 'arithmetic', operator: '+', left, right, type: left.type, isNullable: false };
}

function aggregates(rows: BenchRows): Measure[] {
  const all: readonly (readonly [string, TypedExpression])[] = [
    ['sum', id],
    ['sum', sent],
    ['sum', weight],
    ['avg', variant(option, 0, i32)],
    ['max', sent],
    ['max', text],
    ['count', text],
  ];
  return all.map(([name, argument]) => {
    const found = present(findAggregate(name, argument.type, false), name);
    const aggregate = { function: found.function, argument, isDistinct: false, ...found.result };
    const { makeAccumulator, add: addRow } = compileAggregate(aggregate, slots.context);
    const accumulator = makeAccumulator();
    const value = rows.measure((frame) => addRow(frame, accumulator));
    assert(accumulator.finish() !== null, 'there are rows');
    return { name: `${name} of ${kindOf(argument.type)}`, unit: 'ns/row', value };
  });
}

function kindOf(type: AlgebraicType): string {
  return type.kind;
}

function output(rows: BenchRows): Measure[] {
  const all: readonly (readonly [string, readonly TypedExpression[]])[] = [
    ['id, sent', [id, sent]],
    ['text, id', [text, id]],
    ['id + 1', [add(id, constant(u32, 1))]],
  ];
  return all.map(([name, items]) => {
    const columns: OutputColumn[] = items.map(({ type }, at) => {
      return { name: `c${at}`, type, isNullable: false };
    });
    const write = compileOutput(items, columns, slots.context);
    let byteCount = 0;
    const sink = {
      append: (_bytes: Uint8Array, from: number, to: number) => {
        byteCount += to - from;
      },
    };
    const value = rows.measure((frame) => write(frame, sink));
    return { name: `output ${name} (bytes ${byteCount})`, unit: 'ns/row', value };
  });
}

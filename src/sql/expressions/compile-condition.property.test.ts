import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chain,
  compare,
  constant,
  inList,
  isDistinct,
  isNull,
  not,
  parameter,
  Slots,
  variant,
} from '../../../test/sql/typed-expressions.ts';
import { someRuns } from '../../../test/support/share.ts';
import { comparatorOf } from '../../values/compare.ts';
import { encodeValue } from '../../values/encode.ts';
import {
  bytesType,
  identityType,
  optionType,
  product,
  timestampType,
} from '../../values/special-types.ts';
import type { AlgebraicType, ScalarKind } from '../../values/type.ts';
import type { SumValue, Value } from '../../values/value.ts';
import type { TypedExpression } from '../check/typed.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { compileCondition } from './compile-condition.ts';
import { compileExpression } from './compile-expression.ts';

/** Few values of each type, so that some are equal, including the ends of each range. */
interface Domain {
  readonly type: AlgebraicType;
  readonly values: readonly Value[];
}

const scalar = (kind: ScalarKind, ...values: readonly Value[]): Domain => ({
  type: { kind },
  values,
});

const domains: readonly Domain[] = [
  scalar('bool', true, false),
  scalar('u8', 0, 1, 200, 255),
  scalar('i8', -128, -1, 0, 127),
  scalar('u16', 0, 0x1234, 0xffff),
  scalar('i16', -0x8000, -1, 0x7fff),
  scalar('u32', 0, 1, 0x8000_0000, 0xffff_ffff),
  scalar('i32', -0x8000_0000, -1, 0, 0x7fff_ffff),
  scalar('u64', 0n, 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n),
  scalar('i64', -(2n ** 63n), -1n, 0n, 2n ** 32n, 2n ** 63n - 1n),
  scalar('u128', 0n, 2n ** 64n, 2n ** 128n - 1n),
  scalar('i256', -(2n ** 255n), -1n, 0n, 2n ** 130n),
  scalar('f32', Number.NaN, -0, 0, 1.5, Number.NEGATIVE_INFINITY),
  scalar('f64', Number.NaN, -0, 0, 1.5, -2.25, Number.POSITIVE_INFINITY),
  scalar('string', '', 'a', 'ab', 'é', '\uffff', '\u{10000}'),
  { type: timestampType, values: [[0n], [-1n], [2n ** 62n]] },
  { type: identityType, values: [[0n], [2n ** 255n]] },
  { type: bytesType, values: [Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(1, 2)] },
  {
    type: product(['x', { kind: 'f64' }], ['y', { kind: 'string' }]),
    values: [
      [0, 'a'],
      [-0, 'a'],
      [Number.NaN, ''],
    ],
  },
];

/**
 * Slot 0 has, for each domain, a plain column, a nullable one, and one in an Option. Slot 1 has the
 * same and, at times, no row.
 */
const columns = domains.flatMap(({ type }) => [
  { type },
  { type, isNullable: true },
  { type: optionType(type) },
]);
const slots = new Slots([columns, columns]);

/** An operand and its value, computed without the code under test. */
interface Operand {
  readonly expression: TypedExpression;
  readonly valueFor: (world: World) => Value | null;
}

interface Condition {
  readonly expression: TypedExpression;
  readonly truthFor: (world: World) => boolean | null;
}

interface World {
  readonly rows: readonly (readonly (Value | null)[] | undefined)[];
  /** By domain. */
  readonly parameters: readonly (Value | null)[];
}

function operands(domain: number): fc.Arbitrary<Operand> {
  const { type, values } = domains[domain] as Domain;
  const columnOperands = fc
    .record({ slot: fc.nat(1), way: fc.constantFrom('plain', 'nullable', 'option') })
    .map(({ slot, way }): Operand => {
      const at = domain * 3 + ['plain', 'nullable', 'option'].indexOf(way);
      const read = (world: World) => world.rows[slot]?.[at] ?? null;
      const column = { ...slots.column(slot, at), ...(slot === 1 ? { isNullable: true } : {}) };
      if (way !== 'option') return { expression: column, valueFor: read };
      return {
        expression: variant(slots.column(slot, at), 0, type),
        valueFor: (world) => {
          const option = read(world) as SumValue | null;
          return option === null || option.tag === 1 ? null : option.value;
        },
      };
    });
  const constants = fc
    .constantFrom(null, ...values)
    .map((value): Operand => ({ expression: constant(type, value), valueFor: () => value }));
  const parameters = fc.constant<Operand>({
    expression: parameter(type, domain),
    valueFor: ({ parameters: given }) => given[domain] ?? null,
  });
  return fc.oneof({ weight: 3, arbitrary: columnOperands }, constants, parameters);
}

function sign(domain: number, a: Value, b: Value): number {
  return Math.sign(comparatorOf((domains[domain] as Domain).type)(a, b));
}

const signs: Readonly<Record<ComparisonOperator, readonly number[]>> = {
  '=': [0],
  '<>': [-1, 1],
  '<': [-1],
  '<=': [-1, 0],
  '>': [1],
  '>=': [0, 1],
};

const domainIndex = fc.nat(domains.length - 1);

const comparisons = fc
  .tuple(domainIndex, fc.constantFrom(...(Object.keys(signs) as ComparisonOperator[])))
  .chain(([domain, operator]) =>
    fc.tuple(operands(domain), operands(domain)).map(
      ([left, right]): Condition => ({
        expression: compare(left.expression, operator, right.expression),
        truthFor: (world) => {
          const a = left.valueFor(world);
          const b = right.valueFor(world);
          return a === null || b === null ? null : signs[operator].includes(sign(domain, a, b));
        },
      }),
    ),
  );

const others = domainIndex.chain((domain) =>
  fc
    .tuple(fc.nat(2), fc.array(operands(domain), { minLength: 2, maxLength: 4 }))
    .map(([kind, [first, ...rest]]): Condition => {
      const operand = first as Operand;
      const second = rest[0] as Operand;
      if (kind === 0) {
        return {
          expression: isNull(operand.expression),
          truthFor: (world) => operand.valueFor(world) === null,
        };
      }
      if (kind === 1) {
        return {
          expression: isDistinct(operand.expression, second.expression),
          truthFor: (world) => {
            const a = operand.valueFor(world);
            const b = second.valueFor(world);
            return a === null || b === null ? a !== b : sign(domain, a, b) !== 0;
          },
        };
      }
      return {
        expression: inList(operand.expression, ...rest.map(({ expression }) => expression)),
        truthFor: (world) => {
          const a = operand.valueFor(world);
          if (a === null) return null;
          const list = rest.map(({ valueFor }) => valueFor(world));
          if (list.some((b) => b !== null && sign(domain, a, b) === 0)) return true;
          return list.includes(null) ? null : false;
        },
      };
    }),
);

const conditions = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    comparisons,
    others,
    tie('condition').map(
      ({ expression, truthFor }): Condition => ({
        expression: not(expression),
        truthFor: (world) => {
          const truth = truthFor(world);
          return truth === null ? null : !truth;
        },
      }),
    ),
    fc
      .tuple(
        fc.constantFrom('and' as const, 'or' as const),
        fc.array(tie('condition'), { minLength: 2, maxLength: 4 }),
      )
      .map(([kind, terms]): Condition => {
        const decisive = kind === 'or';
        return {
          expression: chain(kind, ...terms.map(({ expression }) => expression)),
          truthFor: (world) => {
            const truths = terms.map(({ truthFor }) => truthFor(world));
            if (truths.includes(decisive)) return decisive;
            return truths.includes(null) ? null : !decisive;
          },
        };
      }),
  ),
})).condition;

const rowValues = fc.tuple(
  ...domains.flatMap(({ values }) => [
    fc.constantFrom(...values),
    fc.constantFrom(null, ...values),
    fc.constantFrom<Value>(
      { tag: 1, value: [] },
      ...values.map((value): Value => ({ tag: 0, value })),
    ),
  ]),
);

const worlds: fc.Arbitrary<World> = fc.record({
  rows: fc.tuple(rowValues, fc.option(rowValues, { nil: undefined, freq: 4 })),
  parameters: fc.tuple(...domains.map(({ values }) => fc.constantFrom(null, ...values))),
});

describe('conditions', () => {
  it('are true, false and null exactly when their parts say so', () => {
    fc.assert(
      fc.property(
        conditions,
        fc.array(worlds, { minLength: 1, maxLength: 4 }),
        (condition, all) => {
          const { context } = slots;
          const isTrue = compileCondition(condition.expression, context);
          const isFalse = compileCondition(not(condition.expression), context);
          const evaluate = compileExpression(condition.expression, context);
          for (const world of all) {
            const parameters = world.parameters.map((value, domain) =>
              value === null ? undefined : encodeValue((domains[domain] as Domain).type, value),
            );
            const frame = slots.frame(world.rows, parameters);
            const truth = condition.truthFor(world);
            expect(isTrue(frame)).toBe(truth === true);
            expect(isFalse(frame)).toBe(truth === false);
            expect(evaluate(frame)).toBe(truth);
          }
        },
      ),
      { numRuns: someRuns(3_000) },
    );
  });
});

import type { Random } from '../../../src/testing/random.ts';
import {
  type IntegerKind,
  integerKinds,
  isInteger,
  isSigned,
  isWithin,
  type Kind,
  max,
  min,
  type Range,
  rangeOf,
} from './kinds.ts';
import { literalValue } from './random-schema.ts';
import { type Expression, expression, isExpression, literal, type Part } from './tree.ts';

interface Wish {
  readonly random: Random;
  readonly kind: Kind;
  readonly operand: (kind: Kind) => Expression;
  readonly mayRaise: boolean;
}

/** Arithmetic with a result of the kind; `undefined` where there is none. */
export function randomArithmetic(wish: Wish): Expression | undefined {
  switch (wish.kind) {
    case 'f32':
    case 'f64':
      return fractionArithmetic(wish);
    case 'duration':
    case 'timestamp':
      return timeArithmetic(wish);
    default:
      return isInteger(wish.kind) ? integerArithmetic(wish, wish.kind) : undefined;
  }
}

function integerArithmetic(wish: Wish, kind: IntegerKind): Expression | undefined {
  const { random, operand } = wish;
  if (isSigned(kind) && random.chance(0.1)) {
    const inner = operand(kind);
    const range = inner.range && { low: -inner.range.high, high: -inner.range.low };
    return bounded(wish, kind, { parts: ['-', { ...inner, isLoose: true }], range });
  }
  const [a, b] = operandsOf(wish, kind);
  switch (random.below(6)) {
    case 0:
    case 1:
      return bounded(wish, kind, { parts: [a, ' + ', b], range: combine(a, b, sumOf) });
    case 2:
      return bounded(wish, kind, { parts: [a, ' - ', b], range: combine(a, b, differenceOf) });
    case 3:
      return bounded(wish, kind, { parts: [a, ' * ', b], range: combine(a, b, productOf) });
    case 4: {
      const right = divisor(wish, b);
      const parts = call('div(', a, ' / ', right);
      const isPositive = right.range !== undefined && right.range.low >= 0n;
      const range = a.range && (isPositive ? around(a.range) : aroundZero(a.range));
      return bounded(wish, kind, { parts, range });
    }
    default: {
      const parts = call('mod(', a, ' % ', divisor(wish, b));
      return bounded(wish, kind, { parts, range: a.range && around(a.range) });
    }
  }
}

/** Two operands that meet in `kind`; the first has a type of its own. */
function operandsOf({ random, operand }: Wish, kind: IntegerKind): [Expression, Expression] {
  if (random.chance(0.4)) return [operand(kind), literal(kind, literalValue(kind, random))];
  // U256 meets signed numbers in I256, which does not hold it: that is an error of its own.
  const partners = integerKinds.filter((other) => isWithin(rangeOf(other), rangeOf(kind)));
  const pair: [Expression, Expression] = [operand(kind), operand(random.pick(partners))];
  return random.chance(0.5) ? pair : [pair[1], pair[0]];
}

/** Something that is not zero, unless an error is welcome. */
function divisor({ random, mayRaise }: Wish, wanted: Expression): Expression {
  const { range, isTyped, kind } = wanted;
  const isNeverZero = range !== undefined && (range.low > 0n || range.high < 0n);
  if (isNeverZero) return wanted;
  if (!isTyped) return literal(kind, kind === 'f32' || kind === 'f64' ? 2 : 3n);
  if (mayRaise && hasColumn(wanted) && random.chance(0.6)) return { ...wanted, canRaise: true };
  const zero = kind === 'f32' || kind === 'f64' ? literal(kind, 0) : literal(kind, 0n);
  const parts = ['NULLIF(', wanted, ', ', zero, ')'];
  return expression(kind, parts, { isNullable: true, range, isLoose: false });
}

/** What has none may be computed before the first row, or never. */
function hasColumn({ isColumn, parts }: Expression): boolean {
  return isColumn === true || parts.some((part) => isExpression(part) && hasColumn(part));
}

/** `a / b` here is `div(a, b)` there. */
function call(name: string, a: Expression, operator: string, b: Expression): Part[] {
  return [
    { ours: '', postgres: name },
    a,
    { ours: operator, postgres: ', ' },
    b,
    { ours: '', postgres: ')' },
  ];
}

/** The result, checked over there for the width that it has here. */
function bounded(
  { mayRaise }: Wish,
  kind: IntegerKind,
  { parts, range }: { readonly parts: readonly Part[]; readonly range: Range | undefined },
): Expression | undefined {
  const width = rangeOf(kind);
  if (range !== undefined && isWithin(range, width)) return expression(kind, parts, { range });
  if (!mayRaise || !parts.some((part) => isExpression(part) && hasColumn(part))) return undefined;
  const checked: Part[] = [
    { ours: '', postgres: 'fit(' },
    ...parts,
    { ours: '', postgres: `, ${width.low}, ${width.high})` },
  ];
  return expression(kind, checked, { range: width, canRaise: true });
}

function combine(
  a: Expression,
  b: Expression,
  operation: (a: Range, b: Range) => Range,
): Range | undefined {
  return a.range === undefined || b.range === undefined ? undefined : operation(a.range, b.range);
}

function sumOf(a: Range, b: Range): Range {
  return { low: a.low + b.low, high: a.high + b.high };
}

function differenceOf(a: Range, b: Range): Range {
  return { low: a.low - b.high, high: a.high - b.low };
}

function productOf(a: Range, b: Range): Range {
  const corners = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
  return { low: corners.reduce(min), high: corners.reduce(max) };
}

/** A remainder lies between these, and a quotient by what is positive. */
function around({ low, high }: Range): Range {
  const size = max(low < 0n ? -low : low, high < 0n ? -high : high);
  return { low: low < 0n ? -size : 0n, high: size };
}

function aroundZero({ low, high }: Range): Range {
  const size = max(low < 0n ? -low : low, high < 0n ? -high : high);
  return { low: -size, high: size };
}

const fractionMax = 10n ** 9n;

function fractionArithmetic(wish: Wish): Expression | undefined {
  const { random, kind, operand } = wish;
  const a = operand(kind);
  const b = fractionPartner(wish);
  const operations = [
    { operator: ' + ', rangeOf: sumOf },
    { operator: ' - ', rangeOf: differenceOf },
    { operator: ' * ', rangeOf: productOf },
    { operator: ' / ', rangeOf: (range: Range) => scaled(range) },
  ];
  const { operator, rangeOf: rangeAfter } = random.pick(operations);
  const right = operator === ' / ' ? divisor(wish, b) : b;
  const range = combine(a, right, rangeAfter);
  const isSmall = range !== undefined && isWithin(range, { low: -fractionMax, high: fractionMax });
  if (!isSmall) return undefined;
  const isDyadic = a.isDyadic && right.isDyadic && kind === 'f64' && operator !== ' / ';
  return expression(kind, [asFraction(a, kind), operator, asFraction(right, kind)], {
    range,
    isDyadic,
  });
}

/** The smallest divisor that is not zero is a quarter, but products and quotients are smaller. */
function scaled({ low, high }: Range): Range {
  const size = max(low < 0n ? -low : low, high < 0n ? -high : high) * 1_000n;
  return { low: -size, high: size };
}

function fractionPartner({ random, kind, operand }: Wish): Expression {
  if (random.chance(0.4)) return literal(kind, random.pick([0.5, 2, 1.25, -4, 0.25]));
  if (kind === 'f32') return operand('f32');
  return operand(random.pick(['f64', 'f32', 'i32', 'u8', 'i16'] as const));
}

function asFraction(operand: Expression, kind: Kind): Expression {
  if (operand.kind === kind || !isInteger(operand.kind)) return operand;
  return {
    ...operand,
    kind,
    parts: [{ ...operand }, { ours: '', postgres: '::float8' }],
    isLoose: false,
  };
}

const durationMax = 10n ** 13n;

function timeArithmetic(wish: Wish): Expression | undefined {
  const { random, kind, operand } = wish;
  if (kind === 'timestamp') {
    const [a, d] = [operand('timestamp'), operand('duration')];
    const operator = random.pick([' + ', ' - ']);
    const right = [d, { ours: '', postgres: " * INTERVAL '1 microsecond'" }];
    return expression('timestamp', [a, operator, ...right], { range: undefined });
  }
  if (random.chance(0.4)) {
    const [a, b] = [operand('timestamp'), operand('timestamp')];
    const parts: Part[] = [
      { ours: '', postgres: '(extract(epoch FROM ' },
      a,
      { ours: ' - ', postgres: ') - extract(epoch FROM ' },
      b,
      { ours: '', postgres: ')) * 1000000' },
    ];
    return expression('duration', parts, { range: { low: -durationMax, high: durationMax } });
  }
  const a = operand('duration');
  const isScaled = random.chance(0.3);
  const b = isScaled ? literal('i64', random.pick([2n, 3n, -1n])) : operand('duration');
  const range = combine(a, b, isScaled ? productOf : sumOf);
  if (range === undefined || !isWithin(range, { low: -(2n ** 62n), high: 2n ** 62n }))
    return undefined;
  return expression('duration', [a, isScaled ? ' * ' : ' + ', b], { range });
}

import { limits } from '../../limits.ts';
import { optionType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { type AggregateName, aggregateNamed } from '../functions/aggregate-names.ts';
import { findAggregate } from '../functions/aggregates.ts';
import { hasRefs } from '../functions/canonical.ts';
import type { AggregateFunction, ResolvedFunction } from '../functions/function.ts';
import {
  arrayAggregate,
  type KeptOrder,
  percentileAggregate,
  percentileParts,
  resultOfKeeping,
  stringAggregate,
} from '../functions/keeping-aggregates.ts';
import { packedType, packerOf } from '../functions/packed.ts';
import { isNumericType, scalarTypes } from '../functions/value-kind.ts';
import type { ValueType } from '../functions/value-type.ts';
import type { Call, Expression, OrderItem } from '../syntax/ast.ts';
import { type Aggregates, boolValue, type Environment, refuse, stringType } from './context.ts';
import { unwrapped } from './field.ts';
import { shownType } from './shown-type.ts';
import { typeAlone, typeCondition, typeOpen } from './type-expression.ts';
import { constant, isOpen } from './type-literal.ts';
import type { TypedAggregate, TypedExpression } from './typed.ts';
import { converted } from './unify.ts';
import { readsRows } from './written.ts';

/** The node that stands for an aggregate until its block knows how it groups. */
export function typeAggregate(name: string, call: Call, environment: Environment): TypedExpression {
  const { aggregates } = environment;
  if (typeof aggregates === 'string') {
    const message = `The aggregate function \`${name}\` is not allowed in ${aggregates}`;
    throw refuse(message, call.span, environment);
  }
  const inside: Environment = {
    ...environment,
    aggregates: 'the argument of another aggregate function',
    aliases: undefined,
    windows: undefined,
  };
  const aggregate = aggregateOf(name, call, inside);
  if (aggregates.size >= limits.columnCountMax) {
    const message = `A query has at most ${limits.columnCountMax} aggregates`;
    throw refuse(message, call.span, environment);
  }
  return known(aggregate, aggregates, environment) ?? added(aggregate, aggregates);
}

/** An aggregate as it is written, with what its FILTER lets through. */
export function aggregateOf(name: string, call: Call, inside: Environment): TypedAggregate {
  const { argument, found } = resolvedAggregate(name, call, inside);
  const filter = call.modifiers?.filter;
  const condition = filter && typeCondition(filter, inside);
  const { isDistinct } = call;
  if (condition === undefined) {
    return { function: found.function, argument, isDistinct, ...found.result };
  }
  if (argument !== undefined) {
    const given = filtered(argument, condition);
    return { function: found.function, argument: given, isDistinct, ...found.result };
  }
  // COUNT(*) counts the rows for which this is not null.
  const there = constant(boolValue.type, Uint8Array.of(1));
  const counted = findAggregate(name, there.type, false) ?? found;
  const given = filtered(there, condition);
  return { function: counted.function, argument: given, isDistinct, ...counted.result };
}

function filtered(argument: TypedExpression, condition: TypedExpression): TypedExpression {
  return {
    kind: 'case',
    // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is no promise.
    branches: [{ when: condition, then: argument }],
    otherwise: undefined,
    type: argument.type,
    isNullable: true,
  };
}

interface Resolved {
  readonly argument: TypedExpression | undefined;
  readonly found: ResolvedFunction<AggregateFunction>;
}

function resolvedAggregate(name: string, call: Call, inside: Environment): Resolved {
  const wanted = aggregateNamed(name);
  if (wanted === 'percentile_cont' || wanted === 'percentile_disc') {
    return percentileOf(wanted, call, inside);
  }
  if (call.modifiers?.isWithinGroup === true) {
    const instead = 'write ORDER BY behind its arguments';
    const message = `The function \`${name}\` takes no WITHIN GROUP: ${instead}`;
    throw refuse(message, call.span, inside);
  }
  if (wanted === 'string_agg') return stringAggregateOf(call, inside);
  if (wanted === 'array_agg') return arrayAggregateOf(call, inside);
  // The order of rows changes none of the others.
  for (const { expression } of call.modifiers?.orderBy ?? []) typeAlone(expression, inside);
  const argument = typeAggregateArgument(name, call, inside);
  const found = findAggregate(name, argument?.type, call.isDistinct);
  if (found === undefined) throw noAggregate(name, argument, call, inside);
  const parameter = found.function.argument;
  if (argument === undefined || parameter === undefined) return { argument, found };
  return { argument: converted(argument, parameter, inside), found };
}

function noAggregate(
  name: string,
  argument: TypedExpression | undefined,
  { span }: Call,
  environment: Environment,
): Error {
  const { typespace } = environment.statement;
  const type = argument === undefined ? '*' : shownType(argument.type, typespace);
  return refuse(`The function \`${name}\` does not accept (${type})`, span, environment);
}

function typeAggregateArgument(
  name: string,
  call: Call,
  inside: Environment,
): TypedExpression | undefined {
  const [argument, second] = call.arguments;
  if (call.isOfRows) {
    if (name === 'count' && !call.isDistinct) return undefined;
    throw refuse(`Only COUNT accepts *, and only without DISTINCT`, call.span, inside);
  }
  if (argument === undefined || second !== undefined) {
    throw refuse(`The function \`${name}\` expects one argument`, call.span, inside);
  }
  return unwrapped(typeAlone(argument, inside), inside);
}

/** `string_agg(text, separator [ORDER BY …])` */
function stringAggregateOf(call: Call, inside: Environment): Resolved {
  const [written, separator, third] = call.arguments;
  if (written === undefined || separator === undefined || third !== undefined) {
    const message = 'The function `string_agg` expects two arguments: a text and a separator';
    throw refuse(message, call.span, inside);
  }
  const text = (expression: Expression): TypedExpression => {
    if (isOpen(expression)) return typeOpen(expression, stringType, inside);
    const typed = unwrapped(typeAlone(expression, inside), inside);
    if (typed.type.kind === 'string') return typed;
    throw noAggregate('string_agg', typed, call, inside);
  };
  const orderBy = call.modifiers?.orderBy ?? [];
  const first = [text(written), text(separator)];
  const keys = orderBy.map((item) => orderedValue(item, inside));
  if (call.isDistinct) requireAmong(keys, first, orderBy, inside);
  const parts = [...first, ...keys];
  const made = stringAggregate(partTypes(parts), orderBy.map(keptOrder));
  return {
    argument: packed(parts),
    found: { function: made, result: resultOfKeeping('string_agg', stringType) },
  };
}

/** `array_agg(value [ORDER BY …])`; what can be null is an Option among the elements. */
function arrayAggregateOf(call: Call, inside: Environment): Resolved {
  const value = typeAggregateArgument('array_agg', call, inside);
  if (value === undefined || hasRefs(value.type))
    throw noAggregate('array_agg', value, call, inside);
  const orderBy = call.modifiers?.orderBy ?? [];
  const keys = orderBy.map((item) => orderedValue(item, inside));
  if (call.isDistinct) requireAmong(keys, [value], orderBy, inside);
  const type = value.isNullable ? optionType(value.type) : value.type;
  const element: TypedExpression = value.isNullable
    ? { kind: 'convert', operand: value, type, isNullable: false }
    : value;
  const parts = [element, ...keys];
  const made = arrayAggregate(partTypes(parts), orderBy.map(keptOrder));
  return {
    argument: packed(parts),
    found: { function: made, result: resultOfKeeping('array_agg', type) },
  };
}

/** With DISTINCT a text would have several places otherwise. */
function requireAmong(
  keys: readonly TypedExpression[],
  values: readonly TypedExpression[],
  orderBy: readonly OrderItem[],
  environment: Environment,
): void {
  const { structures } = environment.statement;
  const known = new Set(values.map((value) => structures.numberOf(value)));
  for (const [at, key] of keys.entries()) {
    if (known.has(structures.numberOf(key))) continue;
    const message = 'With DISTINCT, an aggregate can be ordered only by its arguments';
    throw refuse(message, orderBy[at]?.span ?? { from: 0, to: 0 }, environment);
  }
}

/** `percentile_cont(fraction) WITHIN GROUP (ORDER BY value)` */
function percentileOf(
  name: Extract<AggregateName, `percentile_${string}`>,
  call: Call,
  inside: Environment,
): Resolved {
  const [fraction, second] = call.arguments;
  const [item, other] = call.modifiers?.orderBy ?? [];
  const isComplete = fraction !== undefined && item !== undefined && other === undefined;
  if (!isComplete || second !== undefined || call.modifiers?.isWithinGroup !== true) {
    const message = `Write \`${name}\` as ${name}(0.5) WITHIN GROUP (ORDER BY value)`;
    throw refuse(message, call.span, inside);
  }
  if (call.isDistinct || readsRows(fraction)) {
    const message = `The fraction of \`${name}\` must be the same for all rows`;
    throw refuse(message, fraction.span, inside);
  }
  const value = orderedValue(item, inside);
  const isNumber = isNumericType(value.type);
  if (name === 'percentile_cont' && !isNumber) throw noAggregate(name, value, call, inside);
  const type = name === 'percentile_cont' ? scalarTypes.f64 : value.type;
  const given = isOpen(fraction)
    ? typeOpen(fraction, scalarTypes.f64, inside)
    : converted(unwrapped(typeAlone(fraction, inside), inside), scalarTypes.f64, inside);
  const made = percentileAggregate(name, type, keptOrder(item));
  const argument = packed([converted(value, type, inside), given], percentileParts(type));
  return { argument, found: { function: made, result: resultOfKeeping(name, type) } };
}

function orderedValue({ expression, span }: OrderItem, inside: Environment): TypedExpression {
  const typed = unwrapped(typeAlone(expression, inside), inside);
  if (!hasRefs(typed.type)) return typed;
  const type = shownType(typed.type, inside.statement.typespace);
  throw refuse(`Values of the type ${type} have no order`, span, inside);
}

function keptOrder({ isDescending, nulls }: OrderItem): KeptOrder {
  return { isDescending, isNullsFirst: nulls === undefined ? isDescending : nulls === 'first' };
}

/** The first of `parts` is never null: a row in which it is null is not aggregated. */
function partTypes(parts: readonly TypedExpression[]): readonly ValueType[] {
  return parts.map(({ type, isNullable }, at) => ({ type, isNullable: at > 0 && isNullable }));
}

export function packed(
  values: readonly TypedExpression[],
  parts: readonly ValueType[] = partTypes(values),
): TypedExpression {
  const pack = packerOf(parts);
  const type: AlgebraicType = packedType(parts);
  return {
    kind: 'call',
    function: {
      name: 'packed',
      parameters: parts.map((part) => part.type),
      isStrict: false,
      isNullableFor: ([first]) => first === true,
      canRaise: false,
      evaluate: (given) => ((given[0] ?? null) === null ? null : pack(given)),
    },
    arguments: values,
    type,
    isNullable: values[0]?.isNullable === true,
  };
}

/** An aggregate that is written twice is computed once. */
function known(
  aggregate: TypedAggregate,
  aggregates: Aggregates,
  { statement: { structures } }: Environment,
): TypedExpression | undefined {
  const number = structures.numberOf(aggregate);
  for (const [node, other] of aggregates) {
    if (structures.numberOf(other) === number) return node;
  }
  return undefined;
}

function added(aggregate: TypedAggregate, aggregates: Aggregates): TypedExpression {
  const { type, isNullable } = aggregate;
  const node: TypedExpression = { kind: 'value', value: aggregates.size, type, isNullable };
  aggregates.set(node, aggregate);
  return node;
}

import { limits } from '../../limits.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { hasRefs } from '../functions/canonical.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import type { ValueType } from '../functions/value-type.ts';
import { isWindowName, type WindowFunction, type WindowName } from '../functions/windows.ts';
import type { Call, Expression, OrderItem, Window } from '../syntax/ast.ts';
import { type Environment, refuse, type WindowCall, type WindowCalls } from './context.ts';
import { unwrapped } from './field.ts';
import { shownType } from './shown-type.ts';
import { aggregateOf } from './type-aggregate.ts';
import { typeAlone, typeOpen } from './type-expression.ts';
import { frameOf } from './type-frame.ts';
import { isOpen } from './type-literal.ts';
import type { TypedExpression } from './typed.ts';
import { converted, typeTogether } from './unify.ts';
import { nameHint } from './visibility.ts';
import { aggregateNames } from './written.ts';

const { i64, f64 } = scalarTypes;

/** The node that stands for a call with OVER until its block is complete. */
export function typeWindowCall(call: Call, environment: Environment): TypedExpression {
  const { windows } = environment;
  if (windows === undefined) {
    const message = 'Window functions are allowed only in a SELECT list and in ORDER BY';
    throw refuse(message, call.span, environment);
  }
  if (windows.calls.size >= limits.columnCountMax) {
    const message = `A query has at most ${limits.columnCountMax} window functions`;
    throw refuse(message, call.span, environment);
  }
  const inside: Environment = { ...environment, windows: undefined };
  const made = functionOf(call, inside);
  const window = windowOf(call, windows, environment);
  const partition = window.partitionBy.map((key) => orderedBy(key, inside));
  const order = window.orderBy.map((item) => keyOf(item, inside));
  const frame = frameOf(window.frame, order, environment);
  const { type, isNullable } = made.result;
  // Numbers below zero belong to no group.
  const value = -1 - windows.calls.size;
  const node: TypedExpression = { kind: 'value', value, type, isNullable };
  const written: WindowCall = { ...made, partition, order, frame };
  windows.calls.set(node, written);
  return node;
}

function windowOf(
  { modifiers, span }: Call,
  { named }: WindowCalls,
  environment: Environment,
): Window {
  const over = modifiers?.over;
  if (typeof over === 'object') return over;
  const found = named.find(({ name }) => name === over);
  if (found !== undefined) return found.window;
  const hint = nameHint(
    over ?? '',
    named.map(({ name }) => name),
  );
  throw refuse(`no such window: \`${over}\``, span, environment, hint);
}

type Made = Pick<WindowCall, 'function' | 'arguments' | 'result'>;

function functionOf(call: Call, inside: Environment): Made {
  const name = call.name.toLowerCase();
  if (aggregateNames.has(name)) return aggregateCall(name, call, inside);
  if (!isWindowName(name)) {
    throw refuse(`\`${call.name}\` is no window function`, call.span, inside);
  }
  const { modifiers } = call;
  const isPlain = modifiers?.filter === undefined && modifiers?.orderBy.length === 0;
  if (!isPlain || call.isDistinct || call.isOfRows) {
    const message = `The window function \`${name}\` takes no DISTINCT, *, ORDER BY or FILTER`;
    throw refuse(message, call.span, inside);
  }
  return plainCall(name, call, inside);
}

function aggregateCall(name: string, call: Call, inside: Environment): Made {
  if (call.isDistinct || call.modifiers?.orderBy.length !== 0) {
    const message = `The aggregate \`${name}\` takes no DISTINCT and no ORDER BY before OVER`;
    throw refuse(message, call.span, inside);
  }
  const { function: aggregate, argument, type, isNullable } = aggregateOf(name, call, inside);
  return {
    function: { name: 'aggregate', aggregate },
    arguments: argument === undefined ? [] : [argument],
    result: { type, isNullable },
  };
}

/** How many arguments each takes, at least and at most. */
const argumentCounts: Readonly<Record<WindowName, readonly [number, number]>> = {
  row_number: [0, 0],
  rank: [0, 0],
  dense_rank: [0, 0],
  percent_rank: [0, 0],
  cume_dist: [0, 0],
  ntile: [1, 1],
  lag: [1, 3],
  lead: [1, 3],
  first_value: [1, 1],
  last_value: [1, 1],
  nth_value: [2, 2],
};

function plainCall(name: WindowName, call: Call, inside: Environment): Made {
  const written = call.arguments;
  const [least, most] = argumentCounts[name];
  if (written.length < least || written.length > most) {
    const count = least === most ? String(least) : `${least} to ${most}`;
    const message = `The window function \`${name}\` takes ${count} arguments`;
    throw refuse(message, call.span, inside);
  }
  const [first, second, third] = written;
  const made = (list: readonly TypedExpression[], result: ValueType): Made => {
    return { function: { name } satisfies WindowFunction, arguments: list, result };
  };
  if (first === undefined) {
    const isShare = name === 'percent_rank' || name === 'cume_dist';
    return made([], { type: isShare ? f64 : i64, isNullable: false });
  }
  if (name === 'ntile') {
    const count = countOf(first, inside);
    return made([count], { type: i64, isNullable: count.isNullable });
  }
  const list =
    third === undefined ? [typeAlone(first, inside)] : typeTogether([first, third], inside);
  const [value, instead] = list.map((one) => unwrapped(one, inside));
  if (value === undefined) throw refuse('A value is missing', call.span, inside);
  const offset = second === undefined ? [] : [countOf(second, inside)];
  const rest = instead === undefined ? [] : [converted(instead, value.type, inside)];
  return made([value, ...offset, ...rest], { type: value.type, isNullable: true });
}

/** A whole number; any kind of them is converted. */
function countOf(expression: Expression, inside: Environment): TypedExpression {
  if (isOpen(expression)) return typeOpen(expression, i64, inside);
  return converted(unwrapped(typeAlone(expression, inside), inside), i64, inside);
}

function keyOf(item: OrderItem, inside: Environment): WindowCall['order'][number] {
  const { isDescending, nulls, expression } = item;
  const isNullsFirst = nulls === undefined ? isDescending : nulls === 'first';
  return { expression: orderedBy(expression, inside), isDescending, isNullsFirst };
}

function orderedBy(expression: Expression, inside: Environment): TypedExpression {
  const typed = unwrapped(typeAlone(expression, inside), inside);
  if (!hasRefs(typed.type)) return typed;
  throw refuse(noOrder(typed.type, inside), expression.span, inside);
}

function noOrder(type: AlgebraicType, { statement }: Environment): string {
  return `Values of the type ${shownType(type, statement.typespace)} have no order`;
}

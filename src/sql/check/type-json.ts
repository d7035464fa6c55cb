import { arrayOf } from '../functions/arrays.ts';
import { hasRefs } from '../functions/canonical.ts';
import type { ScalarFunction } from '../functions/function.ts';
import {
  aggregatedJson,
  buildingJson,
  type JsonBuilder,
  jsonStep,
  makesJson,
} from '../functions/json.ts';
import { isIntegerType, scalarTypes } from '../functions/value-kind.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { type Environment, mismatch, refuse, stringType } from './context.ts';
import { unwrapped } from './field.ts';
import { shownType } from './shown-type.ts';
import { typeArrayAs } from './type-array.ts';
import { typeAlone, typeOpen } from './type-expression.ts';
import { isOpen } from './type-literal.ts';
import type { TypedExpression } from './typed.ts';
import { converted } from './unify.ts';

type JsonOperation = Extract<Expression, { readonly kind: 'json' }>;

/** `json -> 'key'`, `json ->> 0`, `json #>> '{key, 0}'` */
export function typeJsonOperation(
  { operator, left, right }: JsonOperation,
  environment: Environment,
): TypedExpression {
  const json = textOf(left, environment);
  const key = operator === '#>>' ? pathOf(right, environment) : stepOf(right, environment);
  return callOf(jsonStep(operator, key.type), [json, key], true);
}

/** `json_build_object(…)`, `json_build_array(…)` */
export function typeJsonBuilder(
  name: JsonBuilder,
  call: Call,
  environment: Environment,
): TypedExpression {
  if (name === 'json_build_object' && call.arguments.length % 2 === 1) {
    const message = 'json_build_object takes keys and values in turn: their number is even';
    throw refuse(message, call.span, environment);
  }
  const typed = call.arguments.map((argument) => {
    const isUntyped = argument.kind === 'null' || argument.kind === 'parameter';
    if (isUntyped) return typeOpen(argument, stringType, environment);
    return writable(argument, environment);
  });
  const list = typed.map((one) => ({ type: one.type, isJson: isJson(one) }));
  return callOf(buildingJson(name, list, environment.statement.typespace), typed, false);
}

/** `json_agg(value)` is an array of the values, and then their JSON. */
export function typeJsonAggregate(
  call: Call,
  array: TypedExpression,
  environment: Environment,
): TypedExpression {
  const inside: Environment = { ...environment, aggregates: 'json_agg', windows: undefined };
  const [argument] = call.arguments;
  const ofJson = argument !== undefined && isJson(typeAlone(argument, inside));
  return callOf(aggregatedJson(array.type, ofJson), [array], false);
}

/** Whether it is JSON by itself, not a text that might be. */
function isJson(typed: TypedExpression): boolean {
  switch (typed.kind) {
    case 'call':
      return makesJson(typed.function);
    case 'case':
      return typed.branches.every(({ then }) => isJson(then));
    case 'subquery': {
      const { body } = typed.query;
      const [item] = body.kind === 'block' ? body.items : [];
      return typed.mode === 'scalar' && item !== undefined && isJson(item);
    }
    default:
      return false;
  }
}

function writable(argument: Expression, environment: Environment): TypedExpression {
  const typed = unwrapped(typeAlone(argument, environment), environment);
  if (!hasRefs(typed.type)) return typed;
  const type = shownType(typed.type, environment.statement.typespace);
  throw refuse(`Values of the type ${type} cannot be JSON`, argument.span, environment);
}

function textOf(written: Expression, environment: Environment): TypedExpression {
  if (isOpen(written)) return typeOpen(written, stringType, environment);
  const typed = unwrapped(typeAlone(written, environment), environment);
  if (typed.type.kind === 'string') return typed;
  throw mismatch(typed.type, stringType, written.span, environment);
}

function stepOf(written: Expression, environment: Environment): TypedExpression {
  const { i64 } = scalarTypes;
  if (written.kind === 'number') return typeOpen(written, i64, environment);
  if (isOpen(written)) return typeOpen(written, stringType, environment);
  const typed = unwrapped(typeAlone(written, environment), environment);
  if (isIntegerType(typed.type)) return converted(typed, i64, environment);
  return textOf(written, environment);
}

/** A list of keys; a literal may write it as `'{a,0}'`, without commas in a key. */
function pathOf(written: Expression, environment: Environment): TypedExpression {
  const type = arrayOf(stringType);
  if (written.kind !== 'string') return typeArrayAs(written, type, environment);
  const { span } = written;
  const inside = /^\s*\{(.*)\}\s*$/s.exec(written.text)?.[1];
  if (inside === undefined) {
    throw refuse(`'${written.text}' is not a path; write '{a,b}'`, span, environment);
  }
  const steps = inside.trim() === '' ? [] : inside.split(',');
  const operands = steps.map((step): Expression => {
    return { kind: 'string', text: step.trim().replace(/^"(.*)"$/s, '$1'), span };
  });
  return typeArrayAs({ kind: 'array', form: 'literal', operands, span }, type, environment);
}

function callOf(
  made: ScalarFunction,
  operands: readonly TypedExpression[],
  canMiss: boolean,
): TypedExpression {
  const nullable = operands.map((operand) => operand.isNullable);
  const isNullable = made.isNullableFor?.(nullable) ?? (canMiss || nullable.includes(true));
  return { kind: 'call', function: made, arguments: operands, type: stringType, isNullable };
}

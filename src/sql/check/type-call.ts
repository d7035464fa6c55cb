import type { AlgebraicType } from '../../values/type.ts';
import type { FunctionFamily, ResolvedFunction, ScalarFunction } from '../functions/function.ts';
import { isJsonBuilder } from '../functions/json.ts';
import { findFunction } from '../functions/library.ts';
import { windowNames } from '../functions/windows.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { unwrapped } from './field.ts';
import { functionHint } from './foreign-hint.ts';
import { shownType } from './shown-type.ts';
import { isFullText, withLanguage } from './text-language.ts';
import { typeAggregate } from './type-aggregate.ts';
import { isArrayLiteral, typeArrayAs } from './type-array.ts';
import { infer, typeAlone, typeOpen } from './type-expression.ts';
import { typeJsonAggregate, typeJsonBuilder } from './type-json.ts';
import { fitsNumber, isOpen, ownType } from './type-literal.ts';
import { typeRank } from './type-rank.ts';
import { typeWindowCall } from './type-window.ts';
import type { TypedExpression } from './typed.ts';
import { converted } from './unify.ts';
import { aggregateNames } from './written.ts';

export function typeCall(call: Call, environment: Environment): TypedExpression {
  const name = call.name.toLowerCase();
  if (name === 'json_agg') {
    const array = typeCall({ ...call, name: 'array_agg' }, environment);
    return typeJsonAggregate(call, array, environment);
  }
  if (call.modifiers?.over !== undefined) {
    return typeWindowCall(call, environment);
  }
  if (aggregateNames.has(name)) return typeAggregate(name, call, environment);
  const family = findFunction(name);
  const isWindow = windowNames.has(name) && call.arguments.length === 0;
  if (family === undefined || isWindow) throw noFunction(call, environment);
  if (call.isDistinct || call.isOfRows) {
    const what = call.isDistinct ? 'DISTINCT' : '*';
    throw refuse(`Only aggregate functions accept ${what}`, call.span, environment);
  }
  if (call.modifiers !== undefined) {
    const message = `\`${name}\` is no aggregate: it takes no ORDER BY, FILTER or OVER`;
    throw refuse(message, call.span, environment);
  }
  const whole = isFullText(name) ? withLanguage(call, environment) : call;
  if (name === 'rank') return typeRank(whole, environment);
  if (isJsonBuilder(name)) return typeJsonBuilder(name, call, environment);
  return typeScalarCall(family, whole, environment);
}

function noFunction(call: Call, environment: Environment): Error {
  if (windowNames.has(call.name.toLowerCase())) {
    const message = `\`${call.name}\` is a window function: write OVER (…) behind it`;
    return refuse(message, call.span, environment);
  }
  const message = `no such function: \`${call.name}\``;
  return refuse(message, call.span, environment, functionHint(call.name));
}

function typeScalarCall(
  family: FunctionFamily,
  call: Call,
  environment: Environment,
): TypedExpression {
  const written = call.arguments;
  const wrapped = written.map((argument) =>
    takesType(argument, family) ? undefined : infer(argument, environment),
  );
  const plain = wrapped.map((argument) => argument && unwrapped(argument, environment));
  const found =
    resolve(family, written, plain) ??
    // Functions about Options themselves take the arguments unchanged.
    resolve(family, written, wrapped);
  if (found === undefined) throw noOverload(family, call, wrapped, environment);
  const { resolved, inferred } = found;
  const { function: scalar, result } = resolved;
  const typed = written.map((argument, at) => {
    const parameter = scalar.parameters[at] as AlgebraicType;
    const one = inferred[at];
    if (one !== undefined) return converted(one, parameter, environment);
    return typeArgument(argument, parameter, environment);
  });
  const nullable = typed.map((argument) => argument.isNullable);
  const isNullable =
    scalar.isNullableFor?.(nullable) ??
    (result.isNullable || (scalar.isStrict && nullable.includes(true)));
  return { kind: 'call', function: scalar, arguments: typed, type: result.type, isNullable };
}

/** Whether an argument has the type of its parameter, whatever it is. */
function takesType(argument: Expression, { areArraysOpen = false }: FunctionFamily): boolean {
  return isOpen(argument) || (areArraysOpen && isArrayLiteral(argument));
}

function typeArgument(
  argument: Expression,
  parameter: AlgebraicType,
  environment: Environment,
): TypedExpression {
  const isArray = isArrayLiteral(argument) || (parameter.kind === 'array' && isOpen(argument));
  if (isArray) return typeArrayAs(argument, parameter, environment);
  return isOpen(argument)
    ? typeOpen(argument, parameter, environment)
    : typeAlone(argument, environment);
}

interface Found {
  readonly resolved: ResolvedFunction<ScalarFunction>;
  readonly inferred: readonly (TypedExpression | undefined)[];
}

/**
 * Literals follow the arguments that have types; if they do not fit there, or no argument has a
 * type, they keep their own.
 */
function resolve(
  family: FunctionFamily,
  written: readonly Expression[],
  inferred: readonly (TypedExpression | undefined)[],
): Found | undefined {
  const types = inferred.map((argument) => argument?.type);
  const ownTypes = types.map((type, at) => type ?? literalTypeOf(written[at] as Expression));
  const choices = types.some((type) => type !== undefined) ? [types, ownTypes] : [ownTypes, types];
  for (const choice of choices) {
    const resolved = family.resolve(choice);
    if (resolved === undefined) continue;
    const { parameters } = resolved.function;
    const isFitting = written.every(
      (argument, at) =>
        inferred[at] !== undefined || fitsNumber(argument, parameters[at] as AlgebraicType),
    );
    if (isFitting) return { resolved, inferred };
  }
  return undefined;
}

function literalTypeOf(expression: Expression): AlgebraicType | undefined {
  switch (expression.kind) {
    case 'string':
    case 'number':
    case 'hex':
      return ownType(expression);
    default:
      return undefined;
  }
}

function noOverload(
  family: FunctionFamily,
  call: Call,
  inferred: readonly (TypedExpression | undefined)[],
  environment: Environment,
): Error {
  const types = call.arguments.map((argument, at) => {
    const type = inferred[at]?.type;
    return type === undefined
      ? environment.source.text(argument.span)
      : shownType(type, environment.statement.typespace);
  });
  const message =
    `The function \`${family.name}\` does not accept (${types.join(', ')}). ` +
    `It is: ${family.signatures.join('; ')}`;
  return refuse(message, call.span, environment);
}

import type { NamedType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { Span } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { shownType } from './shown-type.ts';
import type { TypedExpression } from './typed.ts';
import { nameHint } from './visibility.ts';

/** One element of a product, or the payload of a sum's variant: null for the other variants. */
export function fieldOf(
  operand: TypedExpression,
  name: string,
  span: Span,
  environment: Environment,
): TypedExpression {
  const { typespace } = environment.statement;
  const type = resolveType(operand.type, typespace);
  const { isNullable } = operand;
  if (type.kind === 'product') {
    const element = type.elements.findIndex((candidate, at) => isNamed(candidate, at, name));
    const found = type.elements[element];
    if (found === undefined) throw noField(operand, name, type.elements, span, environment);
    return {
      kind: 'field',
      operand,
      element,
      type: resolveType(found.type, typespace),
      isNullable,
    };
  }
  if (type.kind === 'sum') {
    const tag = type.variants.findIndex((candidate, at) => isNamed(candidate, at, name));
    const found = type.variants[tag];
    if (found !== undefined) {
      const inner = resolveType(found.type, typespace);
      return { kind: 'variant', operand, tag, type: inner, isNullable: true };
    }
    const carried = unwrapped(operand, environment);
    if (carried !== operand) return fieldOf(carried, name, span, environment);
    throw noField(operand, name, type.variants, span, environment);
  }
  throw noField(operand, name, [], span, environment);
}

/** The value inside an Option, which may be null; every other type stays as it is. */
export function unwrapped(operand: TypedExpression, { statement }: Environment): TypedExpression {
  const inner = optionInnerType(operand.type, statement.typespace);
  if (inner === undefined) return operand;
  const type = resolveType(inner, statement.typespace);
  return { kind: 'variant', operand, tag: 0, type, isNullable: true };
}

/** An Option that may itself be absent, as what it carries: both are NULL. */
export function withOneNull(
  expression: TypedExpression,
  environment: Environment,
): TypedExpression {
  return expression.isNullable ? unwrapped(expression, environment) : expression;
}

/** An unnamed element goes by its position, as messages show it: `pair."0"`. */
function isNamed(candidate: NamedType, at: number, name: string): boolean {
  return (candidate.name ?? String(at)) === name;
}

function noField(
  operand: TypedExpression,
  name: string,
  fields: readonly NamedType[],
  span: Span,
  environment: Environment,
): Error {
  const typeName = shownType(operand.type, environment.statement.typespace);
  const isText = unwrapped(operand, environment).type.kind === 'string';
  const names = fields.flatMap((field) => field.name ?? []);
  const message = `The type \`${typeName}\` has no field \`${name}\``;
  const hint = isText ? `If the text is JSON, write text ->> '${name}'` : nameHint(name, names);
  return refuse(message, span, environment, hint);
}

import type { AlgebraicType } from '../../values/type.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { Expression } from '../syntax/ast.ts';
import type { Environment, StatementContext } from './context.ts';
import { unwrapped } from './field.ts';
import { typeAs, unresolvedParameter } from './type-expression.ts';
import type { TypedBlock, TypedExpression, TypedQuery } from './typed.ts';
import { converted } from './unify.ts';

/** Converts one item to a value of another type. */
export type Coercion = (item: TypedExpression, column: number) => TypedExpression;

/**
 * Returns the query with columns of the given types. Items with an open type are read again as that
 * type; all others must have it already, or be numbers.
 */
export function coerceQuery(
  query: TypedQuery,
  types: readonly AlgebraicType[],
  environment: Environment,
): TypedQuery {
  return mapItems(query, (item, column) => {
    const type = types[column] as AlgebraicType;
    const open = environment.statement.openItems.get(item);
    if (open === undefined) return coerced(item, type, environment);
    const typed = typeAs(open.expression, type, open.environment);
    environment.statement.openItems.set(typed, open);
    return typed;
  });
}

/**
 * Rewrites the items of all blocks that make the rows of a query. What stays unchanged stays the
 * same object, so that what is known of it need not be computed again.
 */
export function mapItems(query: TypedQuery, coercion: Coercion): TypedQuery {
  const { body } = query;
  if (body.kind === 'block') {
    const items = body.items.map(coercion);
    if (items.every((item, at) => item === body.items[at])) return query;
    const columns = query.columns.map(({ name }, at) => columnOf(name, items, at));
    return { ...query, body: { ...body, items }, columns };
  }
  // The lists of others are those of the blocks around them.
  if (body.kind !== 'setOperation') return query;
  const left = mapItems(body.left, coercion);
  const right = mapItems(body.right, coercion);
  if (left === body.left && right === body.right) return query;
  const columns = left.columns.map(({ name, type, isNullable }, at) => {
    const isOtherNullable = right.columns[at]?.isNullable === true;
    return { name, type, isNullable: isNullable || isOtherNullable };
  });
  return { ...query, body: { ...body, left, right }, columns };
}

function columnOf(name: string, items: TypedBlock['items'], at: number) {
  const { type, isNullable } = items[at] as TypedExpression;
  return { name, type, isNullable };
}

function coerced(
  item: TypedExpression,
  type: AlgebraicType,
  environment: Environment,
): TypedExpression {
  const isOption = optionInnerType(type, environment.statement.typespace) !== undefined;
  return converted(isOption ? item : unwrapped(item, environment), type, environment);
}

/** The items written in a column if all of them have an open type; else `undefined`. */
export function openItemsOf(
  { body }: TypedQuery,
  column: number,
  statement: StatementContext,
): readonly Expression[] | undefined {
  if (body.kind === 'block') {
    const open = statement.openItems.get(body.items[column] as TypedExpression);
    return open && [open.expression];
  }
  if (body.kind !== 'setOperation') return undefined;
  const left = openItemsOf(body.left, column, statement);
  const right = openItemsOf(body.right, column, statement);
  return left && right && [...left, ...right];
}

/** Refuses parameters in the list whose type nothing decides; literals have one of their own. */
export function requireSettled(query: TypedQuery, environment: Environment): TypedQuery {
  mapItems(query, (item) => {
    const open = environment.statement.openItems.get(item);
    if (open !== undefined) requireResolved(item, open.expression, open.environment);
    return item;
  });
  return query;
}

/** Refuses a list item that is a parameter without a type. */
export function requireResolved(
  item: TypedExpression,
  { span }: Expression,
  environment: Environment,
): void {
  if (item.kind === 'parameter' && item.parameter < 0) throw unresolvedParameter(span, environment);
}

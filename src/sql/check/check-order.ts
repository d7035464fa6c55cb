import type { Expression, OrderItem } from '../syntax/ast.ts';
import { itemAt } from './check-grouping.ts';
import type { TypedItem } from './check-select.ts';
import { requireResolved } from './coerce-query.ts';
import { type Environment, refuse } from './context.ts';
import { unwrapped } from './field.ts';
import { typeAlone } from './type-expression.ts';
import type { OrderKey, OutputColumn, TypedExpression } from './typed.ts';
import { nameHint } from './visibility.ts';

export interface OrderedList {
  readonly items: readonly TypedItem[];
  readonly isDistinct: boolean;
}

/**
 * ORDER BY of one SELECT: an item by its position or name first, else any expression. After
 * DISTINCT only the items of the list can be ordered by.
 */
export function checkOrder(
  orderBy: readonly OrderItem[],
  { items, isDistinct }: OrderedList,
  environment: Environment,
): readonly OrderKey[] {
  const { structures } = environment.statement;
  return orderBy.map((order) => {
    const { expression } = order;
    const typed =
      itemAt(expression, items, 'ORDER BY', environment)?.expression ??
      itemNamed(expression, environment) ??
      typeAlone(expression, environment);
    requireResolved(typed, expression, environment);
    if (!isDistinct) {
      const key = { kind: 'expression', expression: unwrapped(typed, environment) } as const;
      return orderKey(key, order);
    }
    const number = structures.numberOf(typed);
    const column = items.findIndex((item) => structures.numberOf(item.expression) === number);
    if (column !== -1) return orderKey({ kind: 'output', column }, order);
    const message = 'With SELECT DISTINCT, ORDER BY can use only what is in the SELECT list';
    throw refuse(message, expression.span, environment);
  });
}

/** ORDER BY after a set operation: columns of the answer, by position or name. */
export function checkOutputOrder(
  orderBy: readonly OrderItem[],
  columns: readonly OutputColumn[],
  environment: Environment,
): readonly OrderKey[] {
  return orderBy.map((order) => {
    const { expression } = order;
    const column = columns.indexOf(outputColumn(expression, columns, environment));
    return orderKey({ kind: 'output', column }, order);
  });
}

function outputColumn(
  expression: Expression,
  columns: readonly OutputColumn[],
  environment: Environment,
): OutputColumn {
  const column = itemAt(expression, columns, 'ORDER BY', environment);
  if (column !== undefined) return column;
  if (expression.kind !== 'column' || expression.parts.length > 1) {
    const message = 'After a set operation, ORDER BY accepts only names and positions of columns';
    throw refuse(message, expression.span, environment);
  }
  const name = expression.parts.join('.');
  const named = columns.find((candidate) => candidate.name === name);
  if (named !== undefined) return named;
  const hint = nameHint(
    name,
    columns.map((candidate) => candidate.name),
  );
  throw refuse(`\`${name}\` is not in scope`, expression.span, environment, hint);
}

function itemNamed(expression: Expression, { aliases }: Environment): TypedExpression | undefined {
  if (expression.kind !== 'column' || expression.parts.length > 1) return undefined;
  return aliases?.get(expression.parts[0] ?? '');
}

/** By default null is greater than every value. */
function orderKey(key: OrderKey['key'], { isDescending, nulls }: OrderItem): OrderKey {
  const isNullsFirst = nulls === undefined ? isDescending : nulls === 'first';
  return { key, isDescending, isNullsFirst };
}

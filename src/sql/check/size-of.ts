import { operandsOf, visitQuery } from '../plan/expression.ts';
import type { TypedExpression } from './typed.ts';

/** How many expressions one stands for, counting shared ones at each place. */
export function sizeOf(
  expression: TypedExpression,
  sizes: WeakMap<TypedExpression, number>,
): number {
  const known = sizes.get(expression);
  if (known !== undefined) return known;
  let size = 1;
  for (const operand of operandsOf(expression)) size += sizeOf(operand, sizes);
  if (expression.kind === 'subquery') visitQuery(expression.query, () => size++);
  sizes.set(expression, size);
  return size;
}

/** What can be said about a typed expression without running it. */
import { unreachable } from '../../assert.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { TypedBlock, TypedExpression, TypedQuery } from '../check/typed.ts';
import { arithmeticCanRaise, negationCanRaise } from '../functions/arithmetic.ts';
import { hasRefs } from '../functions/canonical.ts';
import { conversionOf } from '../functions/convert.ts';
import { decodeQueryValue } from './value-codec.ts';

/**
 * Whether evaluating the expression can throw `SqlFailure` for some rows: overflow, division by
 * zero, a conversion without result, a subquery with two rows.
 */
export function canRaise(expression: TypedExpression): boolean {
  return raisesItself(expression) || childrenOf(expression).some(canRaise);
}

/** The slots that the expression reads; of its subqueries only those of outer relations. */
export function slotsOf(expression: TypedExpression): ReadonlySet<number> {
  const slots = new Set<number>();
  visit(expression, (part) => {
    if (part.kind === 'column') slots.add(part.slot);
    if (part.kind === 'subquery') for (const slot of part.query.outerSlots) slots.add(slot);
  });
  return slots;
}

/** Whether the expression reads what grouping computed, or the rows of slots. */
export function dependsOnRows(expression: TypedExpression): boolean {
  if (slotsOf(expression).size > 0) return true;
  let readsValues = false;
  visit(expression, (part) => {
    readsValues ||= part.kind === 'value';
  });
  return readsValues;
}

export function hasSubquery(expression: TypedExpression): boolean {
  let isFound = false;
  visit(expression, (part) => {
    isFound ||= part.kind === 'subquery';
  });
  return isFound;
}

/** Calls `look` for the expression and all inside of it, but not inside of subqueries. */
export function visit(expression: TypedExpression, look: (part: TypedExpression) => void): void {
  look(expression);
  for (const child of childrenOf(expression)) visit(child, look);
}

/** The expressions directly inside; of a subquery only its operand. */
export function childrenOf(expression: TypedExpression): readonly TypedExpression[] {
  switch (expression.kind) {
    case 'column':
    case 'constant':
    case 'parameter':
    case 'value':
      return [];
    case 'comparison':
    case 'isDistinct':
    case 'arithmetic':
      return [expression.left, expression.right];
    case 'and':
    case 'or':
      return expression.terms;
    case 'not':
    case 'isNull':
    case 'negate':
    case 'convert':
    case 'field':
    case 'variant':
      return [expression.operand];
    case 'inList':
      return [expression.operand, ...expression.values];
    case 'like':
      return present([expression.operand, expression.pattern, expression.escape]);
    case 'case': {
      const branches = expression.branches.flatMap(({ when, then }) => [when, then]);
      return present([...branches, expression.otherwise]);
    }
    case 'call':
      return expression.arguments;
    case 'subquery':
      return present([expression.operand]);
    default:
      return unreachable(expression);
  }
}

function present(parts: readonly (TypedExpression | undefined)[]): readonly TypedExpression[] {
  return parts.filter((part) => part !== undefined);
}

function raisesItself(expression: TypedExpression): boolean {
  switch (expression.kind) {
    case 'arithmetic':
      return arithmeticCanRaise(expression.operator, expression.right.type);
    case 'negate':
      return negationCanRaise(expression.type);
    case 'convert':
      return convertCanRaise(expression.operand.type, expression.type);
    case 'call':
      return expression.function.canRaise;
    case 'like':
      return likeCanRaise(expression);
    case 'subquery':
      return expression.mode === 'scalar' || queryCanRaise(expression.query);
    default:
      return false;
  }
}

/** A pattern that is not known yet may end in its escape; `_` can take too long. */
function likeCanRaise({ pattern }: Extract<TypedExpression, { kind: 'like' }>): boolean {
  if (pattern.kind !== 'constant') return true;
  const text = decodeQueryValue(pattern.type, pattern.bytes);
  return typeof text === 'string' && text.includes('_');
}

/** Recursive types become a text or an Option, which always works. */
function convertCanRaise(from: AlgebraicType, to: AlgebraicType): boolean {
  if (hasRefs(from) || hasRefs(to)) return false;
  return conversionOf(from, to)?.canRaise === true;
}

/** Errors inside a correlated subquery say something about the outer row, too. */
function queryCanRaise({ body, order, limit, offset }: TypedQuery): boolean {
  if (limit !== undefined || offset !== undefined) return true;
  const raisesInOrder = order.some(
    ({ key }) => key.kind === 'expression' && canRaise(key.expression),
  );
  if (raisesInOrder) return true;
  if (body.kind === 'setOperation') return queryCanRaise(body.left) || queryCanRaise(body.right);
  return blockCanRaise(body);
}

function blockCanRaise(block: TypedBlock): boolean {
  // Sums overflow.
  if (block.grouping?.aggregates.some(({ function: { name } }) => name === 'sum')) return true;
  const sources = block.relations.some(({ source, security }) => {
    if (security !== undefined && canRaise(security)) return true;
    return source.kind === 'query' && queryCanRaise(source.query);
  });
  return sources || expressionsOf(block).some(canRaise);
}

function expressionsOf(block: TypedBlock): readonly TypedExpression[] {
  const { joins, where, grouping, having, items } = block;
  const inGroups = grouping?.aggregates.map(({ argument }) => argument) ?? [];
  const conditions = joins.map(({ condition }) => condition);
  return present([...conditions, where, ...(grouping?.keys ?? []), ...inGroups, having, ...items]);
}

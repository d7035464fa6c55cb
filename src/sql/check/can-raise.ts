import type { AlgebraicType } from '../../values/type.ts';
import { arithmeticCanRaise, negationCanRaise } from '../functions/arithmetic.ts';
import { hasRefs } from '../functions/canonical.ts';
import { conversionOf } from '../functions/convert.ts';
import { decodeQueryValue } from '../functions/value-codec.ts';
import type { TypedAggregate, TypedBlock, TypedExpression, TypedQuery } from './typed.ts';
import { operandsOf } from './typed-expression.ts';

const known = new WeakMap<TypedExpression, boolean>();

/**
 * Whether evaluating the expression can throw `SqlFailure` for some rows: overflow, division by
 * zero, a conversion without a result, a subquery with two rows.
 */
export function canRaise(expression: TypedExpression): boolean {
  const before = known.get(expression);
  if (before !== undefined) return before;
  const raises = raisesItself(expression) || operandsOf(expression).some(canRaise);
  known.set(expression, raises);
  return raises;
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
      return callCanRaise(expression);
    case 'like':
      return likeCanRaise(expression);
    case 'subquery':
      return expression.mode === 'scalar' || queryCanRaise(expression.query);
    default:
      return false;
  }
}

function callCanRaise(call: Extract<TypedExpression, { kind: 'call' }>): boolean {
  const { canRaise: can, canRaiseWith } = call.function;
  if (!can || canRaiseWith === undefined) return can;
  return canRaiseWith(
    call.arguments.map((argument) =>
      argument.kind === 'constant' ? decodeQueryValue(argument.type, argument.bytes) : undefined,
    ),
  );
}

/** A pattern that is not yet known may end in its escape character; `_` can take too long. */
function likeCanRaise({ pattern }: Extract<TypedExpression, { kind: 'like' }>): boolean {
  if (pattern.kind !== 'constant') return true;
  const text = decodeQueryValue(pattern.type, pattern.bytes);
  return typeof text === 'string' && text.includes('_');
}

/** Recursive types become a text, which can be too long, or an Option, which always succeeds. */
function convertCanRaise(from: AlgebraicType, to: AlgebraicType): boolean {
  if (hasRefs(from) || hasRefs(to)) return to.kind === 'string';
  return conversionOf(from, to)?.canRaise === true;
}

/** Errors inside a correlated subquery also reveal something about the outer row. */
function queryCanRaise({ body, order, limit, offset }: TypedQuery): boolean {
  if (limit !== undefined || offset !== undefined) return true;
  const raisesInOrder = order.some(
    ({ key }) => key.kind === 'expression' && canRaise(key.expression),
  );
  if (raisesInOrder) return true;
  if (body.kind === 'setOperation') return queryCanRaise(body.left) || queryCanRaise(body.right);
  if (body.kind === 'elements') return canRaise(body.array);
  // Steps may be too many.
  return body.kind === 'block' ? blockCanRaise(body) : true;
}

function blockCanRaise(block: TypedBlock): boolean {
  if (block.grouping?.aggregates.some(aggregateCanRaise)) return true;
  const sources = block.relations.some(({ source, security }) => {
    if (security !== undefined && canRaise(security)) return true;
    return source.kind === 'query' && queryCanRaise(source.query);
  });
  return sources || expressionsOf(block).some(canRaise);
}

/** Sums can overflow, and a fraction can be out of range. */
export function aggregateCanRaise({ function: { name } }: TypedAggregate): boolean {
  return name === 'sum' || name === 'percentile_cont' || name === 'percentile_disc';
}

function expressionsOf(block: TypedBlock): readonly TypedExpression[] {
  const { joins, where, grouping, having, items } = block;
  const inGroups = grouping?.aggregates.map(({ argument }) => argument) ?? [];
  const conditions = joins.map(({ condition }) => condition);
  const all = [...conditions, where, ...(grouping?.keys ?? []), ...inGroups, having, ...items];
  return all.filter((expression) => expression !== undefined);
}

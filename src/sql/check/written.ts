import { unreachable } from '../../assert.ts';
import { aggregateNames } from '../functions/aggregate-names.ts';
import type {
  CallModifiers,
  ColumnReference,
  Expression,
  Query,
  StoredExpression,
  Window,
} from '../syntax/ast.ts';

/** Expressions as written, and their parts. */

/** The operands, from left to right, not including queries inside. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'column':
    case 'boolean':
    case 'string':
    case 'number':
    case 'hex':
    case 'null':
    case 'sender':
    case 'parameter':
    case 'typedLiteral':
    case 'exists':
    case 'subquery':
    case 'unsupported':
      return [];
    case 'comparison':
    case 'isDistinct':
    case 'arithmetic':
    case 'json':
      return [expression.left, expression.right];
    case 'and':
    case 'or':
      return expression.terms;
    case 'not':
    case 'negate':
    case 'isNull':
    case 'isTrue':
    case 'isFalse':
    case 'cast':
    case 'field':
      return [expression.operand];
    case 'in':
      return isList(expression.among)
        ? [expression.operand, ...expression.among]
        : [expression.operand];
    case 'between':
      return [expression.operand, expression.low, expression.high];
    case 'like': {
      const parts = [expression.operand, expression.pattern];
      return expression.escape === undefined ? parts : [...parts, expression.escape];
    }
    case 'case': {
      const { operand, branches, otherwise } = expression;
      const parts = branches.flatMap(({ when, then }) => [when, then]);
      if (operand !== undefined) parts.unshift(operand);
      if (otherwise !== undefined) parts.push(otherwise);
      return parts;
    }
    case 'row':
      return expression.values;
    case 'call':
      return expression.modifiers === undefined
        ? expression.arguments
        : [...expression.arguments, ...operandsOfModifiers(expression.modifiers)];
    case 'array':
      return expression.operands;
    default:
      return unreachable(expression);
  }
}

function operandsOfModifiers({ orderBy, filter, over }: CallModifiers): readonly Expression[] {
  const parts = orderBy.map(({ expression }) => expression);
  if (filter !== undefined) parts.push(filter);
  return typeof over === 'object' ? [...parts, ...operandsOfWindow(over)] : parts;
}

export function operandsOfWindow({ partitionBy, orderBy }: Window): readonly Expression[] {
  return [...partitionBy, ...orderBy.map(({ expression }) => expression)];
}

/** The query that the expression itself contains. */
export function queryOf(expression: Expression): Query | undefined {
  switch (expression.kind) {
    case 'exists':
    case 'subquery':
      return expression.query;
    case 'in':
      return isList(expression.among) ? undefined : expression.among;
    default:
      return undefined;
  }
}

/** Those of the values to store that are expressions. */
export function computedOf(values: readonly StoredExpression[]): readonly Expression[] {
  return values.filter((value) => value.kind !== 'default');
}

export function isList(among: readonly Expression[] | Query): among is readonly Expression[] {
  return Array.isArray(among);
}

/** The columns that an expression itself names, not those of queries inside. */
export function columnsIn(expression: Expression): readonly ColumnReference[] {
  if (expression.kind === 'column') return [expression];
  return operandsOf(expression).flatMap(columnsIn);
}

/** A query, or a name that needs rows to have a meaning. */
export function readsRows(expression: Expression): boolean {
  if (expression.kind === 'column' || queryOf(expression) !== undefined) return true;
  if (expression.kind === 'call' && aggregateNames.has(expression.name.toLowerCase())) return true;
  return operandsOf(expression).some(readsRows);
}

export function hasQuery(expression: Expression): boolean {
  return queryOf(expression) !== undefined || operandsOf(expression).some(hasQuery);
}

export function hasSender(expression: Expression): boolean {
  return expression.kind === 'sender' || operandsOf(expression).some(hasSender);
}

export { aggregateNames } from '../functions/aggregate-names.ts';

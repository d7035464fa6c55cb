import type { Expression, Select, Span } from '../syntax/ast.ts';
import type { TypedItem } from './check-select.ts';
import { requireResolved } from './coerce-query.ts';
import { type Aggregates, type Environment, refuse } from './context.ts';
import { withOneNull } from './field.ts';
import { typeAlone } from './type-expression.ts';
import type { OrderKey, TypedAggregate, TypedExpression, TypedGrouping } from './typed.ts';
import { mapExpression, visitExpression } from './typed-expression.ts';

export function isGrouped(
  { groupBy, having }: Pick<Select, 'groupBy' | 'having'>,
  aggregates: Aggregates,
): boolean {
  return groupBy.length > 0 || having !== undefined || aggregates.size > 0;
}

/** A key is an item by its position or name, or any expression without aggregates. */
export function checkGroupingKeys(
  groupBy: readonly Expression[],
  items: readonly TypedItem[],
  environment: Environment,
): readonly TypedExpression[] {
  const { aggregates } = environment;
  return groupBy.map((expression) => {
    const key =
      itemAt(expression, items, 'GROUP BY', environment)?.expression ??
      typeAlone(expression, environment);
    requireResolved(key, expression, environment);
    visitExpression(key, (inner) => {
      if (typeof aggregates === 'string' || !aggregates.has(inner)) return;
      throw refuse('Aggregate functions are not allowed in GROUP BY', expression.span, environment);
    });
    return withOneNull(key, environment);
  });
}

/** The item that an integer in GROUP BY or ORDER BY refers to, counted from 1. */
export function itemAt<Item>(
  expression: Expression,
  items: readonly Item[],
  clause: string,
  environment: Environment,
): Item | undefined {
  if (expression.kind !== 'number' || !/^-?\d+$/.test(expression.text)) return undefined;
  const item = items[Number(expression.text) - 1];
  if (item !== undefined) return item;
  const message = `${clause} ${expression.text} is not a position in the list of ${items.length}`;
  throw refuse(message, expression.span, environment);
}

export interface GroupedParts {
  readonly keys: readonly TypedExpression[];
  readonly aggregates: Aggregates;
  readonly items: readonly TypedItem[];
  readonly having: TypedExpression | undefined;
  readonly havingSpan: Span | undefined;
  readonly order: readonly OrderKey[];
  readonly span: Span;
}

/**
 * Adds to the keys the columns that one of them fixes: all columns of a table whose primary key is
 * a group key. A group has one value of each, so they make no more groups.
 */
function withDependents(
  { keys, items, having, order }: GroupedParts,
  { scope, statement }: Environment,
): readonly TypedExpression[] {
  const fixedSlots = new Set(
    scope.relations.flatMap(({ slot, primaryKey }) =>
      keys.some((key) => isColumn(key, slot, primaryKey)) ? [slot] : [],
    ),
  );
  if (fixedSlots.size === 0) return keys;
  const { structures } = statement;
  const known = new Set(keys.map((key) => structures.numberOf(key)));
  const all = [...keys];
  const grouped = [
    ...items.map(({ expression }) => expression),
    ...(having === undefined ? [] : [having]),
    ...order.flatMap(({ key }) => (key.kind === 'expression' ? [key.expression] : [])),
  ];
  for (const expression of grouped) {
    visitExpression(expression, (inner) => {
      if (inner.kind !== 'column' || !fixedSlots.has(inner.slot)) return;
      const number = structures.numberOf(inner);
      if (known.has(number)) return;
      known.add(number);
      all.push(inner);
    });
  }
  return all;
}

function isColumn(key: TypedExpression, slot: number, column: number | undefined): boolean {
  return key.kind === 'column' && key.slot === slot && key.column === column;
}

/** Replaces keys and aggregates by their values; a column that remains is an error. */
export function applyGrouping(parts: GroupedParts, environment: Environment) {
  const { aggregates, span } = parts;
  const keys = withDependents(parts, environment);
  const firstValue = environment.statement.newValues(keys.length + aggregates.size);
  const numbered = new Map([...aggregates.keys()].map((node, at) => [node, at]));
  const ownSlots = new Set(environment.scope.relations.map(({ slot }) => slot));
  const values = keys.map(({ type, isNullable }, at): TypedExpression => {
    return { kind: 'value', value: firstValue + at, type, isNullable };
  });
  const { structures } = environment.statement;
  const valuesByKey = new Map<number, TypedExpression>();
  keys.forEach((key, at) => {
    valuesByKey.set(structures.numberOf(key), values[at] as TypedExpression);
  });
  const group = (expression: TypedExpression, place: Span): TypedExpression =>
    mapExpression(expression, (inner) => {
      const aggregate = numbered.get(inner);
      if (aggregate !== undefined && inner.kind === 'value') {
        return { ...inner, value: firstValue + keys.length + aggregate };
      }
      const value = valuesByKey.get(structures.numberOf(inner));
      if (value !== undefined || inner.kind !== 'column' || !ownSlots.has(inner.slot)) return value;
      const message = `\`${inner.name}\` must be in GROUP BY or inside an aggregate function`;
      throw refuse(message, place, environment);
    });
  const grouping: TypedGrouping = {
    keys,
    aggregates: [...aggregates.values()] as readonly TypedAggregate[],
    firstValue,
  };
  return {
    grouping,
    items: parts.items.map((item) => group(item.expression, item.span)),
    having: parts.having && group(parts.having, parts.havingSpan ?? span),
    order: parts.order.map((order): OrderKey => {
      if (order.key.kind === 'output') return order;
      const expression = group(order.key.expression, span);
      return { ...order, key: { kind: 'expression', expression } };
    }),
  };
}

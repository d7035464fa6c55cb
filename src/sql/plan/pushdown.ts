import { present } from '../../assert.ts';
import { canRaise } from '../check/can-raise.ts';
import { conjunction } from '../check/conjuncts.ts';
import { sizeOfExpression } from '../check/size.ts';
import type { OutputColumn, TypedBlock, TypedExpression, TypedQuery } from '../check/typed.ts';
import { hasSubquery, mapExpression } from '../check/typed-expression.ts';

/**
 * Moves a condition on the answer, in columns of `slot`, into the query; returns `undefined` if
 * that would change the answer, or could reveal by an error what a barrier hides.
 */
export function pushInto(
  query: TypedQuery,
  term: TypedExpression,
  slot: number,
  isSecured: boolean,
): TypedQuery | undefined {
  const { body } = query;
  if (query.limit !== undefined || query.offset !== undefined || hasSubquery(term))
    return undefined;
  if (body.kind === 'setOperation') {
    const left = pushInto(body.left, term, slot, isSecured);
    const right = pushInto(body.right, term, slot, isSecured);
    if (left === undefined || right === undefined) return undefined;
    return { ...query, body: { ...body, left, right } };
  }
  if (body.kind !== 'block') return undefined;
  const { grouping } = body;
  if (body.relations.length === 0) return undefined;
  const items =
    grouping === undefined ? body.items : keyItems(body.items, grouping.keys, grouping.firstValue);
  let isPossible = true;
  const moved = mapExpression(term, (e) => {
    if (e.kind !== 'column' || e.slot !== slot) return undefined;
    const item = items[e.column];
    if (item === undefined) isPossible = false;
    return item ?? e;
  });
  // A condition that names a column twice would double in each query that it is moved into.
  if (sizeOfExpression(moved) > sizeOfExpression(term) + movedSizeMax) return undefined;
  if (!isPossible || (isSecured && canRaise(moved)) || hasSubquery(moved)) return undefined;
  const terms = body.where === undefined ? [moved] : [body.where, moved];
  return { ...query, body: { ...body, where: conjunction(terms) } };
}

const movedSizeMax = 64;

/** Replaces output columns that are group keys by their expressions before grouping. */
function keyItems(
  items: readonly TypedExpression[],
  keys: readonly TypedExpression[],
  firstValue: number,
): readonly (TypedExpression | undefined)[] {
  return items.map((item) => (item.kind === 'value' ? keys[item.value - firstValue] : undefined));
}

/** Puts null in place of output columns that are never read. */
export function pruneColumns(query: TypedQuery, used: ReadonlySet<number>): TypedQuery {
  const { body } = query;
  if (body.kind !== 'block' || body.isDistinct) return query;
  const kept = new Set(used);
  for (const { key } of query.order) if (key.kind === 'output') kept.add(key.column);
  if (body.items.every((item, at) => kept.has(at) || item.kind === 'constant')) return query;
  const columns = query.columns.map((column, at): OutputColumn => {
    return kept.has(at) ? column : { ...column, isNullable: true };
  });
  const pruned: TypedBlock = {
    ...body,
    items: body.items.map((item, at) => {
      if (kept.has(at)) return item;
      const { type } = present(columns[at], 'column of an item');
      return { kind: 'constant', type, isNullable: true, bytes: undefined };
    }),
  };
  return { ...query, body: pruned, columns };
}

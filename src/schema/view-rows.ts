import type { AlgebraicType } from '../values/type.ts';

/**
 * The rows of a view, derived from its return type: a row or nothing, rows, or a query (the product
 * `__query__`) for rows. `ref` is the row's type.
 */
export function viewRowOf(type: AlgebraicType): { ref: number; isQuery: boolean } | undefined {
  if (type.kind === 'array') return rowAt(type.element, false);
  if (type.kind === 'product') {
    const [query, ...others] = type.elements;
    const isQuery = query?.name === '__query__' && others.length === 0;
    return isQuery ? rowAt(query.type, true) : undefined;
  }
  if (type.kind !== 'sum') return undefined;
  const [some, none, ...others] = type.variants;
  const isOption = some?.name === 'some' && none?.name === 'none' && others.length === 0;
  const isEmpty = none?.type.kind === 'product' && none.type.elements.length === 0;
  return isOption && isEmpty ? rowAt(some.type, false) : undefined;
}

function rowAt(type: AlgebraicType, isQuery: boolean) {
  return type.kind === 'ref' ? { ref: type.ref, isQuery } : undefined;
}

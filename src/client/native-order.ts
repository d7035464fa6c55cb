import { nestingDepthMax } from '../shared-limits.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';

type Compare = (a: any, b: any) => number;

/** The database's order of values, for their representation in programs. */
export function nativeOrderOf(type: AlgebraicType, typespace: Typespace, depth = 0): Compare {
  // A recursive type cannot be an index key, so its order is never used.
  if (depth > nestingDepthMax) return () => 0;
  const inner = (part: AlgebraicType) => nativeOrderOf(part, typespace, depth + 1);
  const special = specialKindOf(type);
  switch (type.kind) {
    case 'ref':
      return inner(resolveType(type, typespace));
    case 'string':
      return compareTexts;
    case 'product': {
      const parts = type.elements.map((item) => ({
        key: item.name ?? '',
        order: inner(item.type),
      }));
      return (a, b) => firstDifference(parts, parts, ({ key, order }) => order(a[key], b[key]));
    }
    case 'sum': {
      if (special === 'option') {
        const order = inner(type.variants[0]?.type ?? type);
        return (a, b) => {
          const aIsNone = a === undefined || a === null;
          const bIsNone = b === undefined || b === null;
          return aIsNone || bIsNone ? Number(aIsNone) - Number(bIsNone) : order(a, b);
        };
      }
      const tags = type.variants.map(({ name }) => name);
      // Payload orders are built on demand: the type may contain itself.
      const orders: Compare[] = [];
      return (a, b) => {
        const tag = tags.indexOf(a.tag);
        const difference = tag - tags.indexOf(b.tag);
        if (difference !== 0) return difference;
        const order = orders[tag] ?? inner(type.variants[tag]?.type ?? type);
        orders[tag] = order;
        return order(a.value ?? {}, b.value ?? {});
      };
    }
    case 'array': {
      let order: Compare | undefined;
      return (a, b) => {
        order ??= inner(type.element);
        return firstDifference(a, b, order);
      };
    }
    default:
      return (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  }
}

/** Compares two lists: by the first elements that differ, else by length. */
function firstDifference<Item>(
  a: readonly Item[],
  b: readonly Item[],
  order: (a: Item, b: Item) => number,
): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = order(a[index] as Item, b[index] as Item);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Compares by code points: JavaScript's own order, by code units, differs for some characters. */
function compareTexts(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = (a.codePointAt(index) ?? 0) - (b.codePointAt(index) ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/**
 * Whether two values of a row are the same, down to the bits that JavaScript can tell apart.
 *
 * @example
 * ```ts
 * deepEqual({ at: new Timestamp(1n) }, { at: new Timestamp(1n) }); // true
 * ```
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return keys.every((key) => sameValue(left[key], right[key]));
}

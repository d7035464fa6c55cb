import type { AlgebraicType, ScalarKind, Typespace } from '../values/type.ts';

/** The refs that `type` mentions directly. */
export function refsIn(type: AlgebraicType): number[] {
  switch (type.kind) {
    case 'ref':
      return [type.ref];
    case 'array':
      return refsIn(type.element);
    case 'product':
      return type.elements.flatMap((element) => refsIn(element.type));
    case 'sum':
      return type.variants.flatMap((variant) => refsIn(variant.type));
    default:
      type.kind satisfies ScalarKind;
      return [];
  }
}

/** Recursive types by ref, each with all types that are on a cycle with it. */
export function recursiveRefs({ types }: Typespace): Map<number, ReadonlySet<number>> {
  const direct = types.map((type) => refsIn(type));
  const reached = direct.map((refs) => reachableFrom(refs, direct));
  const circles = new Map<number, ReadonlySet<number>>();
  reached.forEach((refs, start) => {
    if (!refs.has(start)) return;
    circles.set(start, new Set([...refs].filter((ref) => reached[ref]?.has(start))));
  });
  return circles;
}

function reachableFrom(
  start: readonly number[],
  direct: readonly (readonly number[])[],
): Set<number> {
  const reached = new Set<number>();
  const open = [...start];
  for (let ref = open.pop(); ref !== undefined; ref = open.pop()) {
    if (reached.has(ref)) continue;
    reached.add(ref);
    open.push(...(direct[ref] ?? []));
  }
  return reached;
}

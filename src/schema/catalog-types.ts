import type { AlgebraicType, NamedType, Typespace } from '../values/type.ts';
import { typesEqual } from '../values/typespace.ts';

/**
 * Inlines column types of a module's typespace for a catalog: refs are replaced by their targets,
 * except recursive types, which move into the catalog's own list. That list only grows, so a ref in
 * a table of an earlier catalog stays valid.
 */
export class CatalogTypes {
  readonly #types: AlgebraicType[];

  constructor(known: readonly AlgebraicType[]) {
    this.#types = [...known];
  }

  get types(): readonly AlgebraicType[] {
    return this.#types;
  }

  /** Returns a function that converts types of `typespace`; call it once per typespace. */
  importerOf(typespace: Typespace): (type: AlgebraicType) => AlgebraicType {
    const recursive = recursiveRefs(typespace);
    // Only complete types can be compared; those of this typespace are identified by their refs.
    const known = { types: [...this.#types] };
    const written = new Map<number, AlgebraicType>();
    const moved = new Map<number, number>();
    const waiting: { readonly from: number; readonly to: number }[] = [];
    const write = (type: AlgebraicType): AlgebraicType => {
      if (type.kind === 'product') return { kind: 'product', elements: writeAll(type.elements) };
      if (type.kind === 'sum') return { kind: 'sum', variants: writeAll(type.variants) };
      if (type.kind === 'array') return { kind: 'array', element: write(type.element) };
      return type.kind === 'ref' ? writeRef(type.ref) : type;
    };
    const writeAll = (parts: readonly NamedType[]) => {
      return parts.map(({ name, type }) => ({ name, type: write(type) }));
    };
    const writeRef = (ref: number): AlgebraicType => {
      if (recursive.has(ref)) return { kind: 'ref', ref: move(ref) };
      const result = written.get(ref) ?? write(typespace.types[ref] ?? { kind: 'ref', ref });
      written.set(ref, result);
      return result;
    };
    const move = (ref: number): number => {
      const found = moved.get(ref) ?? indexOfEqual(known, { ref, typespace });
      const to = found ?? this.#types.length;
      if (found === undefined) {
        // Reserves the place, as the type can refer to itself.
        this.#types.push({ kind: 'ref', ref: to });
        waiting.push({ from: ref, to });
      }
      moved.set(ref, to);
      return to;
    };
    return (type) => {
      const result = write(type);
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const target = typespace.types[next.from];
        if (target !== undefined) this.#types[next.to] = write(target);
      }
      return result;
    };
  }
}

function indexOfEqual(
  known: Typespace,
  { ref, typespace }: { readonly ref: number; readonly typespace: Typespace },
): number | undefined {
  const index = known.types.findIndex((type) => {
    return typesEqual(type, { kind: 'ref', ref }, known, typespace);
  });
  return index < 0 ? undefined : index;
}

/**
 * Refs on a cycle, or on a path from one cycle to another. Refs that lead to no cycle are removed
 * first, then those that no cycle leads to; each in one pass over the edges.
 */
function recursiveRefs({ types }: Typespace): ReadonlySet<number> {
  const targets = types.map((type) => refsIn(type).filter((ref) => ref < types.length));
  const sources: number[][] = types.map(() => []);
  targets.forEach((refs, from) => {
    for (const to of refs) sources[to]?.push(from);
  });
  const left = new Set(types.keys());
  trim(left, targets, sources);
  trim(left, sources, targets);
  return left;
}

/** Repeatedly removes from `left` each ref whose `after` has none of `left`. */
function trim(
  left: Set<number>,
  after: readonly (readonly number[])[],
  before: readonly (readonly number[])[],
): void {
  const counts = after.map((refs) => refs.filter((ref) => left.has(ref)).length);
  const ready = [...left].filter((ref) => counts[ref] === 0);
  for (let ref = ready.pop(); ref !== undefined; ref = ready.pop()) {
    left.delete(ref);
    for (const other of before[ref] ?? []) {
      const count = (counts[other] ?? 0) - 1;
      counts[other] = count;
      if (count === 0 && left.has(other)) ready.push(other);
    }
  }
}

function refsIn(type: AlgebraicType): number[] {
  if (type.kind === 'ref') return [type.ref];
  if (type.kind === 'array') return refsIn(type.element);
  if (type.kind === 'product') return type.elements.flatMap((part) => refsIn(part.type));
  return type.kind === 'sum' ? type.variants.flatMap((part) => refsIn(part.type)) : [];
}

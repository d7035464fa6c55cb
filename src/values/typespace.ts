/** Refs, equality and the text of types. */
import { nestingDepthMax, typeNodeCountMax, variantCountMax } from '../shared-limits.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { emptyTypespace } from './type.ts';

/**
 * A type that cannot be used: a dangling or endless ref, or one beyond a limit.
 *
 * @example
 * ```ts
 * resolveType({ kind: 'ref', ref: 0 }, emptyTypespace); // throws 'type &0 does not exist'
 * ```
 */
export class InvalidTypeError extends Error {
  override readonly name = 'InvalidTypeError';
}

/**
 * Follows refs until it reaches another type, whose inner refs are left alone.
 *
 * @example
 * ```ts
 * resolveType({ kind: 'ref', ref: 0 }, { types: [unitType] }); // unitType
 * ```
 */
export function resolveType(
  type: AlgebraicType,
  typespace: Typespace,
): Exclude<AlgebraicType, { kind: 'ref' }> {
  let current = type;
  for (let steps = 0; current.kind === 'ref'; steps += 1) {
    const target = typespace.types[current.ref];
    if (target === undefined) throw new InvalidTypeError(`type &${current.ref} does not exist`);
    if (steps > typespace.types.length) {
      throw new InvalidTypeError(`type &${current.ref} refers to itself and nothing else`);
    }
    current = target;
  }
  return current;
}

/**
 * Throws `InvalidTypeError` unless every codec can handle `type`: its refs lead somewhere,
 * recursion passes through a sum or an array, no sum has more variants than a tag can encode, and
 * with all refs inlined it is neither too deep nor too large. Types of a module are checked once,
 * at the door.
 */
export function checkType(type: AlgebraicType, typespace: Typespace = emptyTypespace): void {
  const done = new Map<number, Extent>();
  /** Refs around the current type, with the depth of each. */
  const open = new Map<number, number>();
  const extentOf = (current: AlgebraicType, depth: number, boxDepth: number): Extent => {
    if (depth > nestingDepthMax) throw tooDeep();
    switch (current.kind) {
      case 'ref':
        return refExtent(current.ref, depth, boxDepth);
      case 'product':
        return sumOfExtents(
          current.elements.map((item) => extentOf(item.type, depth + 1, boxDepth)),
        );
      case 'sum':
        if (current.variants.length > variantCountMax) {
          throw new InvalidTypeError(`a sum has more than ${variantCountMax} variants`);
        }
        return sumOfExtents(current.variants.map((item) => extentOf(item.type, depth + 1, depth)));
      case 'array':
        return sumOfExtents([extentOf(current.element, depth + 1, depth)]);
      default:
        return { height: 0, nodes: 1 };
    }
  };
  const refExtent = (ref: number, depth: number, boxDepth: number): Extent => {
    const openedAt = open.get(ref);
    if (openedAt !== undefined) {
      if (boxDepth < openedAt) throw new InvalidTypeError(`type &${ref} contains itself`);
      return { height: 0, nodes: 1 };
    }
    let extent = done.get(ref);
    if (extent === undefined) {
      const target = typespace.types[ref];
      if (target === undefined) throw new InvalidTypeError(`type &${ref} does not exist`);
      open.set(ref, depth);
      extent = extentOf(target, depth, boxDepth);
      open.delete(ref);
      done.set(ref, extent);
    }
    if (depth + extent.height > nestingDepthMax) throw tooDeep();
    return extent;
  };
  extentOf(type, 0, -1);
}

/** Levels and nodes of a type with its refs inlined. */
interface Extent {
  readonly height: number;
  readonly nodes: number;
}

function sumOfExtents(parts: readonly Extent[]): Extent {
  let height = 0;
  let nodes = 1;
  for (const part of parts) {
    height = Math.max(height, part.height + 1);
    nodes += part.nodes;
  }
  if (nodes > typeNodeCountMax) throw new InvalidTypeError('the type is too large');
  return { height, nodes };
}

function tooDeep(): InvalidTypeError {
  return new InvalidTypeError(`the type is nested deeper than ${nestingDepthMax} levels`);
}

/**
 * The same type with every ref replaced by its target. Throws `InvalidTypeError` on recursion, and
 * on everything `checkType` rejects.
 */
export function inlineRefs(type: AlgebraicType, typespace: Typespace): AlgebraicType {
  checkType(type, typespace);
  // A ref used twice yields the same object twice, so that it is compiled only once.
  const done = new Map<number, AlgebraicType>();
  const open = new Set<number>();
  const inlineNamed = (items: readonly NamedType[]): NamedType[] =>
    items.map((item) => ({ name: item.name, type: inline(item.type) }));
  const inline = (current: AlgebraicType): AlgebraicType => {
    switch (current.kind) {
      case 'ref':
        return inlineRef(current.ref);
      case 'product':
        return { kind: 'product', elements: inlineNamed(current.elements) };
      case 'sum':
        return { kind: 'sum', variants: inlineNamed(current.variants) };
      case 'array':
        return { kind: 'array', element: inline(current.element) };
      default:
        return current;
    }
  };
  const inlineRef = (ref: number): AlgebraicType => {
    const known = done.get(ref);
    if (known !== undefined) return known;
    if (open.has(ref)) throw new InvalidTypeError(`type &${ref} is recursive`);
    open.add(ref);
    const result = inline(resolveType({ kind: 'ref', ref }, typespace));
    open.delete(ref);
    done.set(ref, result);
    return result;
  };
  return inline(type);
}

/** Structural equality: element and variant names count; refs are followed on both sides. */
export function typesEqual(
  a: AlgebraicType,
  b: AlgebraicType,
  typespaceA: Typespace = emptyTypespace,
  typespaceB: Typespace = typespaceA,
): boolean {
  // A pair already being compared further out counts as equal, which ends recursion.
  const assumed = new Map<AlgebraicType, Set<AlgebraicType>>();
  const namedEqual = (left: readonly NamedType[], right: readonly NamedType[]): boolean =>
    left.length === right.length &&
    left.every((item, index) => {
      const other = right[index];
      return other !== undefined && item.name === other.name && equal(item.type, other.type);
    });
  const equal = (leftRef: AlgebraicType, rightRef: AlgebraicType): boolean => {
    const left = resolveType(leftRef, typespaceA);
    const right = resolveType(rightRef, typespaceB);
    if (left === right && typespaceA === typespaceB) return true;
    if (left.kind !== right.kind) return false;
    const partners = assumed.get(left) ?? new Set();
    if (partners.has(right)) return true;
    assumed.set(left, partners.add(right));
    if (left.kind === 'product' && right.kind === 'product') {
      return namedEqual(left.elements, right.elements);
    }
    if (left.kind === 'sum' && right.kind === 'sum') {
      return namedEqual(left.variants, right.variants);
    }
    if (left.kind === 'array' && right.kind === 'array') {
      return equal(left.element, right.element);
    }
    return true;
  };
  return equal(a, b);
}

/**
 * The type as people read it: `U32`, `Array<U8>`, `(id: U32, name: String)`,
 * `(some: U32 | none: ())`, `()` for unit, `(|)` for never. An element without a name
 * has its position: `(0: U8)`. A ref reads `&3`, unless a typespace is given; then its target is
 * written in full, and only a recursive ref stays `&3`. Targets may double with every ref: beyond
 * about `lengthMax` characters, the rest of what is inside reads `…`.
 *
 * @example
 * ```ts
 * const list: AlgebraicType = { kind: 'array', element: { kind: 'string' } };
 * typeText(product(['tags', list])); // '(tags: Array<String>)'
 * ```
 */
export function typeText(
  type: AlgebraicType,
  typespace?: Typespace,
  lengthMax: number = Number.POSITIVE_INFINITY,
): string {
  const open = new Set<number>();
  let length = 0;
  const text = (current: AlgebraicType): string => {
    length += 1;
    if (length > lengthMax) return '…';
    switch (current.kind) {
      case 'ref':
        return refText(current.ref);
      case 'product':
        return `(${current.elements.map(elementText).join(', ')})`;
      case 'sum':
        if (current.variants.length === 0) return '(|)';
        return `(${current.variants.map(namedText).join(' | ')})`;
      case 'array':
        return `Array<${text(current.element)}>`;
      default:
        return kindName(current.kind satisfies ScalarKind);
    }
  };
  const elementText = ({ name, type: part }: NamedType, at: number): string =>
    namedText({ name: name ?? String(at), type: part });
  const namedText = ({ name, type: part }: NamedType): string => {
    if (name === undefined || length > lengthMax) return text(part);
    length += name.length;
    return `${name}: ${text(part)}`;
  };
  const refText = (ref: number): string => {
    const target = typespace?.types[ref];
    if (target === undefined || open.has(ref)) return `&${ref}`;
    open.add(ref);
    const result = text(target);
    open.delete(ref);
    return result;
  };
  return text(type);
}

/** The variant name of a kind in a type description: `u32` is written `U32`. */
export function kindName(kind: AlgebraicType['kind']): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}

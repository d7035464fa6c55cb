import { limits } from '../limits.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, ProductType, Typespace } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type { Problems } from './problems.ts';

/**
 * The types for which a client can be generated. A ref that the module lists under a name is a
 * *definition*; a type anywhere else is a *use* and must be a primitive, a special type, a list or
 * choice of uses, or a ref. Types can be recursive only through a definition, and never by a
 * product that directly contains itself, since none of its values could end.
 *
 * All walks are bounded in depth and visit a ref once: a small hostile module must cost little.
 */
export class TypeRules {
  readonly #typespace: Typespace;
  readonly #definitions: ReadonlySet<number>;
  readonly #problems: Problems;
  readonly #sizes = new Map<number, TypeSize>();
  /** Refs between the use and the current type that are not definitions. */
  readonly #open = new Set<number>();
  readonly #checked = new Set<number>();
  #isSound = true;

  constructor(typespace: Typespace, definitions: ReadonlySet<number>, problems: Problems) {
    this.#typespace = typespace;
    this.#definitions = definitions;
    this.#problems = problems;
  }

  /** True while no type was rejected: code that compiles types must only get sound ones. */
  get isSound(): boolean {
    return this.#isSound;
  }

  isDefinition(ref: number): boolean {
    return this.#definitions.has(ref);
  }

  checkDefinitions(): void {
    for (const ref of endlessRefs(this.#typespace)) {
      this.#reportAt(refText(ref), 'a product contains itself without a sum or array between');
    }
    for (const ref of this.#definitions) {
      const type = this.#typespace.types[ref];
      if (type !== undefined) this.#checkDefinition(type, refText(ref));
    }
  }

  checkUse(type: AlgebraicType, location: string): void {
    this.#checkParts(type, location);
    this.#checkSize(type, location);
  }

  /** `owner` is a text such as ``reducer `add` ``. */
  checkParameters(params: ProductType, owner: string): void {
    params.elements.forEach(({ name, type }, index) => {
      const location = `${owner} argument ${index}${name === undefined ? '' : ` (\`${name}\`)`}`;
      if (name === undefined) this.#reportAt(location, 'all reducer parameters require names');
      this.checkUse(type, location);
    });
  }

  #checkDefinition(type: AlgebraicType, location: string): void {
    for (const part of partsOf(type)) {
      if (part.name === undefined) this.#reportAt(location, 'all elements of types require names');
      this.#checkParts(part.type, location);
    }
    this.#checkSize(type, location);
  }

  #checkParts(type: AlgebraicType, location: string): void {
    if (type.kind === 'ref') {
      this.#checkRef(type.ref, location);
    } else if (isUsable(type)) {
      for (const part of partsOf(type)) this.#checkParts(part.type, location);
    } else {
      const text = `non-special product or sum type ${typeText(type)}`;
      this.#reportAt(location, `${text} cannot be used to generate a client type use`);
    }
  }

  #checkRef(ref: number, location: string): void {
    const target = this.#typespace.types[ref];
    if (target === undefined) {
      this.#reportAt(location, `type reference &${ref} is out of range`);
    } else if (this.#open.has(ref)) {
      this.#reportAt(location, `type reference &${ref} is recursive and has no name`);
    } else if (!this.#definitions.has(ref) && !this.#checked.has(ref)) {
      // Deeper types are reported because of their size.
      if (this.#open.size > limits.nestingDepthMax) return;
      this.#open.add(ref);
      this.#checkParts(target, location);
      this.#open.delete(ref);
      this.#checked.add(ref);
    }
  }

  /** Refs are inlined where types are stored: a small module must not describe a huge type. */
  #checkSize(type: AlgebraicType, location: string): void {
    const { parts, depth } = this.#sizeOf(type, 0);
    if (parts > limits.typePartsMax) {
      this.#reportAt(location, `the type has more than ${limits.typePartsMax} parts`);
    }
    if (depth > limits.nestingDepthMax) {
      this.#reportAt(
        location,
        `the description of the type is nested deeper than ${limits.nestingDepthMax}`,
      );
    }
  }

  /** `depth` counts the levels above `type`; the walk ends at the limit. */
  #sizeOf(type: AlgebraicType, depth: number): TypeSize {
    if (depth > limits.nestingDepthMax) return onePart;
    if (type.kind === 'ref') return this.#refSize(type.ref, depth);
    let parts = 1;
    let below = 0;
    const levels = type.kind === 'product' || type.kind === 'sum' ? listedLevels : 1;
    for (const part of partsOf(type)) {
      const size = this.#sizeOf(part.type, depth + levels);
      parts += size.parts;
      below = Math.max(below, size.depth);
    }
    return { parts: Math.min(parts, limits.typePartsMax + 1), depth: below + levels };
  }

  /** A recursive ref stays a ref, so its second visit counts as one part. */
  #refSize(ref: number, depth: number): TypeSize {
    const known = this.#sizes.get(ref);
    if (known !== undefined) return known;
    this.#sizes.set(ref, onePart);
    const target = this.#typespace.types[ref] ?? { kind: 'bool' };
    // A ref to a ref counts as a level, so that a long chain of them ends.
    const levels = target.kind === 'ref' ? 1 : 0;
    const size = this.#sizeOf(target, depth + levels);
    const counted = { parts: size.parts, depth: size.depth + levels };
    this.#sizes.set(ref, counted);
    return counted;
  }

  #reportAt(location: string, text: string): void {
    this.#isSound = false;
    this.#problems.report(`error at ${location}: internal codegen error: ${text}`);
  }
}

interface TypeSize {
  readonly parts: number;
  /** Levels of the value that describes the type: catalogs write types down as values. */
  readonly depth: number;
}

/** A product or sum is described by a variant, its payload, a list in that, and its items. */
const listedLevels = 4;

const onePart: TypeSize = { parts: 1, depth: 1 };

function refText(ref: number): string {
  return `typespace ref \`&${ref}\``;
}

/** True for types that client libraries recognize by shape; other products and sums need a name. */
function isUsable(type: AlgebraicType): boolean {
  if (type.kind !== 'product' && type.kind !== 'sum') return true;
  return specialKindOf(type) !== undefined || partsOf(type).length === 0;
}

function partsOf(type: AlgebraicType): readonly NamedType[] {
  if (type.kind === 'product') return type.elements;
  if (type.kind === 'sum') return type.variants;
  return type.kind === 'array' ? [{ name: '', type: type.element }] : [];
}

/**
 * Refs whose values could never end: products that lead to themselves through fields alone. Found
 * by repeatedly removing refs that depend on nothing remaining; a chain of any length is fine.
 */
function endlessRefs(typespace: Typespace): number[] {
  const isInRange = (ref: number) => ref < typespace.types.length;
  const openFields = typespace.types.map((type) => new Set(fieldRefs(type).filter(isInRange)));
  const holders: number[][] = typespace.types.map(() => []);
  openFields.forEach((fields, ref) => {
    for (const field of fields) holders[field]?.push(ref);
  });
  const settled = [...openFields.keys()].filter((ref) => openFields[ref]?.size === 0);
  for (let ref = settled.pop(); ref !== undefined; ref = settled.pop()) {
    for (const holder of holders[ref] ?? []) {
      const fields = openFields[holder];
      if (fields?.delete(ref) && fields.size === 0) settled.push(holder);
    }
  }
  return [...openFields.keys()].filter((ref) => (openFields[ref]?.size ?? 0) > 0);
}

function fieldRefs(type: AlgebraicType): number[] {
  if (type.kind === 'ref') return [type.ref];
  return type.kind === 'product' ? type.elements.flatMap((field) => fieldRefs(field.type)) : [];
}

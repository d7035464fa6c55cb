import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, ProductType, Typespace } from '../values/type.ts';
import { kindName, resolveType } from '../values/typespace.ts';
import type { ModuleDefinition, ReducerDefinition } from './definition.ts';
import { columnsLeftOut, type LeftOutColumns } from './left-out.ts';

/** The typespace of a definition and the names of its types. */
export type SchemaTypes = Pick<ModuleDefinition, 'typespace' | 'types'>;

/** Types, and what rows in arguments can leave out. */
export interface WordedTypes extends SchemaTypes {
  readonly leftOut?: LeftOutColumns;
}

/** The types of a flat definition. */
export function wordedTypes(definition: ModuleDefinition): WordedTypes {
  const { typespace, types } = definition;
  return { typespace, types, leftOut: columnsLeftOut(definition) };
}

/** A named type as people and agents see it. */
export interface ShownType {
  readonly name: string;
  /** Of a sum: names of variants, or types by name if a variant holds a value. */
  readonly variants?: readonly string[] | Readonly<Record<string, string>>;
  /** Of a product: types by name. */
  readonly fields?: Readonly<Record<string, string>> | readonly string[];
  /** Of any other type. */
  readonly is?: string;
}

/** A column, and the number of elements of each of its values if they are vectors. */
export type ShownColumn = NamedType & { readonly vectorLength?: number };

/** Parts of a type beyond this count read `…`: refs can double it with every level. */
const partsMax = 500;

/**
 * Writes types for people and agents: `U64`, `String?`, `OrderStatus[]`, `Identity`, `low | high`,
 * `Text(String) | Hidden`, `{x: U32, y: U32}`. A named type goes by its name; which names have been
 * written is remembered, so that an answer defines those and no other. A field that arguments can
 * leave out has a `?` behind its name.
 */
export class TypeWords {
  readonly #typespace: Typespace;
  readonly #names: ReadonlyMap<number, string>;
  readonly #written = new Set<number>();
  /** By type, the names of its fields as they are shown. */
  readonly #shown = new Map<AlgebraicType, readonly NamedType[]>();

  constructor({ typespace, types, leftOut = new Map() }: WordedTypes) {
    this.#typespace = typespace;
    for (const [ref, filled] of leftOut) {
      const type = typespace.types[ref];
      if (type?.kind === 'product') this.#shown.set(type, marked(type.elements, filled));
    }
    this.#names = new Map(types.map((one) => [one.ref, [...one.scope, one.name].join('.')]));
  }

  of(type: AlgebraicType): string {
    return this.#write(type, { parts: 0, open: new Set() });
  }

  /** Writes the types of named elements, by name; by position if a name is missing. */
  ofParts(elements: readonly NamedType[]): Readonly<Record<string, string>> | readonly string[] {
    if (!areNamed(elements)) return elements.map(({ type }) => this.of(type));
    return Object.fromEntries(elements.map(({ name, type }) => [name, this.of(type)]));
  }

  /** `ofParts` for the parameters of a function: what calls can leave out has a `?` as well. */
  ofParams(
    declared: Pick<ReducerDefinition, 'params' | 'paramDefaults'>,
  ): Readonly<Record<string, string>> | readonly string[] {
    return this.ofParts(shownParams(declared));
  }

  /** `ofParts` for columns: a vector shows its length, as in `F32[384]`. */
  ofColumns(columns: readonly ShownColumn[]): Readonly<Record<string, string>> | readonly string[] {
    const types = this.ofParts(columns);
    const lengths = columns.map(({ vectorLength }) => vectorLength);
    if (lengths.every((length) => length === undefined)) return types;
    const shown = Object.entries(types).map(([name, type], at) => [
      name,
      lengths[at] === undefined ? type : type.replace(/\[\](?=\??$)/, `[${lengths[at]}]`),
    ]);
    return Object.fromEntries(shown);
  }

  /** Defines the named types written so far, and those that they use. */
  definitions(): readonly ShownType[] {
    const shown: ShownType[] = [];
    // Grows while it is read.
    for (const ref of this.#written) shown.push(this.#definition(ref));
    return shown;
  }

  #definition(ref: number): ShownType {
    const name = this.#names.get(ref) ?? '';
    const type = resolveType({ kind: 'ref', ref }, this.#typespace);
    if (type.kind === 'product') return { name, fields: this.ofParts(this.#fieldsOf(type)) };
    if (type.kind !== 'sum') return { name, is: this.of(type) };
    const { variants } = type;
    if (!variants.every((variant) => this.#isBare(variant))) {
      return { name, variants: this.ofParts(variants) };
    }
    return { name, variants: variants.map((variant, at) => variant.name ?? String(at)) };
  }

  #fieldsOf(type: ProductType): readonly NamedType[] {
    return this.#shown.get(type) ?? type.elements;
  }

  /** Whether a variant holds no value. */
  #isBare({ type }: NamedType): boolean {
    return specialKindOf(resolveType(type, this.#typespace)) === 'unit';
  }

  #write(type: AlgebraicType, state: WriteState): string {
    state.parts += 1;
    if (state.parts > partsMax) return '…';
    const special = this.#special(type, state);
    if (special !== undefined) return special;
    switch (type.kind) {
      case 'ref':
        return this.#ref(type.ref, state);
      case 'array': {
        const element = this.#write(type.element, state);
        return element.includes(' | ') ? `(${element})[]` : `${element}[]`;
      }
      case 'sum':
        return this.#sum(type.variants, state);
      case 'product': {
        const parts = this.#fieldsOf(type).map(({ name, type: part }, at) => {
          return `${name ?? at}: ${this.#write(part, state)}`;
        });
        return `{${parts.join(', ')}}`;
      }
      default:
        return kindName(type.kind);
    }
  }

  #special(type: AlgebraicType, state: WriteState): string | undefined {
    const resolved = resolveType(type, this.#typespace);
    const kind = specialKindOf(resolved);
    switch (kind) {
      case undefined:
        return undefined;
      case 'unit':
        return '()';
      case 'option':
      case 'result': {
        if (resolved.kind !== 'sum') return undefined;
        const [first, second] = resolved.variants.map((one) => this.#write(one.type, state));
        if (kind === 'result') return `Result<${first}, ${second}>`;
        return first?.includes(' | ') === true ? `(${first})?` : `${first}?`;
      }
      default:
        return kindName(kind as AlgebraicType['kind']);
    }
  }

  #sum(variants: readonly NamedType[], state: WriteState): string {
    if (variants.length === 0) return 'never';
    const words = variants.map((variant, at) => {
      const name = variant.name ?? String(at);
      return this.#isBare(variant) ? name : `${name}(${this.#write(variant.type, state)})`;
    });
    return words.join(' | ');
  }

  #ref(ref: number, state: WriteState): string {
    const name = this.#names.get(ref);
    if (name !== undefined) {
      this.#written.add(ref);
      return name;
    }
    // A recursive type without a name.
    if (state.open.has(ref)) return '…';
    state.open.add(ref);
    const words = this.#write(resolveType({ kind: 'ref', ref }, this.#typespace), state);
    state.open.delete(ref);
    return words;
  }
}

/** The parameters of a function; those with a default have a `?` behind their names. */
export function shownParams({
  params,
  paramDefaults = [],
}: Pick<ReducerDefinition, 'params' | 'paramDefaults'>): readonly NamedType[] {
  return marked(params.elements, paramDefaults);
}

function marked(
  elements: readonly NamedType[],
  filled: readonly (Uint8Array | undefined)[],
): readonly NamedType[] {
  return elements.map(({ name, type }, at) => {
    return { name: filled[at] === undefined || name === undefined ? name : `${name}?`, type };
  });
}

/** A type with all of its parts, for a text that defines no names. */
export function wholeTypeWords(type: AlgebraicType, typespace: Typespace): string {
  return new TypeWords({ typespace, types: [] }).of(type);
}

type Named = NamedType & { readonly name: string };

/** Whether each element has a unique name. */
export function areNamed(elements: readonly NamedType[]): elements is readonly Named[] {
  const names = new Set(elements.map(({ name }) => name));
  return names.size === elements.length && !names.has(undefined);
}

interface WriteState {
  parts: number;
  readonly open: Set<number>;
}

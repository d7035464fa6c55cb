import type { RawTypeDefinition } from '../schema/raw-module.ts';
import { optionType, resultType } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, ProductType, Typespace } from '../values/type.ts';
import { type AnyBuilder, type AnyType, columnOf, type Shape } from './builder.ts';
import { resolved } from './composite.ts';

/**
 * Turns builders into types. Named types (objects, enums, rows) get an index in the typespace when
 * first encountered and are refs afterwards, so a type can contain itself. The index is assigned
 * before the content is visited; the definition is listed after it.
 */
export class TypeRegistry {
  readonly definitions: RawTypeDefinition[] = [];
  readonly #types: AlgebraicType[] = [];
  readonly #refs = new Map<Shape, number>();

  /** Grows as types are registered; always the same object, so codecs can be cached by it. */
  readonly typespace: Typespace = { types: this.#types };

  /** The type as used in a column, a parameter or another type. */
  typeOf(builder: AnyBuilder): AlgebraicType {
    const shape = resolved(columnOf(builder).type);
    switch (shape.kind) {
      case 'plain':
        return shape.type;
      case 'array':
        return { kind: 'array', element: this.typeOf(shape.element) };
      case 'option':
        return optionType(this.typeOf(shape.inner));
      case 'result':
        return resultType(this.typeOf(shape.ok), this.typeOf(shape.err));
      case 'product':
        return shape.family === 'Unit' ? unit : { kind: 'ref', ref: this.#refOf(shape, undefined) };
      case 'sum':
        return { kind: 'ref', ref: this.#refOf(shape, undefined) };
    }
  }

  /** Registers a row under its own name, or else under `name`. */
  rowRef(row: AnyType, name: string): number {
    return this.#refOf(resolved(row), name);
  }

  /** Registers fields as a type of their own: the parameters of a function. */
  productRef(fields: Readonly<Record<string, AnyBuilder>>, name: string): number {
    return this.#refOf({ kind: 'product', family: 'Row', name, fields }, name);
  }

  /** The product at `ref`. */
  product(ref: number): ProductType {
    return this.#types[ref] as ProductType;
  }

  #refOf(shape: Exclude<Shape, { kind: 'lazy' }>, fallbackName: string | undefined): number {
    const known = this.#refs.get(shape);
    if (known !== undefined) return known;
    const isSum = shape.kind === 'sum';
    if (!isSum && shape.kind !== 'product') throw new TypeError('expected a row');
    const parts: Readonly<Record<string, AnyBuilder>> = isSum ? shape.variants : shape.fields;
    const name = shape.name ?? fallbackName;
    if (name === undefined || name === '') {
      throw new TypeError(`Missing type name for { ${Object.keys(parts).join(', ')} }`);
    }
    const ref = this.#types.push(unit) - 1;
    this.#refs.set(shape, ref);
    const items: NamedType[] = Object.keys(parts).map((key) => ({
      name: key,
      type: this.typeOf(parts[key] as AnyBuilder),
    }));
    this.#types[ref] = isSum
      ? { kind: 'sum', variants: items }
      : { kind: 'product', elements: items };
    const scope = name.split('.');
    const sourceName = scope.pop() as string;
    this.definitions.push({ scope, sourceName, ref, customOrdering: true });
    return ref;
  }
}

const unit: AlgebraicType = { kind: 'product', elements: [] };

import { type AnyType, ColumnBuilder, columnOf, shapeOf, TypeBuilder } from './builder.ts';

/**
 * The classes of builders by name, for `instanceof` and for type annotations. Builders are made by
 * `t` and all have one class; these classes check a builder's family.
 */
export interface BuilderClass<B> {
  /** Must not be called: `t` makes builders. */
  new (unavailable: never): B;
  [Symbol.hasInstance](value: unknown): value is B;
}

/** The class of types of one family. */
export function typeClass<B>(family: string): BuilderClass<B> {
  return classOf<B>(
    (value) => value instanceof TypeBuilder && shapeOf(value as AnyType).family === family,
  );
}

/** The class of columns whose type is of one family. */
export function columnClass<B>(family: string): BuilderClass<B> {
  return classOf<B>(
    (value) => value instanceof ColumnBuilder && shapeOf(columnOf(value).type).family === family,
  );
}

function classOf<B>(isInstance: (value: unknown) => boolean): BuilderClass<B> {
  const builderClass = class {
    constructor() {
      throw new TypeError('builders are made by the functions of `t`');
    }
    static [Symbol.hasInstance](value: unknown): boolean {
      return isInstance(value);
    }
  };
  return builderClass as unknown as BuilderClass<B>;
}

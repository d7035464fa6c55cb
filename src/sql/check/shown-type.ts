import type { AlgebraicType, NamedType, Typespace } from '../../values/type.ts';
import { emptyTypespace } from '../../values/type.ts';
import { typeText } from '../../values/typespace.ts';

/** A type as messages show it: unnamed elements and variants go by their positions. */
export function shownType(type: AlgebraicType, { types }: Typespace = emptyTypespace): string {
  return typeText(named(type), { types: types.map(named) });
}

function named(type: AlgebraicType): AlgebraicType {
  switch (type.kind) {
    case 'product':
      return { kind: 'product', elements: type.elements.map(namedPart) };
    case 'sum':
      return { kind: 'sum', variants: type.variants.map(namedPart) };
    case 'array':
      return { kind: 'array', element: named(type.element) };
    default:
      return type;
  }
}

function namedPart({ name, type }: NamedType, at: number): NamedType {
  return { name: name ?? String(at), type: named(type) };
}

import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, Typespace } from '../values/type.ts';
import type { NamingPolicy } from './case-conversion.ts';

/** Gives every field and variant of a typespace its canonical name. */
export function canonicalTypespace(typespace: Typespace, policy: NamingPolicy): Typespace {
  return { types: typespace.types.map((type) => canonicalType(type, policy)) };
}

/** Special types are recognized by their names, so they keep them, including inner types. */
function canonicalType(type: AlgebraicType, policy: NamingPolicy): AlgebraicType {
  if (specialKindOf(type) !== undefined) return type;
  if (type.kind === 'array') {
    return { kind: 'array', element: canonicalType(type.element, policy) };
  }
  if (type.kind === 'product') {
    return { kind: 'product', elements: renameAll(type.elements, policy.plain, policy) };
  }
  if (type.kind === 'sum') {
    return { kind: 'sum', variants: renameAll(type.variants, policy.variant, policy) };
  }
  return type;
}

function renameAll(
  parts: readonly NamedType[],
  rename: (name: string) => string,
  policy: NamingPolicy,
): NamedType[] {
  return parts.map(({ name, type }) => ({
    name: name === undefined ? undefined : rename(name),
    type: canonicalType(type, policy),
  }));
}

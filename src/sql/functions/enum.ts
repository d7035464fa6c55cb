/**
 * Enums: sums whose variants carry nothing. A statement writes their values as texts, the names of
 * the variants; while it runs they are the numbers of the variants, which is their order too.
 */
import { LooseNames } from '../../values/loose-names.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';

/** The names of the variants in their order, or `undefined` for every type that is not an enum. */
export function enumNames(type: AlgebraicType): readonly string[] | undefined {
  if (type.kind !== 'sum') return undefined;
  const known = knownNames.get(type);
  if (known !== undefined) return known === false ? undefined : known;
  const isEnum =
    type.variants.length > 0 &&
    specialKindOf(type) === undefined &&
    type.variants.every((variant) => specialKindOf(variant.type) === 'unit');
  const names = isEnum ? type.variants.map(({ name }, tag) => name ?? String(tag)) : undefined;
  knownNames.set(type, names ?? false);
  return names;
}

/** Types are immutable; `false` for those that are no enums. */
const knownNames = new WeakMap<AlgebraicType, readonly string[] | false>();

/** The number of the variant that a text names, in any spelling that JSON may have, too. */
export function variantNamed(names: readonly string[], text: string): number | undefined {
  let loose = looseNames.get(names);
  if (loose === undefined) {
    loose = new LooseNames(names.map((name) => ({ name })));
    looseNames.set(names, loose);
  }
  const tag = loose.find(text);
  return tag < 0 ? undefined : tag;
}

/** By what `enumNames` returned. */
const looseNames = new WeakMap<readonly string[], LooseNames>();

/** The names of those variants of a sum that carry nothing. */
export function bareVariants(type: AlgebraicType): readonly string[] {
  if (type.kind !== 'sum' || specialKindOf(type) !== undefined) return [];
  return type.variants.flatMap(({ name, type: payload }) =>
    name !== undefined && specialKindOf(payload) === 'unit' ? [name] : [],
  );
}

/** The number of the variant without a value that a text names, of any sum that a module made. */
export function bareVariantNamed(type: AlgebraicType, text: string): number | undefined {
  if (type.kind !== 'sum' || specialKindOf(type) !== undefined) return undefined;
  const names = type.variants.map(({ name }, tag) => name ?? String(tag));
  const tag = variantNamed(names, text);
  const payload = tag === undefined ? undefined : type.variants[tag]?.type;
  return payload !== undefined && specialKindOf(payload) === 'unit' ? tag : undefined;
}

/** Why a text is refused where a value of an enum is expected. */
export function notVariant(text: string, names: readonly string[]): string {
  return `'${text}' is not a variant of this enum: it is ${variantsText(names)}`;
}

/** `one of 'a', 'b'`. */
export function variantsText(names: readonly string[]): string {
  const shown = names.slice(0, shownNamesMax).map((name) => `'${name.replaceAll("'", "''")}'`);
  const more = names.length - shown.length;
  return `one of ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A sum has up to 255 variants. */
const shownNamesMax = 40;

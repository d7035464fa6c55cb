import type { AlgebraicType, ProductType, SumType, Typespace } from '../values/type.ts';
import { resolveType, typeText } from '../values/typespace.ts';

/** A part of a column's type that no automatic migration can change. */
export interface TypeConflict {
  /** False if the part is the column's own type. */
  readonly isNested: boolean;
  readonly from: string;
  readonly to: string;
  /** Follows `from … to …` in the text: `` or `, with fewer variants,`. */
  readonly detail: '' | `, ${string},`;
}

export interface TypeComparison {
  /** True if some enum got variants at its end: rows keep their bytes. */
  readonly isWidened: boolean;
  readonly conflicts: readonly TypeConflict[];
}

/** Both sides of a comparison with the typespaces of their refs. */
export interface TypePair {
  readonly old: AlgebraicType;
  readonly next: AlgebraicType;
  readonly oldTypespace: Typespace;
  readonly nextTypespace: Typespace;
}

/**
 * Compares a column's type before and after, by structure and canonical names. Rows are stored
 * encoded, so new variants at the end of an enum are fine whatever their size.
 */
export function compareTypes(pair: TypePair): TypeComparison {
  const comparer = new Comparer(pair.oldTypespace, pair.nextTypespace);
  comparer.compare(pair.old, pair.next, false);
  return comparer;
}

class Comparer implements TypeComparison {
  readonly #oldTypespace: Typespace;
  readonly #nextTypespace: Typespace;
  /** Pairs that were or are being compared; they end the recursion of recursive types. */
  readonly #seen = new Map<AlgebraicType, Set<AlgebraicType>>();
  readonly conflicts: TypeConflict[] = [];
  isWidened = false;

  constructor(oldTypespace: Typespace, nextTypespace: Typespace) {
    this.#oldTypespace = oldTypespace;
    this.#nextTypespace = nextTypespace;
  }

  compare(oldType: AlgebraicType, nextType: AlgebraicType, isNested: boolean): void {
    const old = resolveType(oldType, this.#oldTypespace);
    const next = resolveType(nextType, this.#nextTypespace);
    const partners = this.#seen.get(old) ?? new Set();
    if (partners.has(next)) return;
    this.#seen.set(old, partners.add(next));
    const conflict = (detail: TypeConflict['detail']) => {
      const from = typeText(old, this.#oldTypespace);
      this.conflicts.push({ isNested, from, to: typeText(next, this.#nextTypespace), detail });
    };
    if (old.kind === 'sum' && next.kind === 'sum') this.#compareSums(old, next, conflict);
    else if (old.kind === 'product' && next.kind === 'product') {
      this.#compareProducts(old, next, conflict);
    } else if (old.kind === 'array' && next.kind === 'array') {
      this.compare(old.element, next.element, true);
    } else if (old.kind !== next.kind) {
      conflict('');
    }
  }

  #compareSums(old: SumType, next: SumType, conflict: (detail: TypeConflict['detail']) => void) {
    if (next.variants.length < old.variants.length) return conflict(', with fewer variants,');
    if (old.variants.some(({ name }, tag) => name !== next.variants[tag]?.name)) {
      return conflict(', with a renamed variant,');
    }
    if (next.variants.length > old.variants.length) this.isWidened = true;
    old.variants.forEach(({ type }, tag) => {
      this.compare(type, next.variants[tag]?.type ?? type, true);
    });
  }

  #compareProducts(
    old: ProductType,
    next: ProductType,
    conflict: (detail: TypeConflict['detail']) => void,
  ) {
    if (next.elements.length < old.elements.length) return conflict(', with fewer fields,');
    if (old.elements.some(({ name }, index) => name !== next.elements[index]?.name)) {
      return conflict(', with a renamed field,');
    }
    if (next.elements.length > old.elements.length) return conflict('');
    old.elements.forEach(({ type }, index) => {
      this.compare(type, next.elements[index]?.type ?? type, true);
    });
  }
}

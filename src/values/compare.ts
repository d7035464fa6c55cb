/**
 * The order of values: index ranges, SQL comparisons and sorted results all use it. Decoded and
 * encoded values have the same order. Floats are ordered totally: NaN is greater than everything
 * else and equal to itself, -0 equals +0.
 */
import { perType } from './per-type.ts';
import type { AlgebraicType, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';
import type { SumValue, Value } from './value.ts';

export { encodedComparatorOf } from './compare-encoded.ts';

/**
 * Negative: `a` comes first; positive: `b` comes first; 0: equal.
 *
 * @example
 * ```ts
 * const compare: Comparator = comparatorOf({ kind: 'u8' });
 * compare(1, 2) < 0; // true
 * ```
 */
export type Comparator = (a: Value, b: Value) => number;

/**
 * The comparator of two values of `type`; the values are not checked.
 *
 * @example
 * ```ts
 * ['b', 'a', 'B'].sort(comparatorOf({ kind: 'string' })); // ['B', 'a', 'b']
 * ```
 */
export const comparatorOf: (type: AlgebraicType, typespace?: Typespace) => Comparator = perType(
  (type, typespace) => {
    switch (type.kind) {
      case 'ref': {
        let target: Comparator | undefined;
        return (a, b) => {
          target ??= comparatorOf(resolveType(type, typespace), typespace);
          return target(a, b);
        };
      }
      case 'product': {
        const comparators = type.elements.map((element) => comparatorOf(element.type, typespace));
        return (a, b) => compareProducts(comparators, a as readonly Value[], b as readonly Value[]);
      }
      case 'sum': {
        const comparators = type.variants.map((variant) => comparatorOf(variant.type, typespace));
        return (a, b) => compareSums(comparators, a as SumValue, b as SumValue);
      }
      case 'array': {
        if (type.element.kind === 'u8') return compareBytes as Comparator;
        const compare = comparatorOf(type.element, typespace);
        return (a, b) => compareArrays(compare, a as readonly Value[], b as readonly Value[]);
      }
      case 'string':
        return compareTexts as Comparator;
      case 'f32':
      case 'f64':
        return compareFloats as Comparator;
      default:
        return comparePlain;
    }
  },
);

function comparePlain(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Total order of floats; `encodedComparatorOf` uses it too. */
export function compareFloats(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === b) return 0;
  // At least one is NaN, which comes last.
  return Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : -1;
}

/** The order of code points, which is that of UTF-8 bytes but not that of `<`. */
export function compareTexts(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/**
 * Moves surrogates, which encode the highest code points, above all other units. The first unit in
 * which two texts differ then decides as their code points do.
 */
function codePointRank(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = (a[index] as number) - (b[index] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function compareArrays(compare: Comparator, a: readonly Value[], b: readonly Value[]): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const order = compare(a[index] as Value, b[index] as Value);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareProducts(
  comparators: readonly Comparator[],
  a: readonly Value[],
  b: readonly Value[],
): number {
  for (const [index, compare] of comparators.entries()) {
    const order = compare(a[index] as Value, b[index] as Value);
    if (order !== 0) return order;
  }
  return 0;
}

function compareSums(comparators: readonly Comparator[], a: SumValue, b: SumValue): number {
  if (a.tag !== b.tag) return a.tag - b.tag;
  const compare = comparators[a.tag];
  return compare === undefined ? 0 : compare(a.value, b.value);
}

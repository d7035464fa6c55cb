/** Functions that choose between their arguments, or ask about a value of any type. */

import { compareFloats, compareTexts } from '../../values/compare.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { typesEqual, typeText } from '../../values/typespace.ts';
import { promotedType } from './arithmetic.ts';
import { alias, nullableIfAll, resolved } from './family.ts';
import type { FunctionFamily, QueryValue } from './function.ts';
import { isFloatType, scalarTypes, valueKindOf } from './value-kind.ts';

type Types = readonly (AlgebraicType | undefined)[];

/**
 * The one type that all arguments have or are promoted to; open ones take it too. If all are open
 * it is String, since every literal and parameter has a text.
 */
export function commonType(types: Types): AlgebraicType | undefined {
  let common: AlgebraicType | undefined;
  for (const type of types) {
    if (type === undefined) continue;
    if (common === undefined || typesEqual(common, type)) common ??= type;
    else common = promotedType(common, type);
    if (common === undefined) return undefined;
  }
  return common ?? scalarTypes.string;
}

const coalesce: FunctionFamily = {
  name: 'coalesce',
  signatures: ['coalesce(values of one type, …) → that type'],
  resolve: (types) => {
    const type = types.length === 0 ? undefined : commonType(types);
    if (type === undefined) return undefined;
    const { function: made, result } = resolved('coalesce', {
      parameters: types.map(() => type),
      result: type,
      isNullable: true,
      isStrict: false,
      isNullableFor: nullableIfAll,
      evaluate: (values) => values.find((value) => value !== null) ?? null,
    });
    return { function: { ...made, isLazy: true }, result };
  },
};

const ifNull: FunctionFamily = {
  name: 'ifnull',
  signatures: ['ifnull(value, other of the same type) → that type'],
  resolve: (types) => (types.length === 2 ? coalesce.resolve(types) : undefined),
};

const nullIf: FunctionFamily = {
  name: 'nullif',
  signatures: ['nullif(value, other of the same type) → that type'],
  resolve: (types) => {
    const type = types.length === 2 ? commonType(types) : undefined;
    if (type === undefined) return undefined;
    const compare = orderOf(type);
    return resolved('nullif', {
      parameters: [type, type],
      result: type,
      isNullable: true,
      isStrict: false,
      isNullableFor: () => true,
      evaluate: ([value, other]) => {
        const first = value as QueryValue;
        if (first === null || other === null) return first;
        return compare(first, other as QueryValue) === 0 ? null : first;
      },
    });
  },
};

/** `greatest`, `least`: nulls are skipped. */
function extreme(name: 'greatest' | 'least'): FunctionFamily {
  const wanted = name === 'greatest' ? 1 : -1;
  return {
    name,
    signatures: [`${name}(values of one type, …) → that type`],
    resolve: (types) => {
      const type = types.length === 0 ? undefined : commonType(types);
      if (type === undefined) return undefined;
      const compare = orderOf(type);
      return resolved(name, {
        parameters: types.map(() => type),
        result: type,
        isNullable: true,
        isStrict: false,
        isNullableFor: nullableIfAll,
        evaluate: (values) => {
          let best: QueryValue = null;
          for (const value of values) {
            if (value === null) continue;
            if (best === null || compare(value, best) * wanted > 0) best = value;
          }
          return best;
        },
      });
    },
  };
}

/** The order of values that are not null, as everywhere else in SQL. */
export function orderOf(type: AlgebraicType): (a: QueryValue, b: QueryValue) => number {
  const kind = valueKindOf(type);
  if (kind === 'string') return (a, b) => compareTexts(a as string, b as string);
  if (isFloatType(type)) return (a, b) => compareFloats(a as number, b as number);
  if (kind === 'bytes' || kind === 'composite') {
    const compare = encodedComparatorOf(type);
    return (a, b) => compare(a as Uint8Array, 0, b as Uint8Array, 0);
  }
  return (a, b) => ((a as bigint) < (b as bigint) ? -1 : (a as bigint) > (b as bigint) ? 1 : 0);
}

const variantName: FunctionFamily = {
  name: 'variant_name',
  signatures: ['variant_name(value any sum) → String'],
  resolve: (types) => {
    const [type] = types;
    if (types.length !== 1 || type?.kind !== 'sum') return undefined;
    const names = type.variants.map(({ name }, tag) => name ?? String(tag));
    return resolved('variant_name', {
      parameters: [type],
      result: scalarTypes.string,
      evaluate: ([value]) => {
        const tag = typeof value === 'number' ? value : (value as Uint8Array)[0];
        return names[tag as number] ?? null;
      },
    });
  },
};

const cardinality: FunctionFamily = {
  name: 'cardinality',
  signatures: ['cardinality(array any array) → U64'],
  resolve: (types) => {
    const [type] = types;
    if (types.length !== 1 || type?.kind !== 'array') return undefined;
    return resolved('cardinality', {
      parameters: [type],
      result: scalarTypes.u64,
      evaluate: ([value]) => {
        const bytes = value as Uint8Array;
        return BigInt(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true));
      },
    });
  },
};

const typeOf: FunctionFamily = {
  name: 'typeof',
  signatures: ['typeof(value any) → String'],
  resolve: (types) => {
    const [type] = types;
    if (types.length !== 1 || type === undefined) return undefined;
    const text = typeText(type);
    return resolved('typeof', {
      parameters: [type],
      result: scalarTypes.string,
      isStrict: false,
      isNullableFor: () => false,
      evaluate: () => text,
    });
  },
};

export const conditionalFunctions: readonly FunctionFamily[] = [
  coalesce,
  ifNull,
  nullIf,
  extreme('greatest'),
  extreme('least'),
  variantName,
  cardinality,
  alias('array_length', cardinality),
  typeOf,
];

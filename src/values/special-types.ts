/**
 * Shapes with a meaning of their own. They are recognized by structure alone: the number and names
 * of the elements and the kinds inside must match exactly, else the type is an ordinary one.
 */
import { nestingDepthMax } from '../shared-limits.ts';
import type { AlgebraicType, NamedType, ProductType, SumType } from './type.ts';

/**
 * The special meanings of types.
 *
 * @example
 * ```ts
 * const kind: SpecialKind | undefined = specialKindOf(uuidType);
 * kind; // 'uuid'
 * ```
 */
export type SpecialKind =
  | 'identity'
  | 'connectionId'
  | 'timestamp'
  | 'timeDuration'
  | 'uuid'
  | 'scheduleAt'
  | 'option'
  | 'result'
  | 'unit'
  | 'bytes';

/**
 * Builds a product from `[name, type]` pairs.
 *
 * @example
 * ```ts
 * typeText(product(['id', { kind: 'u32' }])); // '(id: U32)'
 * ```
 */
export function product(...elements: readonly (readonly [string, AlgebraicType])[]): ProductType {
  return { kind: 'product', elements: named(elements) };
}

/**
 * Builds a sum from `[name, type]` pairs.
 *
 * @example
 * ```ts
 * typeText(sum(['Red', unitType], ['Custom', { kind: 'u32' }])); // '(Red: () | Custom: U32)'
 * ```
 */
export function sum(...variants: readonly (readonly [string, AlgebraicType])[]): SumType {
  return { kind: 'sum', variants: named(variants) };
}

/**
 * An optional value: `some` is tag 0, `none` is tag 1.
 *
 * @example
 * ```ts
 * typeText(optionType({ kind: 'u32' })); // '(some: U32 | none: ())'
 * ```
 */
export function optionType(inner: AlgebraicType): SumType {
  return sum(['some', inner], ['none', unitType]);
}

/**
 * An outcome: `ok` is tag 0, `err` is tag 1.
 *
 * @example
 * ```ts
 * typeText(resultType({ kind: 'u32' }, { kind: 'string' })); // '(ok: U32 | err: String)'
 * ```
 */
export function resultType(ok: AlgebraicType, err: AlgebraicType): SumType {
  return sum(['ok', ok], ['err', err]);
}

/**
 * The product without elements: one value, no bytes.
 *
 * @example
 * ```ts
 * encodeValue(unitType, []); // Uint8Array.of()
 * ```
 */
export const unitType: AlgebraicType = { kind: 'product', elements: [] };
/**
 * The sum without variants: it has no values.
 *
 * @example
 * ```ts
 * decodeValue(neverType, Uint8Array.of(0)); // throws 'unknown tag 0x0'
 * ```
 */
export const neverType: AlgebraicType = { kind: 'sum', variants: [] };
/**
 * An array of u8, which codecs hold as one `Uint8Array`.
 *
 * @example
 * ```ts
 * encodeValue(bytesType, Uint8Array.of(9)); // Uint8Array.of(1, 0, 0, 0, 9)
 * ```
 */
export const bytesType: AlgebraicType = { kind: 'array', element: { kind: 'u8' } };

/** Names of the single element of each special product; also the property of its class. */
export const specialElements = {
  identity: { name: '__identity__', kind: 'u256' },
  connectionId: { name: '__connection_id__', kind: 'u128' },
  timestamp: { name: '__timestamp_micros_since_unix_epoch__', kind: 'i64' },
  timeDuration: { name: '__time_duration_micros__', kind: 'i64' },
  uuid: { name: '__uuid__', kind: 'u128' },
} as const;

/**
 * The type whose native values are `Identity`.
 *
 * @example
 * ```ts
 * typeText(identityType); // '(__identity__: U256)'
 * ```
 */
export const identityType: AlgebraicType = /* @__PURE__ */ specialProduct('identity');
/**
 * The type whose native values are `ConnectionId`.
 *
 * @example
 * ```ts
 * typeText(connectionIdType); // '(__connection_id__: U128)'
 * ```
 */
export const connectionIdType: AlgebraicType = /* @__PURE__ */ specialProduct('connectionId');
/**
 * The type whose native values are `Timestamp`.
 *
 * @example
 * ```ts
 * valueToText(timestampType, [0n]); // '1970-01-01T00:00:00+00:00'
 * ```
 */
export const timestampType: AlgebraicType = /* @__PURE__ */ specialProduct('timestamp');
/**
 * The type whose native values are `TimeDuration`.
 *
 * @example
 * ```ts
 * valueToText(timeDurationType, [1_500_000n]); // '+1.500000'
 * ```
 */
export const timeDurationType: AlgebraicType = /* @__PURE__ */ specialProduct('timeDuration');
/**
 * The type whose native values are `Uuid`.
 *
 * @example
 * ```ts
 * typeText(uuidType); // '(__uuid__: U128)'
 * ```
 */
export const uuidType: AlgebraicType = /* @__PURE__ */ specialProduct('uuid');
/**
 * The type whose native values are `ScheduleAt`.
 *
 * @example
 * ```ts
 * valueToJson(scheduleAtType, { tag: 0, value: [5n] }, 'positional'); // '[0,[5]]'
 * ```
 */
export const scheduleAtType: AlgebraicType = /* @__PURE__ */ sum(
  ['Interval', timeDurationType],
  ['Time', timestampType],
);

export type SpecialProductKind = keyof typeof specialElements;

/**
 * The special meaning of `type`, if any. Refs are not followed.
 *
 * @example
 * ```ts
 * specialKindOf(optionType({ kind: 'u8' })); // 'option'
 * ```
 */
export function specialKindOf(type: AlgebraicType): SpecialKind | undefined {
  switch (type.kind) {
    case 'product':
      return specialProductKindOf(type) ?? (type.elements.length === 0 ? 'unit' : undefined);
    case 'sum':
      return specialSumKindOf(type);
    case 'array':
      return type.element.kind === 'u8' ? 'bytes' : undefined;
    default:
      return undefined;
  }
}

/** Which of the five one-element products `type` is, if any. */
export function specialProductKindOf(type: AlgebraicType): SpecialProductKind | undefined {
  if (type.kind !== 'product' || type.elements.length !== 1) return undefined;
  const element = type.elements[0];
  if (element === undefined) return undefined;
  for (const kind of specialProductKinds) {
    const special = specialElements[kind];
    if (element.name === special.name && element.type.kind === special.kind) return kind;
  }
  return undefined;
}

/**
 * Maximum number of levels around a product of these elements. Unit and the special products hold
 * no other values: they do not count as a level of nesting, and are allowed wherever a number is.
 */
export function productDepthMax(elements: readonly NamedType[]): number {
  const isLeaf = specialProductKindOf({ kind: 'product', elements }) !== undefined;
  return isLeaf || elements.length === 0 ? Infinity : nestingDepthMax;
}

function specialSumKindOf(type: SumType): SpecialKind | undefined {
  const [first, second] = type.variants;
  if (first === undefined || second === undefined || type.variants.length !== 2) return undefined;
  if (first.name === 'some' && second.name === 'none') {
    return specialKindOf(second.type) === 'unit' ? 'option' : undefined;
  }
  if (first.name === 'ok' && second.name === 'err') return 'result';
  if (first.name === 'Interval' && second.name === 'Time') {
    const isScheduleAt =
      specialProductKindOf(first.type) === 'timeDuration' &&
      specialProductKindOf(second.type) === 'timestamp';
    return isScheduleAt ? 'scheduleAt' : undefined;
  }
  return undefined;
}

const specialProductKinds = Object.keys(specialElements) as readonly SpecialProductKind[];

function specialProduct(kind: SpecialProductKind): ProductType {
  const { name, kind: scalar } = specialElements[kind];
  return product([name, { kind: scalar }]);
}

function named(pairs: readonly (readonly [string, AlgebraicType])[]): NamedType[] {
  return pairs.map(([name, type]) => ({ name, type }));
}

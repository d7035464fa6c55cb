import fc from 'fast-check';
import { present } from '../../src/assert.ts';
import { integerRange, isIntegerKind } from '../../src/values/integer-range.ts';
import {
  identityType,
  optionType,
  resultType,
  scheduleAtType,
  timestampType,
  unitType,
} from '../../src/values/special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from '../../src/values/type.ts';
import { resolveType } from '../../src/values/typespace.ts';
import type { Value } from '../../src/values/value.ts';

/** Refs that random types may hold: a list, and a tree with names. */
export const typespace: Typespace = {
  types: [
    optionType({
      kind: 'product',
      elements: [
        { name: 'head', type: { kind: 'u16' } },
        { name: 'tail', type: { kind: 'ref', ref: 0 } },
      ],
    }),
    {
      kind: 'product',
      elements: [
        { name: 'label', type: { kind: 'string' } },
        { name: 'below', type: { kind: 'array', element: { kind: 'ref', ref: 1 } } },
      ],
    },
  ],
};

const scalarKinds: readonly ScalarKind[] = [
  'string',
  'bool',
  ...Object.keys(integerRange).filter(isIntegerKind),
  'f32',
  'f64',
];

const anyScalar = fc.constantFrom(...scalarKinds.map((kind): AlgebraicType => ({ kind })));
const anySpecial = fc.constantFrom<AlgebraicType>(
  unitType,
  identityType,
  timestampType,
  scheduleAtType,
  { kind: 'ref', ref: 0 },
  { kind: 'ref', ref: 1 },
);

export const { type: anyType } = fc.letrec<{ type: AlgebraicType }>((tie) => ({
  type: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    anyScalar,
    anySpecial,
    tie('type').map((element): AlgebraicType => ({ kind: 'array', element })),
    tie('type').map(optionType),
    fc.tuple(tie('type'), tie('type')).map(([ok, err]) => resultType(ok, err)),
    anyNamed(tie('type'), 0).map((elements): AlgebraicType => ({ kind: 'product', elements })),
    anyNamed(tie('type'), 1).map((variants): AlgebraicType => ({ kind: 'sum', variants })),
  ),
}));

/** Names are distinct and do not read as tags. */
function anyNamed(type: fc.Arbitrary<AlgebraicType>, minLength: number): fc.Arbitrary<NamedType[]> {
  return fc
    .array(type, { minLength, maxLength: 4 })
    .map((types) => types.map((inner, index) => ({ name: `n${index}`, type: inner })));
}

const anyText = fc.string({ unit: 'binary', maxLength: 90 });

/** Any value of a type over `typespace`. */
export function anyValue(type: AlgebraicType, depth = 0): fc.Arbitrary<Value> {
  switch (type.kind) {
    case 'ref':
      return anyValue(resolveType(type, typespace), depth + 1);
    case 'product':
      return fc.tuple(...type.elements.map((element) => anyValue(element.type, depth)));
    case 'sum': {
      // Deep inside recursive types only the last variant is taken: it ends them.
      const from = depth > 3 ? type.variants.length - 1 : 0;
      return fc.integer({ min: from, max: type.variants.length - 1 }).chain((tag) =>
        anyValue(present(type.variants[tag], 'variant').type, depth).map((value) => ({
          tag,
          value,
        })),
      );
    }
    case 'array':
      if (type.element.kind === 'u8') return fc.uint8Array({ maxLength: 20 });
      if (depth > 3) return fc.constant([]);
      return fc.array(anyValue(type.element, depth), { maxLength: 3 });
    case 'string':
      return anyText;
    case 'bool':
      return fc.boolean();
    case 'f32':
      return fc.float();
    case 'f64':
      return fc.double();
    default: {
      const { min, max } = integerRange[type.kind];
      const isWide = max > 0xffff_ffffn;
      return fc.bigInt({ min, max }).map((value) => (isWide ? value : Number(value)));
    }
  }
}

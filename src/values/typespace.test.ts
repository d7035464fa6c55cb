import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import {
  bytesType,
  identityType,
  neverType,
  optionType,
  product,
  resultType,
  scheduleAtType,
  specialKindOf,
  sum,
  timeDurationType,
  timestampType,
  unitType,
} from './special-types.ts';
import type { AlgebraicType, SumType, Typespace } from './type.ts';
import {
  checkType,
  InvalidTypeError,
  inlineRefs,
  resolveType,
  typesEqual,
  typeText,
} from './typespace.ts';

const u8: AlgebraicType = { kind: 'u8' };
const ref = (index: number): AlgebraicType => ({ kind: 'ref', ref: index });
const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });

describe('[values 1] refs', () => {
  const typespace: Typespace = {
    types: [
      ref(1),
      product(['a', ref(2)], ['b', ref(2)]),
      u8,
      optionType(ref(3)),
      ref(4),
      product(['x', ref(5)]),
    ],
  };

  it('are followed in chains', () => {
    expect(resolveType(ref(0), typespace)).toBe(typespace.types[1]);
    expect(resolveType(u8, typespace)).toBe(u8);
    expect(() => resolveType(ref(9), typespace)).toThrow(
      new InvalidTypeError('type &9 does not exist'),
    );
    expect(() => resolveType(ref(4), typespace)).toThrow('refers to itself');
  });

  it('are inlined, unless they recur', () => {
    expect(inlineRefs(list(ref(0)), typespace)).toEqual(list(product(['a', u8], ['b', u8])));
    expect(() => inlineRefs(ref(3), typespace)).toThrow('type &3 is recursive');
    expect(() => inlineRefs(ref(9), typespace)).toThrow('does not exist');
  });

  it('recur legally through a sum or an array only', () => {
    expect(() => checkType(ref(3), typespace)).not.toThrow();
    expect(() => checkType(ref(4), typespace)).toThrow('type &4 contains itself');
    expect(() => checkType(ref(5), typespace)).toThrow('type &5 contains itself');
    const tree: Typespace = { types: [product(['kids', list(ref(0))])] };
    expect(() => checkType(ref(0), tree)).not.toThrow();
    const detour: Typespace = {
      types: [product(['a', ref(1)], ['b', list(u8)]), product(['c', ref(0)])],
    };
    expect(() => checkType(ref(0), detour)).toThrow('contains itself');
  });

  it('must not make a type too deep or too large', () => {
    const doubling = Array.from({ length: 40 }, (_, index) =>
      index === 39 ? u8 : product(['a', ref(index + 1)], ['b', ref(index + 1)]),
    );
    expect(() => checkType(ref(0), { types: doubling })).toThrow('the type is too large');
    expect(() => inlineRefs(ref(0), { types: doubling })).toThrow(InvalidTypeError);
    const chain = (length: number) => ({
      types: Array.from({ length: length + 1 }, (_, index) =>
        index === length ? u8 : list(ref(index + 1)),
      ),
    });
    expect(() => checkType(ref(0), chain(limits.nestingDepthMax))).not.toThrow();
    expect(() => checkType(ref(0), chain(limits.nestingDepthMax + 1))).toThrow('nested deeper');
    expect(() => checkType(ref(0), chain(100_000))).toThrow('nested deeper');
    const variants = Array.from({ length: 257 }, (_, index) => [`v${index}`, unitType] as const);
    expect(() => checkType(sum(...variants.slice(1)))).not.toThrow();
    expect(() => checkType(sum(...variants))).toThrow('more than 256 variants');
  });
});

describe('[values 1] equality of types', () => {
  it('is structural and includes names', () => {
    expect(typesEqual(product(['a', u8]), product(['a', u8]))).toBe(true);
    expect(typesEqual(product(['a', u8]), product(['b', u8]))).toBe(false);
    expect(typesEqual(product(['a', u8]), product(['a', u8], ['b', u8]))).toBe(false);
    expect(typesEqual(product(), sum())).toBe(false);
    expect(typesEqual(list(u8), list({ kind: 'i8' }))).toBe(false);
    expect(typesEqual(sum(['A', u8]), sum(['A', list(u8)]))).toBe(false);
  });

  it('sees through refs, recursive ones too', () => {
    const a: Typespace = { types: [optionType(ref(0))] };
    const b: Typespace = { types: [u8, optionType(optionType(ref(1)))] };
    expect(typesEqual(ref(0), ref(1), a, b)).toBe(true);
    expect(typesEqual(ref(0), ref(0), a, b)).toBe(false);
    expect(typesEqual(ref(0), u8, b)).toBe(true);
  });
});

describe('[values 7] texts of types', () => {
  const texts: readonly (readonly [AlgebraicType, string])[] = [
    [{ kind: 'u32' }, 'U32'],
    [{ kind: 'string' }, 'String'],
    [bytesType, 'Array<U8>'],
    [product(['id', { kind: 'u32' }], ['name', { kind: 'string' }]), '(id: U32, name: String)'],
    [optionType({ kind: 'u32' }), '(some: U32 | none: ())'],
    [unitType, '()'],
    [neverType, '(|)'],
    [ref(3), '&3'],
    [{ kind: 'product', elements: [{ name: undefined, type: u8 }] }, '(0: U8)'],
  ];
  for (const [type, text] of texts) {
    it(text, () => expect(typeText(type)).toBe(text));
  }

  it('write refs out when their typespace is given', () => {
    const typespace: Typespace = { types: [optionType(ref(0)), u8] };
    expect(typeText(ref(1), typespace)).toBe('U8');
    expect(typeText(ref(0), typespace)).toBe('(some: &0 | none: ())');
    expect(typeText(ref(7), typespace)).toBe('&7');
  });

  it('write out no more of what doubles with every ref than is asked for', () => {
    const long = 'x'.repeat(2 ** 20);
    const types = Array.from({ length: 40 }, (_, at) =>
      product([long, at === 0 ? u8 : ref(at - 1)], ['b', at === 0 ? u8 : ref(at - 1)]),
    );
    expect(typeText(ref(39), { types }, 100)).toBe(`(${long}: …, …)`);
    expect(typeText(ref(1), { types: [product(['a', u8]), product(['b', ref(0)])] }, 100)).toBe(
      '(b: (a: U8))',
    );
  });
});

describe('[values 3, module-def 1] special types', () => {
  it('are recognised by exact structure', () => {
    expect(specialKindOf(identityType)).toBe('identity');
    expect(specialKindOf(scheduleAtType)).toBe('scheduleAt');
    expect(specialKindOf(optionType(u8))).toBe('option');
    expect(specialKindOf(resultType(u8, u8))).toBe('result');
    expect(specialKindOf(unitType)).toBe('unit');
    expect(specialKindOf(bytesType)).toBe('bytes');
  });

  it('are ordinary when anything differs', () => {
    const ordinary: readonly AlgebraicType[] = [
      product(['__identity__', { kind: 'u128' }]),
      product(['__identity__', { kind: 'u256' }], ['x', u8]),
      product(['identity', { kind: 'u256' }]),
      sum(['none', unitType], ['some', u8]),
      sum(['some', u8], ['none', u8]),
      sum(['Some', u8], ['None', unitType]),
      sum(['some', u8], ['none', unitType], ['more', u8]),
      sum(['err', u8], ['ok', u8]),
      sum(['interval', timeDurationType], ['time', timestampType]),
      sum(['Interval', timestampType], ['Time', timeDurationType]),
      list({ kind: 'i8' }),
      neverType,
      u8,
    ];
    expect(ordinary.map(specialKindOf)).toEqual(ordinary.map(() => undefined));
    const unnamed: SumType = {
      kind: 'sum',
      variants: [
        { name: undefined, type: u8 },
        { name: undefined, type: unitType },
      ],
    };
    expect(specialKindOf(unnamed)).toBeUndefined();
  });
});

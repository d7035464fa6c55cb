import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import type { SchemaTypes } from '../schema/type-words.ts';
import { optionType, product, sum, unitType } from '../values/special-types.ts';
import type { AlgebraicType, ProductType } from '../values/type.ts';
import { argumentsSchema } from './json-schema.ts';

const noTypes: SchemaTypes = { typespace: { types: [] }, types: [] };
const of = (params: ProductType, types = noTypes, docs = new Map<string, string>()) =>
  argumentsSchema({ params }, types, docs);
const u8: AlgebraicType = { kind: 'u8' };

describe('the schema of arguments', () => {
  it('[mcp B20] requires what is no option, and nothing else may be there', () => {
    const params = product(['a', u8], ['b', optionType({ kind: 'string' })]);
    expect(of(params, noTypes, new Map([['a', 'How many.']]))).toMatchObject({
      type: 'object',
      properties: { a: { type: 'integer', minimum: 0, maximum: 255, description: 'How many.' } },
      required: ['a'],
      additionalProperties: false,
    });
    expect(of(product())).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  });

  it('[mcp B20] says each variant by name and by number', () => {
    const colour = sum(['red', unitType], ['green', unitType], ['7', u8]);
    const { properties } = of(product(['it', colour])) as { properties: { it: object } };
    expect(Object.keys((properties.it as { properties: object }).properties)).toEqual([
      '2',
      'red',
      'green',
    ]);
    expect(properties.it).toMatchObject({
      anyOf: [
        { prefixItems: [{ enum: ['red', 0, 'green', 1] }, { maxItems: 0 }] },
        { prefixItems: [{ enum: ['2', 2] }, { type: 'integer' }] },
      ],
    });
  });

  it('[mcp B20] has wide integers as numbers, or as digits in quotes', () => {
    const { properties } = of(product(['it', { kind: 'u64' }])) as { properties: object };
    expect(properties).toEqual({
      it: {
        type: ['string', 'integer'],
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        pattern: '^(?:0|[1-9][0-9]{0,19})$',
      },
    });
  });

  it('[mcp B20] has a place for each type with a name, also within itself', () => {
    const types: SchemaTypes = {
      typespace: {
        types: [product(['below', { kind: 'array', element: { kind: 'ref', ref: 0 } }])],
      },
      types: [
        {
          scope: ['a'],
          name: 'Tree',
          sourceScope: [],
          sourceName: '',
          ref: 0,
          customOrdering: false,
        },
      ],
    };
    expect(of(product(['it', { kind: 'ref', ref: 0 }]), types)).toMatchObject({
      properties: { it: { $ref: '#/$defs/a.Tree' } },
      $defs: {
        'a.Tree': { properties: { below: { type: 'array', items: { $ref: '#/$defs/a.Tree' } } } },
      },
    });
  });

  it('[mcp B20] takes parameters without names as an array', () => {
    const params: ProductType = { kind: 'product', elements: [{ name: undefined, type: u8 }] };
    expect(of(params)).toMatchObject({
      properties: { args: { type: 'array', minItems: 1, maxItems: 1 } },
      required: ['args'],
    });
  });

  it('[mcp B20] grows with a type as people write it, and only so far', () => {
    let deep: AlgebraicType = u8;
    for (let depth = 0; depth < 60; depth += 1) deep = product(['a', deep], ['b', u8]);
    const schema = of(product(['it', deep]));
    expect(JSON.stringify(schema).length).toBeLessThan(16_384);
    const tags = Array.from({ length: 60_000 }, () => ['x', sum(['a', unitType])] as const);
    expect(of(product(['it', product(...tags)]))).toMatchObject({
      properties: { it: { description: expect.any(String) } },
    });
    const fields = Array.from({ length: 400 }, (_, at) => [`field${at}`, u8] as const);
    const wide = of(product(['it', product(...fields)], ['rest', optionType(u8)]));
    expect(JSON.stringify(wide).length).toBeLessThan(limits.reducerSchemaCharactersMax);
    expect(wide).toMatchObject({
      properties: { it: { description: expect.stringMatching(/^\(field0: U8, .*…$/) } },
      required: ['it'],
      additionalProperties: false,
    });
  });
});

import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyType, anyValue, typespace } from '../../test/support/arbitrary-values.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import type { SchemaTypes } from '../schema/type-words.ts';
import { argumentsFromLooseJson, JsonError, parseJson, valueToJson } from '../values/json.ts';
import type { AlgebraicType, ProductType } from '../values/type.ts';
import type { Value } from '../values/value.ts';
import { argumentsSchema, isOption, shortTypeText } from './json-schema.ts';
import { quoteWideIntegers } from './structured.ts';

const types: SchemaTypes = {
  typespace,
  types: [
    {
      scope: ['a b'],
      name: 'List',
      sourceScope: [],
      sourceName: '',
      ref: 0,
      customOrdering: false,
    },
  ],
};

/** Validates JSON against a schema with the validator of the official clients. */
function validatorOf(schema: JsonSchema): (json: unknown) => boolean {
  const validate = new AjvJsonSchemaValidator().getValidator(JSON.parse(JSON.stringify(schema)));
  return (json) => validate(json).valid;
}

function schemaFor(type: AlgebraicType): JsonSchema {
  return argumentsSchema({ params: oneOf(type) }, types, new Map());
}

/** Returns the schema of a type that was too large to write out: it accepts anything. */
function shortSchemaFor(type: AlgebraicType): JsonSchema {
  return {
    type: 'object',
    properties: { it: { description: shortTypeText(type, typespace) } },
    ...(isOption({ name: 'it', type }, types) ? {} : { required: ['it'] }),
    additionalProperties: false,
  };
}

function isRead(params: ProductType, json: unknown): boolean {
  try {
    argumentsFromLooseJson(params, parseJson(JSON.stringify(json)), 'f', typespace);
    return true;
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}

const oneOf = (type: AlgebraicType): ProductType => ({
  kind: 'product',
  elements: [{ name: 'it', type }],
});

/** A type with the JSON of one of its values, in either shape; wide integers are quoted. */
const typedJson = anyType.chain((type) =>
  fc.record({
    type: fc.constant(type),
    json: fc
      .tuple(anyValue(type), fc.constantFrom('named' as const, 'positional' as const))
      .filter(([value]) => isFiniteThroughout(value))
      .map(([value, shape]): unknown => {
        return JSON.parse(quoteWideIntegers(valueToJson(type, value, shape, typespace)));
      }),
  }),
);

function isFiniteThroughout(value: Value): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value instanceof Uint8Array) return true;
  return 'tag' in value ? isFiniteThroughout(value.value) : value.every(isFiniteThroughout);
}

/** Values to put in the wrong place. Quoted numbers are neither tags nor wider than 64 bits. */
const junk = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  256,
  -129,
  1.5,
  70_000,
  5_000_000_000,
  '',
  '4711',
  '-4711',
  'ff',
  'zz',
  '0x1f',
  '-0x1',
  '0x',
  [],
  {},
  [0, []],
  [7, []],
  ['some', 1],
  { some: 1 },
  { none: [] },
  { n0: null },
  [[], []],
);

/** Replaces one part of `json`. */
function withJunk(json: unknown, steps: readonly number[], other: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined || typeof json !== 'object' || json === null) return other;
  const keys = Object.keys(json);
  if (keys.length === 0) return other;
  const chosen = keys[step % keys.length];
  const parts = Object.entries(json).map(([key, part]) => {
    return [key, key === chosen ? withJunk(part, rest, other) : part];
  });
  return Array.isArray(json) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}

describe('the schema of arguments', () => {
  it('[mcp B20] takes every value as our own results show it', () => {
    fc.assert(
      fc.property(typedJson, ({ type, json }) => {
        expect(isRead(oneOf(type), { it: json })).toBe(true);
        expect(validatorOf(schemaFor(type))({ it: json })).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('[mcp B20] accepts only JSON that the reader accepts', () => {
    const counts = { short: 0, read: 0, refused: 0 };
    fc.assert(
      fc.property(
        typedJson,
        fc.array(fc.tuple(fc.array(fc.nat(5), { maxLength: 5 }), junk), { minLength: 20 }),
        ({ type, json }, changes) => {
          const params = oneOf(type);
          const schema = schemaFor(type);
          if (JSON.stringify(schema) === JSON.stringify(shortSchemaFor(type))) {
            counts.short += 1;
            return;
          }
          const isValid = validatorOf(schema);
          for (const [steps, other] of changes) {
            const given = { it: withJunk(json, steps, other) };
            const read = isRead(params, given);
            counts[read ? 'read' : 'refused'] += 1;
            // The reader also takes forms that the schema does not show.
            if (!read) expect([isValid(given), given]).toEqual([false, given]);
          }
        },
      ),
      { numRuns: 120 },
    );
    expect(counts.short).toBeLessThan(30);
    expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(100);
  });
});

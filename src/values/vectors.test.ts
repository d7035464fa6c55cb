import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { present } from '../assert.ts';
import { BinaryReader } from './binary-reader.ts';
import { BinaryWriter } from './binary-writer.ts';
import { decodeValue } from './decode.ts';
import { encodeValue } from './encode.ts';
import { fromHex, toHex } from './hex.ts';
import {
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseJson,
  valueFromJson,
  valueToJson,
} from './json.ts';
import { skipperOf, validatorOf } from './layout.ts';
import { nativeDecoderOf, nativeEncoderOf } from './native.ts';
import { specialKindOf } from './special-types.ts';
import type { AlgebraicType, Typespace } from './type.ts';
import { emptyTypespace } from './type.ts';
import {
  decodeType,
  decodeTypespace,
  encodeType,
  encodeTypespace,
  typeFromJson,
  typespaceFromJson,
  typespaceToJson,
  typeToJson,
} from './type-codec.ts';
import type { Value } from './value.ts';

// The vectors are data recorded from a client library; test/vectors has no code of its own.

describe('[values 2, 4] recorded values', () => {
  const cases = listIn(loadVectors('values.json'), 'cases');

  it('are all there', () => {
    expect(cases).toHaveLength(143);
  });

  for (const vector of cases) {
    it(textIn(vector, 'name'), () => {
      const type = typeFromJson(memberOf(vector, 'type'));
      const bytes = bytesIn(vector, 'bsatn');
      const value = decodeValue(type, bytes);
      expect(value).toEqual(readableValue(type, memberOf(vector, 'value')));
      expectAllCodecsAgree(type, emptyTypespace, bytes);
      for (const [key, shape] of [
        ['json', 'named'],
        ['json_positional', 'positional'],
      ] as const) {
        const text = textIn(vector, key);
        expect(valueToJson(type, value, shape)).toBe(text);
        if (vector.get('json_lossy') === true) continue;
        expect(encodeValue(type, valueFromJson(type, parseJson(text)))).toEqual(bytes);
      }
    });
  }
});

describe('[values 5] recorded types', () => {
  const root = loadVectors('types.json');

  for (const vector of listIn(root, 'types')) {
    it(textIn(vector, 'name'), () => {
      const type = typeFromJson(memberOf(vector, 'json'));
      expect(typeFromJson(parseJson(typeToJson(type)))).toEqual(type);
      expect(typeToJson(type)).toBe(plainText(memberOf(vector, 'json')));
      const writer = new BinaryWriter();
      encodeType(writer, type);
      expect(toHex(writer.view())).toBe(textIn(vector, 'bsatn'));
      expect(decodeType(new BinaryReader(bytesIn(vector, 'bsatn')))).toEqual(type);
    });
  }

  for (const vector of listIn(root, 'typespaces')) {
    it(`typespace: ${textIn(vector, 'name')}`, () => {
      const typespace = typespaceFromJson(memberOf(vector, 'json'));
      expect(typespaceToJson(typespace)).toBe(plainText(memberOf(vector, 'json')));
      const writer = new BinaryWriter();
      encodeTypespace(writer, typespace);
      expect(toHex(writer.view())).toBe(textIn(vector, 'bsatn'));
      expect(decodeTypespace(new BinaryReader(bytesIn(vector, 'bsatn')))).toEqual(typespace);
    });
  }

  for (const vector of listIn(root, 'values_with_typespace')) {
    it(`through a typespace: ${textIn(vector, 'name')}`, () => {
      const typespace = typespaceFromJson(memberOf(vector, 'typespace'));
      const type = typeFromJson(memberOf(vector, 'type'));
      const bytes = bytesIn(vector, 'bsatn');
      const value = decodeValue(type, bytes, typespace);
      const text = textIn(vector, 'json');
      expect(valueToJson(type, value, 'named', typespace)).toBe(text);
      const read = valueFromJson(type, parseJson(text), typespace);
      expect(encodeValue(type, read, typespace)).toEqual(bytes);
      expectAllCodecsAgree(type, typespace, bytes);
    });
  }
});

function expectAllCodecsAgree(type: AlgebraicType, typespace: Typespace, bytes: Uint8Array): void {
  expect(encodeValue(type, decodeValue(type, bytes, typespace), typespace)).toEqual(bytes);
  expect(skipperOf(type, typespace)(bytes, 0)).toBe(bytes.length);
  expect(validatorOf(type, typespace)(bytes, 0, bytes.length)).toBe(bytes.length);
  const native = nativeDecoderOf(type, typespace)(new BinaryReader(bytes));
  const writer = new BinaryWriter();
  nativeEncoderOf(type, typespace)(writer, native);
  // The JavaScript form cannot tell the inner none of a nested option from the outer one.
  const isNested = isNestedOption(type) && toHex(bytes) === '0001';
  expect(toHex(writer.view())).toBe(isNested ? '01' : toHex(bytes));
}

function isNestedOption(type: AlgebraicType): boolean {
  if (type.kind !== 'sum' || specialKindOf(type) !== 'option') return false;
  return type.variants.some((variant) => specialKindOf(variant.type) === 'option');
}

/** The value that the readable form of the vectors represents. */
function readableValue(type: AlgebraicType, json: JsonValue): Value {
  switch (type.kind) {
    case 'ref':
      throw new Error('no recorded value has a ref');
    case 'product':
      return type.elements.map((element) =>
        readableValue(element.type, memberOf(asObject(json), present(element.name, 'name'))),
      );
    case 'sum': {
      const tag = Number((memberOf(asObject(json), 'tag') as JsonNumber).text);
      const variant = present(type.variants[tag], 'variant');
      return { tag, value: readableValue(variant.type, memberOf(asObject(json), 'value')) };
    }
    case 'array':
      if (type.element.kind === 'u8') return bytesIn(asObject(json), 'hex');
      return (json as JsonValue[]).map((item) => readableValue(type.element, item));
    case 'string':
      return json as string;
    case 'bool':
      return json as boolean;
    case 'f32':
    case 'f64':
      return Number(json instanceof JsonNumber ? json.text : json);
    case 'i64':
    case 'u64':
    case 'i128':
    case 'u128':
    case 'i256':
    case 'u256':
      return BigInt(json as string);
    default:
      return Number(json);
  }
}

function loadVectors(name: string): JsonObject {
  const url = new URL(`../../test/vectors/${name}`, import.meta.url);
  return asObject(parseJson(readFileSync(fileURLToPath(url), 'utf8')));
}

function memberOf(object: JsonObject, key: string): JsonValue {
  const value = object.get(key);
  if (value === undefined) throw new Error(`the vector has no ${key}`);
  return value;
}

function asObject(json: JsonValue): JsonObject {
  if (!(json instanceof JsonObject)) throw new Error('expected an object');
  return json;
}

function listIn(object: JsonObject, key: string): JsonObject[] {
  return (memberOf(object, key) as JsonValue[]).map(asObject);
}

function textIn(object: JsonObject, key: string): string {
  return memberOf(object, key) as string;
}

function bytesIn(object: JsonObject, key: string): Uint8Array {
  return present(fromHex(textIn(object, key)), 'hexadecimal bytes');
}

/** The JSON text of a parsed value, without blanks. */
function plainText(json: JsonValue): string {
  if (json instanceof JsonNumber) return json.text;
  if (Array.isArray(json)) return `[${json.map(plainText).join(',')}]`;
  if (json instanceof JsonObject) {
    const members = json.entries.map(
      ([key, value]) => `${JSON.stringify(key)}:${plainText(value)}`,
    );
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(json);
}

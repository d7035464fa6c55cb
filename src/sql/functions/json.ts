/** Functions over texts that hold JSON, and values as JSON. */
import { BinaryReader } from '../../values/binary-reader.ts';
import { decodeValue } from '../../values/decode.ts';
import { float32Text, float64Text } from '../../values/float-text.ts';
import { plainPrinterOf, plainWriterOf } from '../../values/plain.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import type { Value } from '../../values/value.ts';
import { invalid } from '../failure.ts';
import type { JsonOperator } from '../syntax/ast.ts';
import { arrayOf } from './arrays.ts';
import { optionInnerType } from './convert.ts';
import { family } from './family.ts';
import type { FunctionFamily, QueryValue, ScalarFunction } from './function.ts';
import {
  elementCountOf,
  elementOfJson,
  fieldOfJson,
  kindOfJson,
  requireJson,
  textOfJson,
} from './json-text.ts';
import { encodeQueryValue } from './value-codec.ts';
import { isNumericType, scalarTypes, valueKindOf } from './value-kind.ts';

const { string, u64 } = scalarTypes;

/** Names of functions whose results are JSON: inside of other JSON they are not quoted. */
const makers: ReadonlySet<string> = new Set([
  'json',
  'json_build_object',
  'json_build_array',
  'json_agg',
  '->',
]);

export function makesJson({ name }: ScalarFunction): boolean {
  return makers.has(name);
}

export type JsonBuilder = 'json_build_object' | 'json_build_array';

export function isJsonBuilder(name: string): name is JsonBuilder {
  return name === 'json_build_object' || name === 'json_build_array';
}

/**
 * What an operator finds in a JSON text: `->` and `->>` by a key or a position, `#>>` by a list of
 * both as texts; `key` is String, I64 or an array of String.
 */
export function jsonStep(operator: JsonOperator, key: AlgebraicType): ScalarFunction {
  return {
    name: operator,
    parameters: [string, key],
    isStrict: true,
    canRaise: true,
    evaluate: ([text, wanted]) => {
      let found: string | undefined = requireJson(text as string);
      for (const step of stepsOf(wanted as QueryValue)) {
        if (found === undefined) return null;
        found = stepInto(found, step, operator === '#>>');
      }
      if (found === undefined) return null;
      return operator === '->' ? found : textOfJson(found);
    },
  };
}

function stepsOf(wanted: QueryValue): readonly (string | number)[] {
  if (typeof wanted === 'bigint') return [Number(wanted)];
  if (wanted instanceof Uint8Array) return decodeValue(arrayOf(string), wanted) as string[];
  return [wanted as string];
}

function stepInto(json: string, step: string | number, isPath: boolean): string | undefined {
  if (typeof step === 'number') return elementOfJson(json, step);
  const isPosition = isPath && json[0] === '[' && /^-?\d{1,9}$/.test(step);
  return isPosition ? elementOfJson(json, Number(step)) : fieldOfJson(json, step);
}

/** An argument of a function that builds JSON. */
export interface JsonArgument {
  readonly type: AlgebraicType;
  /** It is JSON already. */
  readonly isJson: boolean;
}

/** An object from keys and values in turn, or an array. Blanks are those of PostgreSQL. */
export function buildingJson(
  name: JsonBuilder,
  list: readonly JsonArgument[],
  types: Typespace,
): ScalarFunction {
  const writers = list.map((argument) => jsonWriterOf(argument, types));
  const isObject = name === 'json_build_object';
  return {
    name,
    parameters: list.map(({ type }) => type),
    isStrict: false,
    isNullableFor: () => false,
    canRaise: isObject,
    evaluate: (values) => {
      const texts = values.map((value, at) => writers[at]?.(value) ?? 'null');
      if (!isObject) return `[${texts.join(', ')}]`;
      const members: string[] = [];
      for (let at = 0; at < texts.length; at += 2) {
        if (values[at] === null) throw invalid('A key of json_build_object is NULL');
        const key = texts[at] as string;
        members.push(`${key[0] === '"' ? key : JSON.stringify(key)} : ${texts[at + 1]}`);
      }
      return `{${members.join(', ')}}`;
    },
  };
}

/** The values of a group, which an array holds, as a JSON array. */
export function aggregatedJson(array: AlgebraicType, isJson: boolean): ScalarFunction {
  const element = array.kind === 'array' ? array.element : array;
  const inner = optionInnerType(element) ?? element;
  const write = valueWriterOf(inner, isJson);
  const between = inner.kind === 'array' && valueKindOf(inner) === 'composite' ? ', \n ' : ', ';
  return {
    name: 'json_agg',
    parameters: [array],
    isStrict: true,
    canRaise: false,
    evaluate: ([values]) => {
      const list = decodeValue(array, values as Uint8Array) as readonly Value[];
      const texts = list.map((value) => (inner === element ? write(value) : someOr(value, write)));
      return `[${texts.join(between)}]`;
    },
  };
}

type Writer<Given> = (value: Given) => string;

/** Writes a value of a running statement; null is `null`. */
function jsonWriterOf({ type, isJson }: JsonArgument, types: Typespace): Writer<QueryValue> {
  const kind = valueKindOf(type, types);
  const isPlain = kind === 'string' || kind === 'bool' || isNumericType(type);
  if (isPlain) {
    const write = valueWriterOf(type, isJson);
    return (value) => (value === null ? 'null' : write(value));
  }
  if (kind === 'composite') {
    const write = valueWriterOf(type, isJson, types);
    return (value) =>
      value === null ? 'null' : write(decodeValue(type, value as Uint8Array, types));
  }
  const print = plainPrinterOf(type, types);
  return (value) => {
    if (value === null) return 'null';
    return print(new BinaryReader(encodeQueryValue(type, value, types)), 0);
  };
}

/** Numbers are digits, whatever their size; else values are in the plain form. */
function valueWriterOf(given: AlgebraicType, isJson: boolean, types?: Typespace): Writer<Value> {
  const type = types === undefined ? given : resolveType(given, types);
  const inner = optionInnerType(type, types);
  if (inner !== undefined) {
    const write = valueWriterOf(inner, isJson, types);
    return (value) => someOr(value, write);
  }
  switch (type.kind) {
    case 'string':
      return isJson ? (value) => value as string : (value) => JSON.stringify(value);
    case 'f32':
      return (value) => floatText(value as number, float32Text);
    case 'f64':
      return (value) => floatText(value as number, float64Text);
    case 'bool':
      return (value) => String(value);
    case 'array': {
      if (specialKindOf(type) === 'bytes') break;
      const write = valueWriterOf(type.element, isJson, types);
      return (value) => `[${(value as readonly Value[]).map(write).join(',')}]`;
    }
    default:
      if (isNumericType(type)) return (value) => String(value);
  }
  return plainWriterOf(type, types);
}

function someOr(value: Value, write: Writer<Value>): string {
  const { tag, value: held } = value as Extract<Value, { readonly tag: number }>;
  return tag === 0 ? write(held) : 'null';
}

/** JSON has no NaN and no infinities. */
function floatText(value: number, textOf: (value: number) => string): string {
  const text = textOf(value);
  return Number.isFinite(value) ? text.replace(/\.0$/, '') : JSON.stringify(text);
}

const ofJson = (name: string, result: AlgebraicType, evaluate: (json: string) => QueryValue) =>
  family(
    name,
    [`${name}(json String) → ${result.kind === 'u64' ? 'U64' : 'String'}`],
    [
      {
        parameters: [string],
        result,
        canRaise: true,
        evaluate: ([text]) => evaluate(requireJson(text as string)),
      },
    ],
  );

/** A function that is made for its arguments: see `check/type-json.ts`. */
const listed = (name: string, signature: string): FunctionFamily => {
  return { name, signatures: [signature], resolve: () => undefined };
};

export const jsonFunctions: readonly FunctionFamily[] = [
  ofJson('json', string, (json) => json),
  ofJson('json_typeof', string, kindOfJson),
  ofJson('json_array_length', u64, (json) => {
    const count = elementCountOf(json);
    if (count !== undefined) return BigInt(count);
    throw invalid(`json_array_length needs an array, not ${kindOfJson(json)}`);
  }),
  listed('json_build_object', 'json_build_object(key, value, …) → String'),
  listed('json_build_array', 'json_build_array(value, …) → String'),
];

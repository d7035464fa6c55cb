import type { AlgebraicType, ProductType } from '../values/type.ts';
import { typeToJson } from '../values/type-codec.ts';

/**
 * Pieces of JSON text in the wire shape of definitions: sums as an object with one key, options as
 * `some` or `none`, bytes as hex, integers of any width as plain numbers. A piece is text, so keys
 * keep their order and no integer passes through a float.
 */
export type Json = string;

/** Leaves out the fields whose value is `undefined`. */
export function jsonObject(fields: Readonly<Record<string, Json | undefined>>): Json {
  const members = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  return `{${members.join(',')}}`;
}

export function jsonList<Item>(items: readonly Item[], write: (item: Item) => Json): Json {
  return `[${items.map(write).join(',')}]`;
}

export function jsonString(text: string): Json {
  return JSON.stringify(text);
}

export function jsonInteger(value: number | bigint): Json {
  return value.toString();
}

export function jsonBoolean(value: boolean): Json {
  return value ? 'true' : 'false';
}

/** A variant without payload, unless one is given. */
export function jsonVariant(name: string, payload: Json = '[]'): Json {
  return `{${JSON.stringify(name)}:${payload}}`;
}

export function jsonOption<Item>(item: Item | undefined, write: (item: Item) => Json): Json {
  return item === undefined ? jsonVariant('none') : jsonVariant('some', write(item));
}

export function jsonBytes(bytes: Uint8Array): Json {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'));
  return `"${digits.join('')}"`;
}

export function jsonColumns(columns: readonly number[]): Json {
  return jsonList(columns, jsonInteger);
}

/** A product without the `Product` around it, for places where the wire format implies it. */
export function jsonProduct({ elements }: ProductType): Json {
  return jsonObject({
    elements: jsonList(elements, ({ name, type }) => {
      const fields = { name: jsonOption(name, jsonString), algebraic_type: jsonType(type) };
      return jsonObject(fields);
    }),
  });
}

export function jsonType(type: AlgebraicType): Json {
  return typeToJson(type);
}

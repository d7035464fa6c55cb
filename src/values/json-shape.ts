/**
 * Plain JSON of other programs and of files, read as checked values:
 *
 * ```ts
 * const grant = object({ identity: string, role: string, granted_at: number });
 * const { grants } = parseAs(text, object({ grants: list(grant) }));
 * ```
 *
 * Numbers are those of `JSON.parse`. The JSON of values, whose numbers can be larger, is read by
 * `json-text.ts`.
 */

import { JsonError } from './json-error.ts';

/**
 * Returns `json`, as `JSON.parse` made it, if it has the shape; else throws `JsonError`, which
 * names the place.
 */
export type Shape<Value> = (json: unknown, place: string) => Value;

/** What a shape reads. */
export type Shaped<Of extends Shape<unknown>> = ReturnType<Of>;

export function parseAs<Value>(text: string, shape: Shape<Value>): Value {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new JsonError('it is not JSON', { cause });
  }
  return shape(json, '');
}

export const string: Shape<string> = (json, place) => {
  if (typeof json !== 'string') throw wrong(place, 'a string');
  return json;
};

export const number: Shape<number> = (json, place) => {
  if (typeof json !== 'number') throw wrong(place, 'a number');
  return json;
};

export const boolean: Shape<boolean> = (json, place) => {
  if (typeof json !== 'boolean') throw wrong(place, 'true or false');
  return json;
};

export const anything: Shape<unknown> = (json) => json;

/** One of these words. */
export function word<Word extends string>(...words: readonly Word[]): Shape<Word> {
  return (json, place) => {
    const found = words.find((each) => each === json);
    if (found === undefined) throw wrong(place, `one of ${words.join(', ')}`);
    return found;
  };
}

export function list<Item>(item: Shape<Item>): Shape<readonly Item[]> {
  return (json, place) => {
    if (!Array.isArray(json)) throw wrong(place, 'a list');
    return json.map((each: unknown, at) => item(each, `${place}[${at}]`));
  };
}

type Fields = Readonly<Record<string, Shape<unknown>>>;

/** The names of the fields that may be absent. */
type OptionalOf<Of extends Fields> = {
  [Name in keyof Of]: undefined extends Shaped<Of[Name]> ? Name : never;
}[keyof Of];

type ShapedFields<Of extends Fields> = {
  readonly [Name in Exclude<keyof Of, OptionalOf<Of>>]: Shaped<Of[Name]>;
} & { readonly [Name in OptionalOf<Of>]?: Shaped<Of[Name]> };

/** An object with these fields; others are left out. */
export function object<Of extends Fields>(fields: Of): Shape<ShapedFields<Of>>;
export function object(fields: Fields): Shape<object> {
  const shapes = Object.entries(fields);
  return (json, place) => {
    const given = new Map(entriesOf(json, place));
    return Object.fromEntries(
      shapes
        .map(([name, shape]) => [name, shape(given.get(name), inside(place, name))] as const)
        .filter(([, value]) => value !== undefined),
    );
  };
}

/** An object with any keys, and values of one shape. */
export function record<Value>(value: Shape<Value>): Shape<Readonly<Record<string, Value>>> {
  return (json, place) =>
    Object.fromEntries(
      entriesOf(json, place).map(([name, each]) => [name, value(each, inside(place, name))]),
    );
}

/** Reads `one`, or `other` if `one` does not fit. */
export function either<One, Other>(one: Shape<One>, other: Shape<Other>): Shape<One | Other> {
  return (json, place) => {
    try {
      return one(json, place);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      try {
        return other(json, place);
      } catch (second) {
        if (!(second instanceof JsonError)) throw second;
        throw new JsonError(`${error.message}, and ${second.message}`);
      }
    }
  };
}

/** Also lets a field be absent. */
export function optional<Value>(shape: Shape<Value>): Shape<Value | undefined> {
  return (json, place) => (json === undefined ? undefined : shape(json, place));
}

/** Also lets it be `null`. */
export function nullable<Value>(shape: Shape<Value>): Shape<Value | null> {
  return (json, place) => (json === null ? null : shape(json, place));
}

function entriesOf(json: unknown, place: string): readonly (readonly [string, unknown])[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw wrong(place, 'an object');
  }
  return Object.entries(json);
}

function inside(place: string, name: string): string {
  return place === '' ? name : `${place}.${name}`;
}

function wrong(place: string, wanted: string): JsonError {
  return new JsonError(`${place === '' ? 'it' : `\`${place}\``} is not ${wanted}`);
}

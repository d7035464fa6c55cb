import { sqlParametersMax } from '../shared-limits.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../values/json.ts';

/** Values of a statement's parameters, each alone or in a list; a number is kept as its digits. */
export type SqlParameterValues = ReadonlyMap<string, SqlParameterValue>;

export type SqlParameterValue = SqlParameterScalar | readonly SqlParameterScalar[];

type SqlParameterScalar = string | boolean | null;

/** The parameters of a statement have the wrong shape; the message says how. */
export class SqlParametersError extends Error {
  override readonly name = 'SqlParametersError';
}

/**
 * Reads parameters from JSON: an array sets `$1`, `$2`, …, an object sets `:name` (or `$name`).
 * Values are strings, numbers, booleans or null, and lists of them for arrays; like a literal, each
 * takes the type that its position requires.
 */
export function sqlParametersFromJson(json: JsonValue): SqlParameterValues {
  const entries = entriesOf(json);
  if (entries.length > sqlParametersMax) {
    throw new SqlParametersError(
      `${entries.length} parameters exceed the ${sqlParametersMax} of one statement`,
    );
  }
  return new Map(entries.map(([name, value]) => [name, parameterValue(name, value)]));
}

function entriesOf(json: JsonValue): readonly (readonly [string, JsonValue])[] {
  if (Array.isArray(json)) return json.map((value, at) => [String(at + 1), value] as const);
  if (json instanceof JsonObject) return json.entries;
  throw new SqlParametersError(
    'params must be a JSON array, for $1, $2, …, or a JSON object, for :name',
  );
}

function parameterValue(name: string, value: JsonValue): SqlParameterValue {
  return Array.isArray(value)
    ? value.map((one) => scalarValue(name, one))
    : scalarValue(name, value);
}

function scalarValue(name: string, value: JsonValue): SqlParameterScalar {
  if (value instanceof JsonNumber) return value.text;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  throw new SqlParametersError(
    `parameter ${name}: only strings, numbers, booleans, null and lists of them can be passed`,
  );
}

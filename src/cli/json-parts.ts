import { JsonObject, type JsonValue } from '../values/json.ts';

/** A member of what may be an object. */
export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(name) : undefined;
}

/** The elements of what may be an array. */
export function elementsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

import type { JsonValue } from '../values/json.ts';

/** The elements of a value that may be an array. */
export function elementsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

import type { JsonValue } from '../values/json.ts';

/** The elements of what may be an array. */
export function elementsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** What `JSON.parse` gives. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

const stringsAndWideNumbers = /"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?![\d.eE])/g;

/**
 * Parses JSON whose integers can have more digits than a number keeps: those with 16 digits or more
 * become strings of their digits.
 */
export function parseJson(text: string): Json {
  const kept = text.replace(stringsAndWideNumbers, (token) => {
    return token.startsWith('"') ? token : `"${token}"`;
  });
  return JSON.parse(kept) as Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that `value` has to be, or an empty one. */
export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : String(value);
}

export function numberOf(value: Json | undefined): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value !== '' ? Number(value) : null;
}

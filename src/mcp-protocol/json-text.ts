import { JsonNumber, JsonObject } from '../values/json.ts';

/** A value that is JSON text already. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * JSON text of plain values, of parsed JSON (whose numbers keep all their digits) and of text that
 * is JSON already, mixed at will. Members that are `undefined` are left out.
 */
export function jsonText(value: unknown): string {
  if (value instanceof RawJson || value instanceof JsonNumber) return value.text;
  if (value instanceof JsonObject) return objectText(value.entries);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value === 'object' && value !== null) return objectText(Object.entries(value));
  return JSON.stringify(value) ?? 'null';
}

function objectText(entries: readonly (readonly [string, unknown])[]): string {
  const members = entries
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`);
  return `{${members.join(',')}}`;
}

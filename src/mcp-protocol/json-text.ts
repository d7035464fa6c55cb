import { JsonNumber, JsonObject } from '../values/json.ts';

/** A value that is already JSON text. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Writes JSON text from plain values, parsed JSON (whose numbers keep all their digits) and
 * existing JSON text, in any mixture. Members that are `undefined` are omitted.
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

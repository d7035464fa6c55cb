import { JsonNumber, JsonObject, type JsonValue } from '../values/json.ts';

/** JSON on several lines, indented by two spaces a level; numbers keep all their digits. */
export function indentedJson(value: JsonValue, indent = ''): string {
  if (value instanceof JsonNumber) return value.text;
  if (value instanceof JsonObject) {
    const parts = value.entries.map(
      ([key, inner]) => `${JSON.stringify(key)}: ${indentedJson(inner, `${indent}  `)}`,
    );
    return block('{', parts, '}', indent);
  }
  if (Array.isArray(value)) {
    const parts = value.map((inner) => indentedJson(inner, `${indent}  `));
    return block('[', parts, ']', indent);
  }
  return JSON.stringify(value);
}

function block(open: string, parts: readonly string[], close: string, indent: string): string {
  if (parts.length === 0) return `${open}${close}`;
  return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(',\n')}\n${indent}${close}`;
}

import { JsonNumber, JsonObject, type JsonValue } from './json-text.ts';

/** The text of `json`, or `undefined` if that has more than `charactersMax` characters. */
export function shortJsonText(json: JsonValue, charactersMax: number): string | undefined {
  let text = '';
  /** Each level adds a character, which bounds the recursion. */
  const add = (part: string): boolean => {
    if (text.length + part.length > charactersMax) return false;
    text += part;
    return true;
  };
  const addString = (value: string): boolean =>
    value.length <= charactersMax && add(JSON.stringify(value));
  const write = (value: JsonValue): boolean => {
    if (typeof value === 'string') return addString(value);
    if (value instanceof JsonNumber) return add(value.text);
    if (Array.isArray(value)) {
      const isItem = (item: JsonValue, at: number) => (at === 0 || add(',')) && write(item);
      return add('[') && value.every(isItem) && add(']');
    }
    if (!(value instanceof JsonObject)) return add(String(value));
    if (!add('{') || value.size > charactersMax) return false;
    for (let at = 0; at < value.size; at += 1) {
      const [key, item] = value.entryAt(at);
      const isShort = (at === 0 || add(',')) && addString(key) && add(':') && write(item);
      if (!isShort) return false;
    }
    return add('}');
  };
  return write(json) ? text : undefined;
}

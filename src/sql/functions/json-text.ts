/**
 * Parts of a JSON text, as they are written in it: numbers keep their digits, and objects their
 * blanks and the order of their keys. A text is checked as a whole before it is looked into.
 */
import { invalid } from '../failure.ts';
import { shortened } from './value-text.ts';

/** Checks that `text` is one JSON value, and returns it without the blanks around it. */
export function requireJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    throw invalid(`'${shortened(text)}' is not JSON`);
  }
  return text.slice(skipBlanks(text, 0), endOfText(text));
}

/** The value of a key; of several the last one. `undefined`: no such key, or no object. */
export function fieldOfJson(json: string, key: string): string | undefined {
  if (json[0] !== '{') return undefined;
  let found: string | undefined;
  let at = skipBlanks(json, 1);
  while (json[at] !== '}') {
    const keyEnd = endOfValue(json, at);
    const isWanted = textOfJson(json.slice(at, keyEnd)) === key;
    const start = skipBlanks(json, skipBlanks(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    if (isWanted) found = json.slice(start, end);
    at = behindComma(json, end);
  }
  return found;
}

/** The element at a position, counted from 0; below zero from the end. */
export function elementOfJson(json: string, position: number): string | undefined {
  if (json[0] !== '[') return undefined;
  let left = position < 0 ? position + (elementCountOf(json) ?? 0) : position;
  let at = skipBlanks(json, 1);
  while (left >= 0 && json[at] !== ']') {
    const end = endOfValue(json, at);
    if (left-- === 0) return json.slice(at, end);
    at = behindComma(json, end);
  }
  return undefined;
}

/** How many elements an array has; `undefined` for anything else. */
export function elementCountOf(json: string): number | undefined {
  if (json[0] !== '[') return undefined;
  let count = 0;
  for (let at = skipBlanks(json, 1); json[at] !== ']'; count++) {
    at = behindComma(json, endOfValue(json, at));
  }
  return count;
}

/** The text of a string, else the value as it is written; null for null. */
export function textOfJson(json: string): string | null {
  if (json === 'null') return null;
  if (json[0] !== '"') return json;
  // Half of a character, which JSON can name, has no place in a text.
  return String(JSON.parse(json)).replace(/\p{Surrogate}/gu, '\ufffd');
}

export function kindOfJson(json: string): string {
  switch (json[0]) {
    case '{':
      return 'object';
    case '[':
      return 'array';
    case '"':
      return 'string';
    case 't':
    case 'f':
      return 'boolean';
    case 'n':
      return 'null';
    default:
      return 'number';
  }
}

/** The place behind the value that begins at `at`, in a text that has been checked. */
function endOfValue(json: string, at: number): number {
  let depth = 0;
  let end = at;
  do {
    const char = json[end];
    if (char === '"') end = endOfString(json, end);
    else if (char === '{' || char === '[') {
      depth++;
      end++;
    } else if (char === '}' || char === ']') {
      depth--;
      end++;
    } else if (depth > 0) end++;
    else end = endOfWord(json, end);
  } while (depth > 0);
  return end;
}

function endOfString(json: string, at: number): number {
  let end = at + 1;
  while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end + 1;
}

function endOfWord(json: string, at: number): number {
  let end = at;
  while (end < json.length && !/[\s,:\]}]/.test(json.charAt(end))) end++;
  return end;
}

function behindComma(json: string, end: number): number {
  const at = skipBlanks(json, end);
  return json[at] === ',' ? skipBlanks(json, at + 1) : at;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text.charAt(at))) at++;
  return at;
}

function endOfText(text: string): number {
  let end = text.length;
  while (end > 0 && /\s/.test(text.charAt(end - 1))) end--;
  return end;
}

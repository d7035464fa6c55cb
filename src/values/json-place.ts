/** Positions in a JSON text, as error messages show them. */
import { utf8Length } from './utf8.ts';

/** ` at line 1 column 4`, for the end of the first `at` units. Columns count UTF-8 bytes from 1. */
export function placeText(text: string, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (let unit = 0; unit < at && unit < text.length; unit += 1) {
    if (text.charCodeAt(unit) !== lineFeed) continue;
    line += 1;
    lineStart = unit + 1;
  }
  return ` at line ${line} column ${utf8Length(text.slice(lineStart, at))}`;
}

/**
 * The place of the value at `path` in a valid JSON text: after its first character, or after its
 * last one. Nothing is built on the way: texts of megabytes are walked in milliseconds.
 */
export function placeIn(text: string, path: readonly number[], edge: 'start' | 'end'): string {
  let at = skipBlanks(text, 0);
  for (const position of path) at = enter(text, at, position);
  return placeText(text, edge === 'end' ? skipValue(text, at) : at + 1);
}

/** Where value number `position` of the container at `at` begins. */
function enter(text: string, at: number, position: number): number {
  const isObject = text[at] === '{';
  let inside = at + 1;
  for (let left = position; ; left -= 1) {
    inside = skipBlanks(text, inside);
    if (isObject) inside = skipBlanks(text, skipBlanks(text, skipString(text, inside)) + 1);
    if (left === 0) return inside;
    inside = skipBlanks(text, skipValue(text, inside)) + 1;
  }
}

/** Returns the position after the value that begins at `at`. */
function skipValue(text: string, start: number): number {
  let at = start;
  let depth = 0;
  for (;;) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = skipString(text, at);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        at += 1;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        at += 1;
        break;
      default:
        at = skipOther(text, at);
    }
    if (depth === 0) return at;
  }
}

/** Skips a word or a number, or, between values, one character. */
function skipOther(text: string, start: number): number {
  let at = start;
  while (at < text.length && !endsWord(text.charCodeAt(at))) at += 1;
  return at === start ? at + 1 : at;
}

/** True for blanks, commas, colons, brackets, braces and quotes. */
function endsWord(unit: number): boolean {
  if (unit <= 0x20 || unit === 0x22 || unit === 0x2c || unit === 0x3a) return true;
  return unit === 0x5b || unit === 0x5d || unit === 0x7b || unit === 0x7d;
}

function skipString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) return at + 1;
    if (unit === 0x5c) at += 1;
  }
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  for (; ; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return at;
  }
}

const lineFeed = 0x0a;

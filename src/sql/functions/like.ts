/**
 * LIKE: `%` stands for any text, `_` for one character (a code point), and the escape character
 * removes the special meaning of either. A pattern is cut at its `%` into pieces. The first piece
 * matches at the start of a text, the last one at its end, and each one between at its first
 * occurrence: a later one can never help the rest. So the cost is that of text and pattern, and for
 * pieces with `_` at most the product of both lengths, which has a limit.
 */
import { limits } from '../../limits.ts';
import { invalid, overBudget, type SqlFailure } from '../failure.ts';
import { codePointsOf, mapCodePoints } from './code-points.ts';
import { findText } from './text-search.ts';

export type TextMatcher = (text: string) => boolean;

export interface LikeOptions {
  /** One character, or empty for none. */
  readonly escape: string;
  readonly ignoresCase: boolean;
}

/** The escape character when none is given. */
export const defaultEscape = '\\';

/** Throws `SqlFailure` when the pattern ends in the escape character. */
export function likeMatcher(pattern: string, options: LikeOptions): TextMatcher {
  const pieces = likePieces(pattern, options);
  const match = matcherOfPieces(pieces);
  if (!options.ignoresCase) return match;
  return (text) => match(foldCase(text));
}

/**
 * A piece of a pattern: its characters, `undefined` for any one. Without `_` it is `text`, too.
 */
export interface LikePiece {
  readonly characters: readonly (string | undefined)[];
  readonly text: string | undefined;
}

/** The pieces between the `%`: a pattern without `%` is one piece. */
export function likePieces(pattern: string, options: LikeOptions): readonly LikePiece[] {
  if (pattern.length > limits.sqlPatternCharactersMax) {
    throw overBudget(
      `A LIKE pattern of ${pattern.length} characters is too long: ` +
        `at most ${limits.sqlPatternCharactersMax} are allowed`,
    );
  }
  const pieces: LikePiece[] = [];
  let characters: (string | undefined)[] = [];
  const points = codePointsOf(pattern);
  for (let at = 0; at < points.length; at++) {
    const point = points[at] as string;
    if (point === options.escape) {
      const next = points[++at];
      if (next === undefined) {
        throw invalid(
          'The LIKE pattern ends with its escape character, which must precede another',
        );
      }
      characters.push(options.ignoresCase ? foldCase(next) : next);
    } else if (point === '%') {
      pieces.push(pieceOf(characters));
      characters = [];
    } else if (point === '_') characters.push(undefined);
    else characters.push(options.ignoresCase ? foldCase(point) : point);
  }
  pieces.push(pieceOf(characters));
  return pieces;
}

/** Checks the text after ESCAPE. */
export function checkedEscape(character: string): string {
  if (codePointsOf(character).length <= 1) return character;
  throw invalid(`ESCAPE takes one character or none, not '${character.slice(0, 20)}'`);
}

/**
 * Simple case folding: each character on its own, and only if the result is one character, so that
 * `_` counts the same before and after.
 */
export function foldCase(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase();
  return mapCodePoints(text, foldPoint);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them.
const isAscii = /^[\x00-\x7f]*$/;

function foldPoint(point: string): string {
  const upper = point.toUpperCase();
  const single = isOnePoint(upper) ? upper : point;
  const lower = single.toLowerCase();
  return isOnePoint(lower) ? lower : point;
}

function isOnePoint(text: string): boolean {
  return text.length === 1 || (text.length === 2 && codePointsOf(text).length === 1);
}

function pieceOf(characters: readonly (string | undefined)[]): LikePiece {
  const isPlain = characters.every((character) => character !== undefined);
  return { characters, text: isPlain ? characters.join('') : undefined };
}

function matcherOfPieces(pieces: readonly LikePiece[]): TextMatcher {
  const [first, ...others] = pieces as [LikePiece, ...LikePiece[]];
  const last = others.pop();
  if (last === undefined) return (text) => matchAt(first, text, 0) === text.length;
  const inner = others.filter(({ characters }) => characters.length > 0);
  return (text) => {
    let at = matchAt(first, text, 0);
    if (at < 0) return false;
    for (const piece of inner) {
      at = findFrom(piece, text, at);
      if (at < 0) return false;
    }
    return matchesEnd(last, text, at);
  };
}

/** Where the text continues after the piece, or -1 if the piece does not match at `at`. */
function matchAt(piece: LikePiece, text: string, at: number): number {
  if (piece.text !== undefined) {
    return text.startsWith(piece.text, at) ? at + piece.text.length : -1;
  }
  let unit = at;
  for (const character of piece.characters) {
    if (unit >= text.length) return -1;
    if (character === undefined) unit += widthAt(text, unit);
    else if (text.startsWith(character, unit)) unit += character.length;
    else return -1;
  }
  return unit;
}

/** Where the text continues after the first match of the piece from `from` on, or -1. */
function findFrom(piece: LikePiece, text: string, from: number): number {
  if (piece.text !== undefined) {
    const at = findText(text, piece.text, from);
    return at < 0 ? -1 : at + piece.text.length;
  }
  if (text.length * piece.characters.length > limits.sqlMatchStepsMax) throw tooLong(text);
  for (let at = from; at < text.length; at += widthAt(text, at)) {
    const end = matchAt(piece, text, at);
    if (end >= 0) return end;
  }
  return -1;
}

function tooLong(text: string): SqlFailure {
  return overBudget(
    `A text of ${text.length} characters is too long for a LIKE pattern with so many _`,
  );
}

/** Whether the piece matches at the end of the text, and not before `from`. */
function matchesEnd(piece: LikePiece, text: string, from: number): boolean {
  if (piece.text !== undefined) {
    return text.length - piece.text.length >= from && text.endsWith(piece.text);
  }
  let unit = text.length;
  for (let left = piece.characters.length; left > 0; left--) {
    if (unit <= from) return false;
    unit -= widthBefore(text, unit);
  }
  return unit >= from && matchAt(piece, text, unit) === text.length;
}

function widthAt(text: string, unit: number): number {
  const point = text.codePointAt(unit);
  return point !== undefined && point > 0xffff ? 2 : 1;
}

function widthBefore(text: string, unit: number): number {
  return unit >= 2 && widthAt(text, unit - 2) === 2 ? 2 : 1;
}

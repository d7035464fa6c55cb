import type { AnyNode } from 'acorn';

/**
 * An expression that becomes the argument of a function; or a statement that follows a call of it.
 */
export interface Wrap {
  readonly node: AnyNode;
  readonly name: string;
  readonly isBefore?: boolean;
}

/**
 * Text to insert at a place; text that closes a node comes after everything that ends inside it.
 */
export interface Put {
  readonly at: number;
  readonly text: string;
  readonly closes?: Pick<AnyNode, 'start' | 'end'>;
}

/**
 * `length` units of text inserted at `line` and `column` of the original text, both counted from 0.
 */
export interface Insertion {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** A text that is put into another one. */
export interface Place {
  readonly at: number;
  readonly text: string;
}

/**
 * In the order of the text. Of wraps that begin at the same place the widest opens first; of those
 * that end there it closes last.
 */
export function placesOf(wraps: readonly Wrap[], puts: readonly Put[]): Place[] {
  const places = wraps.flatMap(({ node, name, isBefore }, index) => {
    const isList = node.type === 'SequenceExpression';
    const open = { at: node.start, isOpen: true, width: node.end - node.start, index };
    if (isBefore) return [{ ...open, text: `${name}();` }];
    return [
      { ...open, text: isList ? `${name}((` : `${name}(` },
      { ...open, at: node.end, isOpen: false, text: isList ? '))' : ')' },
    ];
  });
  for (const [index, { at, text, closes }] of puts.entries()) {
    // Just less than the node itself: text around the node ends later.
    const width = closes === undefined ? 0 : closes.end - closes.start - 0.5;
    places.push({ at, text, isOpen: closes === undefined, width, index });
  }
  places.sort((a, b) => {
    if (a.at !== b.at) return a.at - b.at;
    if (a.isOpen !== b.isOpen) return a.isOpen ? 1 : -1;
    const wider = b.width - a.width || a.index - b.index;
    return a.isOpen ? wider : -wider;
  });
  return places.map(({ at, text }) => ({ at, text }));
}

/** Puts texts into the script. `places` are in its order. */
export function filled(
  script: string,
  places: readonly Place[],
): { text: string; insertions: readonly Insertion[] } {
  const parts: string[] = [];
  const insertions: Insertion[] = [];
  let last = 0;
  let line = 0;
  let lineStart = 0;
  // Looked for once a line: one line may be all of the script, and have thousands of places.
  let lineEnd = script.indexOf('\n');
  for (const { at, text } of places) {
    while (lineEnd >= 0 && lineEnd < at) {
      line += 1;
      lineStart = lineEnd + 1;
      lineEnd = script.indexOf('\n', lineStart);
    }
    parts.push(script.slice(last, at), text);
    insertions.push({ line, column: at - lineStart, length: text.length });
    last = at;
  }
  parts.push(script.slice(last));
  return { text: parts.join(''), insertions };
}

/**
 * Shifts the columns of a source map's segments after the insertions, which are in text order. A
 * segment is a place in the generated line, relative to the one before, and its further numbers;
 * only the first number changes.
 */
export function shiftColumns(sourceMap: string, insertions: readonly Insertion[]): string {
  if (sourceMap === '') return sourceMap;
  const map = JSON.parse(sourceMap) as { mappings: string };
  let next = 0;
  const lines = map.mappings.split(';').map((text, line) => {
    let column = 0;
    let moved = 0;
    let shift = 0;
    while (next < insertions.length && (insertions[next]?.line ?? 0) < line) next += 1;
    if (insertions[next]?.line !== line || text === '') return text;
    return text
      .split(',')
      .map((segment) => {
        const { value, length } = readVlq(segment);
        column += value;
        for (let insertion = insertions[next]; ; insertion = insertions[next]) {
          if (insertion?.line !== line || insertion.column > column) break;
          shift += insertion.length;
          next += 1;
        }
        const step = column + shift - moved;
        moved = column + shift;
        return writeVlq(step) + segment.slice(length);
      })
      .join(',');
  });
  return JSON.stringify({ ...map, mappings: lines.join(';') });
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The first number of a segment, and its length in characters. */
function readVlq(segment: string): { value: number; length: number } {
  let value = 0;
  for (let length = 0; ; length += 1) {
    const digit = digits.indexOf(segment[length] ?? '');
    value |= (digit & 31) << (length * 5);
    if (digit < 32) return { value: value & 1 ? -(value >>> 1) : value >>> 1, length: length + 1 };
  }
}

function writeVlq(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let text = '';
  do {
    const digit = rest & 31;
    rest >>>= 5;
    text += digits[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return text;
}

/**
 * Texts as lists of Unicode code points, which is what SQL calls characters. JavaScript counts
 * UTF-16 units; the two differ only for texts with surrogates, so all others take the short way.
 */

/** Number of code points. */
export function codePointLength(text: string): number {
  let count = text.length;
  for (let unit = 0; unit < text.length - 1; unit++) {
    if (isPair(text, unit)) {
      count--;
      unit++;
    }
  }
  return count;
}

/**
 * The code points from `start` (counted from 0) up to, not including, `end`. Both can lie outside
 * of the text.
 */
export function codePointSlice(text: string, start: number, end: number): string {
  if (!hasSurrogates(text)) return text.slice(Math.max(start, 0), Math.max(end, 0));
  return text.slice(unitOf(text, start), unitOf(text, end));
}

/** Number of code points before the UTF-16 unit `unit`. */
export function codePointIndex(text: string, unit: number): number {
  return codePointLength(text.slice(0, unit));
}

/**
 * Changes each code point on its own. Only a part of the text is split at a time: a list of
 * characters takes many times the memory of the text.
 */
export function mapCodePoints(text: string, change: (point: string) => string): string {
  return partsOf(text)
    .map((part) => codePointsOf(part).map(change).join(''))
    .join('');
}

/** The code points from the last to the first. */
export function reversedText(text: string): string {
  return partsOf(text)
    .map((part) => codePointsOf(part).reverse().join(''))
    .reverse()
    .join('');
}

/** The text without `removed` characters at its ends. */
export function trimmedText(
  text: string,
  removed: ReadonlySet<string>,
  { atStart, atEnd }: { readonly atStart: boolean; readonly atEnd: boolean },
): string {
  let from = 0;
  let to = text.length;
  while (atStart && from < to) {
    const width = isPair(text, from) ? 2 : 1;
    if (!removed.has(text.slice(from, from + width))) break;
    from += width;
  }
  while (atEnd && from < to) {
    const width = to - from >= 2 && isPair(text, to - 2) ? 2 : 1;
    if (!removed.has(text.slice(to - width, to))) break;
    to -= width;
  }
  return text.slice(from, to);
}

/** Cuts the text into parts of some thousand units, never inside a code point. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + partLength, text.length);
    if (isPair(text, to - 1)) to++;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

const partLength = 4_096;

/** Code points in the order of the text; a surrogate without its partner counts as one. */
export function codePointsOf(text: string): string[] {
  return hasSurrogates(text) ? Array.from(text) : text.split('');
}

/** The UTF-16 unit where code point number `index` begins; the end if there is none. */
function unitOf(text: string, index: number): number {
  let unit = 0;
  for (let left = index; left > 0 && unit < text.length; left--) {
    unit += isPair(text, unit) ? 2 : 1;
  }
  return unit;
}

function hasSurrogates(text: string): boolean {
  return surrogate.test(text);
}

function isPair(text: string, unit: number): boolean {
  const high = text.charCodeAt(unit);
  if (high < 0xd800 || high > 0xdbff) return false;
  const low = text.charCodeAt(unit + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}

const surrogate = /[\ud800-\udfff]/;

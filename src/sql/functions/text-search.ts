/**
 * Finds a text in another one in time that grows with the sum of their lengths. The platform's
 * search is fast for ordinary texts, but for some takes the product of both lengths, which the
 * author of a statement could use to hold up everyone else.
 */

/** Where `part` begins in `text`, from unit `from` on, or -1. */
export function findText(text: string, part: string, from: number): number {
  if (isHarmless(text.length - from, part.length)) return text.indexOf(part, from);
  return findLinear(
    { length: text.length, at: (index) => text.charCodeAt(index) },
    { length: part.length, at: (index) => part.charCodeAt(index) },
    from,
  );
}

/** Where `part` begins in `bytes[from, end)`, or -1. */
export function findBytes(part: Uint8Array, bytes: Uint8Array, from: number, end: number): number {
  if (!isHarmless(end - from, part.length)) {
    return findLinear(
      { length: end, at: (index) => bytes[index] as number },
      { length: part.length, at: (index) => part[index] as number },
      from,
    );
  }
  const first = part[0];
  const last = end - part.length;
  for (let at = from; at <= last; at++) {
    if (first !== undefined && bytes[at] !== first) continue;
    if (standsAt(part, bytes, at)) return at;
  }
  return -1;
}

/** Whether `part` begins at `at`; the bytes must reach that far. */
export function standsAt(part: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let index = 0; index < part.length; index++) {
    if (bytes[at + index] !== part[index]) return false;
  }
  return true;
}

/** The pieces of `text` around each `part`, which is not empty. */
export function splitText(text: string, part: string): string[] {
  if (isHarmless(text.length, part.length)) return text.split(part);
  const pieces: string[] = [];
  let from = 0;
  for (;;) {
    const at = findText(text, part, from);
    if (at < 0) break;
    pieces.push(text.slice(from, at));
    from = at + part.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

/** Below this, even the worst case is over within a few milliseconds. */
const harmlessSteps = 2 ** 23;

function isHarmless(length: number, partLength: number): boolean {
  return length * partLength <= harmlessSteps;
}

interface Units {
  readonly length: number;
  readonly at: (index: number) => number;
}

/**
 * Knuth, Morris and Pratt: when the next unit differs, the matched prefix says how much of it still
 * matches, so the text is walked through once.
 */
function findLinear(text: Units, part: Units, from: number): number {
  const borders = bordersOf(part);
  let matched = 0;
  for (let index = from; index < text.length; index++) {
    const unit = text.at(index);
    while (matched > 0 && part.at(matched) !== unit) matched = borders[matched - 1] as number;
    if (part.at(matched) === unit) matched++;
    if (matched === part.length) return index - matched + 1;
  }
  return -1;
}

/** For the end of each prefix: the length of its longest proper prefix that is also its suffix. */
function bordersOf(part: Units): Int32Array {
  const borders = new Int32Array(part.length);
  let matched = 0;
  for (let index = 1; index < part.length; index++) {
    const unit = part.at(index);
    while (matched > 0 && part.at(matched) !== unit) matched = borders[matched - 1] as number;
    if (part.at(matched) === unit) matched++;
    borders[index] = matched;
  }
  return borders;
}

/** One property of an object literal. Offsets are into the text that contains it. */
export interface ObjectEntry {
  readonly key: string;
  readonly nameOffset: number;
  /** Start of its value; for a shorthand (`{ line }`) and for a method, start of its key. */
  readonly valueOffset: number;
}

/** Offset of the value of a name, if known. */
export type OffsetOf = (name: string) => number | undefined;

/**
 * The properties of the object literals that come first in the arguments of the call at `offset`:
 * `f({ a: 1 }, b, x)` has `a` and, if `b` names a literal, those of `b`. Reads text that the
 * bundler printed. Stops at the first other argument, and at anything that it does not understand.
 */
export function leadingObjects(
  text: string,
  offset: number,
  offsetOf: OffsetOf,
): readonly (readonly ObjectEntry[])[] {
  const objects: ObjectEntry[][] = [];
  const scan = new Scan(text, offset);
  if (!scan.takes(calleePattern)) return objects;
  do {
    const name = scan.name();
    const from = name === undefined ? scan : new Scan(text, offsetOf(name) ?? text.length);
    const entries = from.takes(/\{/y) ? readObject(from) : undefined;
    if (entries === undefined) return objects;
    objects.push(entries);
  } while (scan.takes(/,/y));
  return objects;
}

/** The callee of a call: `table(`, `db.reducer(`. */
const calleePattern = /[\w$\u0080-\uffff]+(?:\s*\.\s*[\w$\u0080-\uffff]+)*\s*\(/y;

/** Reads from after the opening brace. Returns `undefined` if it does not understand the text. */
function readObject(scan: Scan): ObjectEntry[] | undefined {
  const entries: ObjectEntry[] = [];
  while (!scan.takes(/\}/y)) {
    scan.blanks();
    const nameOffset = scan.at;
    const key = scan.key();
    const hasValue = key !== undefined && scan.takes(/:/y);
    scan.blanks();
    const valueOffset = hasValue ? scan.at : nameOffset;
    if (!scan.value()) return undefined;
    if (key !== undefined) entries.push({ key, nameOffset, valueOffset });
    scan.takes(/,/y);
  }
  return entries;
}

/** A place in a text, moved forward piece by piece. */
class Scan {
  readonly #text: string;
  at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  /** Steps over blanks and comments. */
  blanks(): void {
    let from: number;
    do {
      from = this.at;
      this.#step(/\s+/y);
      this.#step(/\/\/[^\n]*/y);
      if (this.#text.startsWith('/*', this.at)) {
        const end = this.#text.indexOf('*/', this.at + 2);
        this.at = end < 0 ? this.#text.length : end + 2;
      }
    } while (this.at > from);
  }

  /** Steps over blanks and a match of the sticky `pattern`; false if it does not match. */
  takes(pattern: RegExp): boolean {
    this.blanks();
    return this.#step(pattern) !== undefined;
  }

  /** Steps over a name that is a whole argument. */
  name(): string | undefined {
    this.blanks();
    return this.#step(/[\w$\u0080-\uffff]+(?=\s*[,)])/y);
  }

  /** Steps over a key that is a name or a string; `undefined` before any other property. */
  key(): string | undefined {
    const name = this.#step(/(?:(?:get|set|async)\s+|\*\s*)?[\w$\u0080-\uffff]+(?=\s*[:,}(])/y);
    if (name !== undefined) return name.replace(/^.*[\s*]/, '');
    return this.#step(/"[^"\\\n]*"(?=\s*[:(])/y)?.slice(1, -1);
  }

  /**
   * Steps over the rest of a property, up to the comma or brace that ends it. False if none is
   * found; a slash begins a regular expression where an operand is expected, as in `(/x/` but not
   * `) / 2`.
   */
  value(templates = 0): boolean {
    const open: string[] = [];
    for (let isOperand = false; ; ) {
      this.blanks();
      const next = this.#text[this.at];
      if (next === undefined) return false;
      if (open.length === 0 && (next === ',' || next === '}')) return true;
      const closer = closers.get(next);
      if (closer !== undefined) open.push(closer);
      else if (/[)\]}]/.test(next) && open.pop() !== next) return false;
      const isPattern: boolean = next === '/' && !isOperand;
      if (!(isPattern ? this.#pattern() : this.#piece(next, templates))) return false;
      isOperand = isPattern || /[\w$\u0080-\uffff"'`)\]}]/.test(next);
    }
  }

  /** Steps over a string, a word, or one character of anything else. */
  #piece(first: string, templates: number): boolean {
    if (first === '`') return this.#template(templates + 1);
    if (this.#step(/[\w$\u0080-\uffff]+/y) !== undefined) return true;
    this.at += 1;
    if (first !== '"' && first !== "'") return true;
    this.#plain(first === '"' ? /[^"\\\n]+/y : /[^'\\\n]+/y);
    return this.#is(first);
  }

  #pattern(): boolean {
    this.at += 1;
    for (;;) {
      this.#plain(/[^/\\[\n]+/y);
      if (this.#is('/')) return true;
      if (!this.#is('[')) return false;
      this.#plain(/[^\]\\\n]+/y);
      if (!this.#is(']')) return false;
    }
  }

  #template(templates: number): boolean {
    if (templates > templateDepthMax) return false;
    this.at += 1;
    for (;;) {
      this.#plain(/[^`\\$]+|\$(?!\{)/y);
      if (this.#is('`')) return true;
      if (!this.#is('${')) return false;
      do {
        if (!this.value(templates)) return false;
      } while (this.#is(','));
      if (!this.#is('}')) return false;
    }
  }

  /** Steps over matches of the sticky `pattern`, and over escaped characters. */
  #plain(pattern: RegExp): void {
    // In a loop, because one pattern that repeats would overflow on long strings.
    while (this.#step(pattern) !== undefined || this.#step(/\\./sy) !== undefined);
  }

  #is(mark: string): boolean {
    const isThere = this.#text.startsWith(mark, this.at);
    if (isThere) this.at += mark.length;
    return isThere;
  }

  #step(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}

const closers: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

const templateDepthMax = 32;

import { percentDecode, percentEncode } from './percent.ts';

type Init = string | Iterable<readonly [string, string]> | Readonly<Record<string, string>>;

/** Everything but letters, digits, `*`, `-`, `.` and `_`; a blank is a plus. */
const formSet = ' !"#$%&\'()+,/:;<=>?@[\\]^`{|}~';

/**
 * Ties the parameters to a URL: `changed` is called after each change, and asks for their text when
 * it is wanted. With `text` they are read again, without a call.
 */
export let connect: (
  params: URLSearchParams,
  changed: (() => void) | undefined,
  text?: string,
) => void;

/** `URLSearchParams` of the web for modules. */
export class URLSearchParams {
  #pairs: [name: string, value: string][];
  #changed: (() => void) | undefined;

  static {
    connect = (params, changed, text) => {
      if (changed !== undefined) params.#changed = changed;
      if (text !== undefined) params.#pairs = parsed(text);
    };
  }

  constructor(init: Init = '') {
    if (typeof init === 'string') this.#pairs = parsed(init.replace(/^\?/, ''));
    else if (Symbol.iterator in init) this.#pairs = [...init].map(pairOf);
    else this.#pairs = Object.entries(init).map(pairOf);
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: string, value: string): void {
    this.#pairs.push(pairOf([name, value]));
    this.#note();
  }

  delete(name: string, value?: string): void {
    this.#pairs = this.#pairs.filter((pair) => !isMeant(pair, name, value));
    this.#note();
  }

  get(name: string): string | null {
    return this.#pairs.find((pair) => pair[0] === `${name}`)?.[1] ?? null;
  }

  getAll(name: string): string[] {
    return this.#pairs.filter((pair) => pair[0] === `${name}`).map((pair) => pair[1]);
  }

  has(name: string, value?: string): boolean {
    return this.#pairs.some((pair) => isMeant(pair, name, value));
  }

  /** Replaces the first of that name, and removes the others. */
  set(name: string, value: string): void {
    const at = this.#pairs.findIndex((pair) => pair[0] === `${name}`);
    if (at < 0) this.#pairs.push(pairOf([name, value]));
    else {
      this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== `${name}`);
      this.#pairs[at] = pairOf([name, value]);
    }
    this.#note();
  }

  /** By name, in the order of UTF-16; equal names keep their order. */
  sort(): void {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#note();
  }

  forEach(visit: (value: string, name: string, params: URLSearchParams) => void): void {
    for (const [name, value] of this) visit(value, name, this);
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    for (let at = 0; at < this.#pairs.length; at += 1) {
      const [name, value] = this.#pairs[at] ?? ['', ''];
      yield [name, value];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }

  toString(): string {
    return this.#pairs.map((pair) => pair.map(formText).join('=')).join('&');
  }

  #note(): void {
    this.#changed?.();
  }
}

function pairOf(pair: readonly unknown[]): [string, string] {
  if (pair.length !== 2) throw new TypeError('Each query pair must be a [name, value] tuple');
  return [`${pair[0]}`, `${pair[1]}`];
}

function isMeant(pair: readonly [string, string], name: string, value?: string): boolean {
  return pair[0] === `${name}` && (value === undefined || pair[1] === `${value}`);
}

function parsed(text: string): [string, string][] {
  const words = text.split('&').filter((word) => word !== '');
  return words.map((word) => {
    const at = word.indexOf('=');
    const plain = (part: string) => percentDecode(part.replaceAll('+', ' '));
    return at < 0 ? [plain(word), ''] : [plain(word.slice(0, at)), plain(word.slice(at + 1))];
  });
}

function formText(text: string): string {
  return percentEncode(text, formSet).replaceAll('%20', '+');
}

/** Strings, JSON and URIs: how long a text may be, and into how many pieces it is cut. */
import { apply, isArray, isView, replace } from './intrinsics.js';
import {
  bounded,
  fewKeys,
  isObject,
  localesOf,
  pinned,
  present,
  textTooLong,
  tooLong,
  toText,
} from './measures.js';

const texts = String.prototype;
const { localeCompare, match, matchAll, normalize, replaceAll, search, split } = texts;
const { includes: textIncludes, indexOf: textIndexOf, lastIndexOf: textLastIndexOf } = texts;
const { replace: textReplace } = texts;
const { toLocaleLowerCase, toLocaleUpperCase } = texts;
const { anchor, fontcolor, fontsize, link } = texts;
const nativeRaw = String.raw;
const { parse, stringify } = JSON;
const splitKey = Symbol.split;

// Sorting the marks of one character takes the square of their number.
const manyMarks = /\p{M}{1000}/u;
const shortText = 16384;

export function localeText(value) {
  const text = toText(value);
  if (text.length <= shortText) return text;
  if (text.length > slowCountMax || manyMarks.test(text)) textTooLong();
  return text;
}

// Looking for a text takes, at worst, the product of both lengths.
function searchable(text, sought) {
  if (sought.length > 1023 && text.length * sought.length > searchStepsMax) textTooLong();
  return sought;
}

// A text is about to become a pattern.
export function patternText(pattern) {
  if (pattern === undefined || isObject(pattern)) return pattern;
  const text = toText(pattern);
  if (text.length > slowCountMax) textTooLong();
  return text;
}

// Each quote in it becomes six characters.
function attributeText(value) {
  const text = toText(value);
  if (text.length > slowCountMax) textTooLong();
  return text;
}

replace(texts, {
  anchor(name) {
    return anchor.call(present(this), attributeText(name));
  },
  fontcolor(color) {
    return fontcolor.call(present(this), attributeText(color));
  },
  fontsize(size) {
    return fontsize.call(present(this), attributeText(size));
  },
  link(url) {
    return link.call(present(this), attributeText(url));
  },
  includes(sought, position) {
    const text = toText(present(this));
    // Throws when it is a pattern.
    if (isObject(sought)) textIncludes.call('', sought);
    return textIncludes.call(text, searchable(text, toText(sought)), position);
  },
  indexOf(sought, position) {
    const text = toText(present(this));
    return textIndexOf.call(text, searchable(text, toText(sought)), position);
  },
  lastIndexOf(sought, position) {
    const text = toText(present(this));
    return textLastIndexOf.call(text, searchable(text, toText(sought)), position);
  },
  localeCompare(other, locales, options) {
    return localeCompare.call(
      localeText(present(this)),
      localeText(other),
      localesOf(locales),
      options,
    );
  },
  match(pattern) {
    return match.call(this, patternText(pattern));
  },
  matchAll(pattern) {
    return matchAll.call(this, patternText(pattern));
  },
  normalize(form) {
    return normalize.call(localeText(present(this)), form);
  },
  replaceAll(pattern, value) {
    if (isObject(pattern)) return replaceAll.call(this, pattern, value);
    const text = toText(present(this));
    if (text.length > slowCountMax) textTooLong();
    return replaceAll.call(text, searchable(text, toText(pattern)), value);
  },
  replace(pattern, value) {
    if (isObject(pattern)) return textReplace.call(this, pattern, value);
    const text = toText(present(this));
    return textReplace.call(text, searchable(text, toText(pattern)), value);
  },
  search(pattern) {
    return search.call(this, patternText(pattern));
  },
  split(separator, limit) {
    if (typeof this === 'string' && typeof separator === 'string' && limit === undefined) {
      if (this.length < pieceCountMax) return split.call(this, searchable(this, separator));
    } else if (isObject(separator)) {
      present(this);
      const method = separator[splitKey];
      if (method !== undefined && method !== null) return apply(method, separator, [this, limit]);
    }
    const text = toText(present(this));
    const count = limit === undefined ? 4294967295 : limit >>> 0;
    const most = count > pieceCountMax ? pieceCountMax + 1 : count;
    const sought = separator === undefined ? separator : searchable(text, toText(separator));
    const pieces = split.call(text, sought, most);
    if (pieces.length > pieceCountMax) tooLong();
    return pieces;
  },
  toLocaleLowerCase(locales) {
    return toLocaleLowerCase.call(localeText(present(this)), localesOf(locales));
  },
  toLocaleUpperCase(locales) {
    return toLocaleUpperCase.call(localeText(present(this)), localesOf(locales));
  },
});

replace(String, {
  raw(template, ...parts) {
    return nativeRaw(
      /** @type {any} */ ({ __proto__: null, raw: bounded(template.raw) }),
      ...parts,
    );
  },
});

replace(JSON, {
  parse(text, reviver) {
    const source = toText(text);
    if (source.length > elementCountMax) textTooLong();
    return parse(source, reviver);
  },
  stringify(value, replacer, space) {
    if (isView(value)) fewKeys(value);
    return stringify(value, isArray(replacer) ? pinned(replacer, slowCountMax) : replacer, space);
  },
});

const {
  encodeURI: nativeEncodeURI,
  encodeURIComponent: nativeEncodeURIComponent,
  decodeURI: nativeDecodeURI,
  decodeURIComponent: nativeDecodeURIComponent,
} = globalThis;
export const uriText = (value) => {
  const text = toText(value);
  if (text.length > elementCountMax) textTooLong();
  return text;
};
replace(globalThis, {
  encodeURI(text) {
    return nativeEncodeURI(uriText(text));
  },
  encodeURIComponent(text) {
    return nativeEncodeURIComponent(uriText(text));
  },
  decodeURI(text) {
    return nativeDecodeURI(uriText(text));
  },
  decodeURIComponent(text) {
    return nativeDecodeURIComponent(uriText(text));
  },
});

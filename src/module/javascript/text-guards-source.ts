/**
 * Script text, the second half of `size-guards-source.ts` (inside its function): strings, keys of
 * lists, code made from strings, and operations by the rules of languages.
 */
export const textGuardsSource = `// ---- Texts

const texts = String.prototype;
const { localeCompare, match, matchAll, normalize, replaceAll, search, split } = texts;
const { includes: textIncludes, indexOf: textIndexOf, lastIndexOf: textLastIndexOf } = texts;
const { replace: textReplace } = texts;
const { toLocaleLowerCase, toLocaleUpperCase } = texts;
const textOf = texts.valueOf;
const nativeRaw = String.raw;
const { parse, stringify } = JSON;
const splitKey = Symbol.split;

function textTooLong() {
  throw new RangeError('Invalid string length');
}

// Sorting the marks of one character takes the square of their number.
const manyMarks = /\\p{M}{1000}/u;
const shortText = 16384;

function localeText(value) {
  const text = toText(value);
  if (text.length <= shortText) return text;
  if (text.length > slowCountMax || manyMarks.test(text)) textTooLong();
  return text;
}

function toText(value) {
  return typeof value === 'string' ? value : \`\${value}\`;
}

function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

// Looking for a text takes, at worst, the product of both lengths.
function searchable(text, sought) {
  if (sought.length > 1023 && text.length * sought.length > searchStepsMax) textTooLong();
  return sought;
}

// A text is about to become a pattern.
function patternText(pattern) {
  if (pattern === undefined || isObject(pattern)) return pattern;
  const text = toText(pattern);
  if (text.length > slowCountMax) textTooLong();
  return text;
}

replace(texts, {
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
      localeText(present(this)), localeText(other), localesOf(locales), options);
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
    return nativeRaw({ __proto__: null, raw: bounded(template.raw) }, ...parts);
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

const { encodeURI, encodeURIComponent, decodeURI, decodeURIComponent } = globalThis;
const uriText = (value) => {
  const text = toText(value);
  if (text.length > elementCountMax) textTooLong();
  return text;
};
replace(globalThis, {
  encodeURI(text) {
    return encodeURI(uriText(text));
  },
  encodeURIComponent(text) {
    return encodeURIComponent(uriText(text));
  },
  decodeURI(text) {
    return decodeURI(uriText(text));
  },
  decodeURIComponent(text) {
    return decodeURIComponent(uriText(text));
  },
});

// ---- Keys

const { assign, entries, getOwnPropertyDescriptors, getOwnPropertyNames, keys, values } = Object;

// Each index of a list or text becomes a key.
function fewKeys(object) {
  if (typeof object === 'object' && object !== null) {
    if (isArray(object)) {
      if (object.length > slowCountMax) tooLong();
    } else if (isView(object)) {
      if (isTyped(object) && typedLengthOf.call(object) > slowCountMax) tooLong();
    } else if (hasOwn(object, 'length') && isTextObject(object)) {
      if (object.length > slowCountMax) tooLong();
    }
  } else if (typeof object === 'string' && object.length > slowCountMax) {
    tooLong();
  }
  return object;
}

function isTextObject(value) {
  try {
    textOf.call(value);
    return true;
  } catch {
    return false;
  }
}

replace(Object, {
  assign(target, source, ...more) {
    if (more.length === 0) return assign(target, fewKeys(source));
    for (let index = 0; index < more.length; index += 1) fewKeys(more[index]);
    return assign(target, fewKeys(source), ...more);
  },
  entries(object) {
    return entries(fewKeys(object));
  },
  getOwnPropertyDescriptors(object) {
    return getOwnPropertyDescriptors(fewKeys(object));
  },
  getOwnPropertyNames(object) {
    return getOwnPropertyNames(fewKeys(object));
  },
  keys(object) {
    return keys(fewKeys(object));
  },
  values(object) {
    return values(fewKeys(object));
  },
});
replace(Reflect, {
  ownKeys(object) {
    return ownKeys(fewKeys(object));
  },
});

// ---- Code and patterns made from text

function shortCode(parts) {
  let length = 0;
  for (let index = 0; index < parts.length; index += 1) {
    parts[index] = toText(parts[index]);
    length += parts[index].length;
  }
  if (length > slowCountMax) textTooLong();
  return parts;
}

const NativeFunction = Function;
const NativeRegExp = RegExp;
dressConstructor(function Function(...parts) {
  return construct(NativeFunction, shortCode(parts), new.target ?? NativeFunction);
}, NativeFunction);
dressConstructor(function RegExp(pattern, flags) {
  if (new.target === undefined) return NativeRegExp(patternText(pattern), flags);
  return construct(NativeRegExp, [patternText(pattern), flags], new.target);
}, NativeRegExp);

// ---- Rules of languages

const localeCountMax = 1024;
const localeTagOf = Intl.Locale.prototype.toString;

function localesOf(locales) {
  if (!isObject(locales)) return locales;
  try {
    return localeTagOf.call(locales);
  } catch {
    return pinned(locales, localeCountMax);
  }
}

for (const name of ownKeys(Intl)) {
  const Native = Intl[name];
  if (typeof Native !== 'function' || Native.prototype === undefined) continue;
  const { [name]: Guarded } = {
    [name]: function (locales, options) {
      const list = name === 'Locale' ? shortTag(locales) : localesOf(locales);
      if (new.target === undefined) return Native(list, options);
      return construct(Native, [list, options], new.target);
    },
  };
  const { supportedLocalesOf } = Native;
  dressConstructor(Guarded, Native, Intl, name);
  replace(Guarded, {
    supportedLocalesOf(locales, options) {
      return supportedLocalesOf.call(Native, localesOf(locales), options);
    },
  });
}

function shortTag(tag) {
  if (isObject(tag)) return tag;
  return uriText(tag).length > localeCountMax ? textTooLong() : tag;
}

const { getCanonicalLocales } = Intl;
replace(Intl, {
  getCanonicalLocales(locales) {
    return getCanonicalLocales(localesOf(locales));
  },
});

for (const { prototype } of [Number, BigInt, Date]) {
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) {
    const native = prototype[name];
    if (!hasOwn(prototype, name)) continue;
    replace(prototype, {
      [name](locales, options) {
        return native.call(this, localesOf(locales), options);
      },
    });
  }
}

const { segment } = Intl.Segmenter.prototype;
replace(Intl.Segmenter.prototype, {
  segment(text) {
    return segment.call(this, localeText(text));
  },
});

const { format, formatToParts } = Intl.ListFormat.prototype;
function shortList(list) {
  if (list === undefined) return list;
  const items = [];
  let length = 0;
  for (const item of list) {
    if (typeof item !== 'string') throw new TypeError('Iterable yielded a non-String value');
    length += item.length + 1;
    if (length > slowCountMax) textTooLong();
    items[items.length] = item;
  }
  return items;
}
replace(Intl.ListFormat.prototype, {
  format(list) {
    return format.call(this, shortList(list));
  },
  formatToParts(list) {
    return formatToParts.call(this, shortList(list));
  },
});

const compareOf = getterOf(Intl.Collator.prototype, 'compare');
const compares = new WeakMap();
const oldCompare = compares.get.bind(compares);
const keepCompare = compares.set.bind(compares);
defineProperty(Intl.Collator.prototype, 'compare', {
  get: {
    get compare() {
      const native = compareOf.call(this);
      let guarded = oldCompare(native);
      if (guarded === undefined) {
        guarded = (a, b) => native(localeText(a), localeText(b));
        keepCompare(native, guarded);
      }
      return guarded;
    },
  }.__lookupGetter__('compare'),
});`;

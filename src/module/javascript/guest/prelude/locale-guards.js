/** Operations by the rules of languages. */
import {
  construct,
  defineProperty,
  dressConstructor,
  getterOf,
  hasOwn,
  ownKeys,
  replace,
} from './intrinsics.js';
import { isObject, localeCountMax, localesOf, textTooLong } from './measures.js';
import { localeText, uriText } from './text-guards.js';

for (const name of /** @type {string[]} */ (ownKeys(Intl))) {
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
});

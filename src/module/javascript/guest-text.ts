// Written by `npm run embed` from the files of `guest/`. Change those.

/** `guest/prelude/size-guards.js` and what it imports: the body of a function. */
export const sizeGuards = `const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } =
  Reflect;
const { get, set, ownKeys } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { hasOwn } = Object;
const { trunc } = Math;
const { iterator: iteratorKey, isConcatSpreadable: spreadableKey } = Symbol;
const getterOf = (object, key) =>
   (getOwnPropertyDescriptor(object, key)).get;
const NativeProxy = Proxy;
function replace(owner, methods) {
  for (const key of ownKeys(methods)) {
    const native = getOwnPropertyDescriptor(owner, key);
    if (native === undefined) continue;
    const { name, length } = native.value;
    defineProperty(methods[key], 'name', { value: name, configurable: true });
    defineProperty(methods[key], 'length', { value: length, configurable: true });
    defineProperty(owner, key, { ...native, value: methods[key] });
  }
}
function dressConstructor(constructor, native, owner = globalThis, name = native.name) {
  const keys = ownKeys(native).filter((key) => key !== 'prototype' && key !== 'arguments');
  for (const key of keys) {
    if (key !== 'caller') {
      defineProperty(constructor, key,  (getOwnPropertyDescriptor(native, key)));
    }
  }
  Reflect.setPrototypeOf(constructor, getPrototypeOf(native));
  const { prototype } = native;
  defineProperty(constructor, 'prototype', { value: prototype, writable: false });
  defineProperty(prototype, 'constructor', { value: constructor });
  defineProperty(owner, name, { value: constructor });
}
const arrays = Array.prototype;
function tooLong() {
  throw new RangeError('Invalid array length');
}
function textTooLong() {
  throw new RangeError('Invalid string length');
}
function present(self) {
  if (self === undefined || self === null) throw new TypeError('called on null or undefined');
  return self;
}
function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
function toText(value) {
  return typeof value === 'string' ? value : \`\${value}\`;
}
const typedArrays = getPrototypeOf(Uint8Array.prototype);
const typedKindOf = getterOf(typedArrays, Symbol.toStringTag);
const typedLengthOf = getterOf(typedArrays, 'length');
const isTyped = (value) => isView(value) && typedKindOf.call(value) !== undefined;
const textOf = String.prototype.valueOf;
function isTextObject(value) {
  try {
    textOf.call(value);
    return true;
  } catch {
    return false;
  }
}
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
function bounded(list) {
  if (isArray(list)) {
    if (list.length > elementCountMax) tooLong();
    return list;
  }
  return list === undefined || list === null ? list : pinned(Object(list), elementCountMax);
}
function pinned(object, lengthMax) {
  const raw = object.length;
  const length = +raw;
  if (length > lengthMax) tooLong();
  const value = raw === undefined ? undefined : length;
  return new NativeProxy(object, {
    __proto__: null,
    get: (target, key) => (key === 'length' ? value : get(target, key)),
    set: (target, key, next) => set(target, key, next),
  });
}
function copyOf(list) {
  const object = Object(list);
  const length = trunc(+object.length) || 0;
  if (length > elementCountMax) tooLong();
  const copy = [];
  for (let index = 0; index < length; index += 1) if (index in object) copy[index] = object[index];
  if (length > 0) copy.length = length;
  return copy;
}
function isList(items) {
  return isArray(items) && getPrototypeOf(items) === arrays && !hasOwn(items, iteratorKey);
}
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
class ListHandler {
  #handler;
  constructor(handler) {
    this.#handler = handler;
  }
  static {
    const names = ['getPrototypeOf', 'setPrototypeOf', 'isExtensible', 'preventExtensions', 'has'];
    names.push('getOwnPropertyDescriptor', 'defineProperty', 'set', 'deleteProperty');
    for (const name of names) {
      defineProperty(ListHandler.prototype, name, {
        get() {
          const handler = this.#handler;
          const trap = handler[name];
          if (trap === undefined || trap === null) return undefined;
          return (...values) => apply(trap, handler, values);
        },
      });
    }
  }
  get(target, key, receiver) {
    const trap = this.#handler.get;
    const hasTrap = trap !== undefined && trap !== null;
    const value = hasTrap
      ? apply(trap, this.#handler, [target, key, receiver])
      : get(target, key, receiver);
    if (key === 'length' && value > elementCountMax) tooLong();
    return value;
  }
  ownKeys(target) {
    fewKeys(target);
    const trap = this.#handler.ownKeys;
    const hasTrap = trap !== undefined && trap !== null;
    return hasTrap ? apply(trap, this.#handler, [target]) : ownKeys(target);
  }
}
Reflect.setPrototypeOf(ListHandler.prototype, null);
function guardedHandler(target, handler) {
  const isObject = typeof handler === 'object' ? handler !== null : typeof handler === 'function';
  return isObject && isListLike(target) ? new ListHandler(handler) : handler;
}
const GuestProxy =  (
  function (target, handler) {
    if (new.target === undefined) throw new TypeError("Constructor Proxy requires 'new'");
    return new NativeProxy(target, guardedHandler(target, handler));
  }
).bind();
defineProperty(GuestProxy, 'name', { value: 'Proxy', configurable: true });
defineProperty(GuestProxy, 'length', { value: 2, configurable: true });
const nativeRevocable = NativeProxy.revocable;
const { revocable } = {
  revocable(target, handler) {
    return nativeRevocable(target, guardedHandler(target, handler));
  },
};
defineProperty(GuestProxy, 'revocable', { value: revocable, writable: true, configurable: true });
defineProperty(globalThis, 'Proxy', { value: GuestProxy });
function isListLike(target) {
  if (isArray(target) || isView(target)) return true;
  return (
    typeof target === 'object' &&
    target !== null &&
    hasOwn(target, 'length') &&
    isTextObject(target)
  );
}
const { copyWithin, every, fill, filter, find, findIndex, findLast, findLastIndex } = arrays;
const { flat, flatMap, forEach, includes, indexOf, join } = arrays;
const { concat, lastIndexOf, map, reduce, reduceRight, reverse, shift, slice, some, sort } = arrays;
const { splice, unshift, toLocaleString, toReversed, toSorted, toSpliced } = arrays;
const arrayWith = arrays.with;
const NativeArray = Array;
const nativeFrom = Array.from;
const returned = (result, list, self) => (result === list ? self : result);
replace(arrays, {
  concat(...parts) {
    const first = spreadable(this);
    let length = isArray(first) ? first.length : 1;
    for (let index = 0; index < parts.length; index += 1) {
      const part = (parts[index] = spreadable(parts[index]));
      if (isArray(part)) length += part.length;
      if (length > elementCountMax) tooLong();
    }
    if (length > elementCountMax) tooLong();
    return concat.apply(first, parts);
  },
  copyWithin(to, start, end) {
    const list = bounded(this);
    return returned(copyWithin.call(list, to, start, end), list, this);
  },
  every(callback, self) {
    if (!isArray(this)) return every.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return every.call(this, callback, self);
  },
  fill(value, start, end) {
    const list = bounded(this);
    return returned(fill.call(list, value, start, end), list, this);
  },
  filter(callback, self) {
    if (!isArray(this)) return filter.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return filter.call(this, callback, self);
  },
  find(callback, self) {
    if (!isArray(this)) return find.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return find.call(this, callback, self);
  },
  findIndex(callback, self) {
    if (!isArray(this)) return findIndex.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return findIndex.call(this, callback, self);
  },
  findLast(callback, self) {
    if (!isArray(this)) return findLast.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return findLast.call(this, callback, self);
  },
  findLastIndex(callback, self) {
    if (!isArray(this)) return findLastIndex.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return findLastIndex.call(this, callback, self);
  },
  flat(depth) {
    const list = bounded(this);
    const levels = depth === undefined ? 1 : +depth;
    if (isArray(list)) countFlat(list, levels, 0);
    return flat.call(list, levels);
  },
  flatMap(callback, self) {
    if (!isArray(this)) return flatMap.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return flatMap.call(this, callback, self);
  },
  forEach(callback, self) {
    if (!isArray(this)) return forEach.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return forEach.call(this, callback, self);
  },
  includes(value, start) {
    return includes.call(bounded(this), value, start);
  },
  indexOf(value, start) {
    return indexOf.call(bounded(this), value, start);
  },
  join(separator) {
    return join.call(bounded(this), separator);
  },
  lastIndexOf(...values) {
    return lastIndexOf.apply(bounded(this), values);
  },
  map(callback, self) {
    if (!isArray(this)) return map.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return map.call(this, callback, self);
  },
  reduce(callback, ...initial) {
    if (!isArray(this)) return reduce.call(bounded(this), callback, ...initial);
    if (this.length > elementCountMax) tooLong();
    if (initial.length === 0) return reduce.call(this, callback);
    return reduce.call(this, callback, initial[0]);
  },
  reduceRight(callback, ...initial) {
    if (!isArray(this)) return reduceRight.call(bounded(this), callback, ...initial);
    if (this.length > elementCountMax) tooLong();
    if (initial.length === 0) return reduceRight.call(this, callback);
    return reduceRight.call(this, callback, initial[0]);
  },
  reverse() {
    const list = bounded(this);
    return returned(reverse.call(list), list, this);
  },
  shift() {
    return shift.call(bounded(this));
  },
  slice(start, end) {
    return slice.call(isArray(this) ? bounded(this) : copyOf(present(this)), start, end);
  },
  some(callback, self) {
    if (!isArray(this)) return some.call(bounded(this), callback, self);
    if (this.length > elementCountMax) tooLong();
    return some.call(this, callback, self);
  },
  sort(compare) {
    const list = bounded(this);
    return returned(sort.call(list, interruptible(compare, list)), list, this);
  },
  splice(...values) {
    return splice.apply(bounded(this), values);
  },
  toLocaleString(...values) {
    return toLocaleString.apply(bounded(this), values);
  },
  toReversed() {
    return toReversed.call(bounded(this));
  },
  toSorted(compare) {
    const list = bounded(this);
    return toSorted.call(list, interruptible(compare, list));
  },
  toSpliced(...values) {
    return toSpliced.apply(bounded(this), values);
  },
  unshift(...values) {
    return unshift.apply(bounded(this), values);
  },
  with(index, value) {
    return arrayWith.call(bounded(this), index, value);
  },
});
function interruptible(compare, list) {
  if (list === undefined || list === null || !(list.length > slowCountMax)) return compare;
  if (typeof compare === 'function') return (a, b) => compare(a, b);
  return compare === undefined ? compareTexts : compare;
}
function compareTexts(a, b) {
  const first = toText(a);
  const second = toText(b);
  return first < second ? -1 : first > second ? 1 : 0;
}
function spreadable(part) {
  if (typeof part !== 'object' && typeof part !== 'function') return part;
  if (part === null) return part;
  if (isArray(part) && !(spreadableKey in part)) {
    if (part.length > elementCountMax) tooLong();
    return part;
  }
  const flag = part[spreadableKey];
  return (flag === undefined ? isArray(part) : flag) ? copyOf(part) : [part];
}
function countFlat(list, levels, before) {
  let count = before;
  for (let index = 0; index < list.length; index += 1) {
    const element = list[index];
    if (levels >= 1 && isArray(element)) count = countFlat(element, levels - 1, count);
    else count += 1;
    if (count > elementCountMax) tooLong();
  }
  return count;
}
replace(Array, {
  from(items, map, self) {
    if (typeof items === 'string' || isList(items)) return nativeFrom.call(this, items, map, self);
    const iterator = present(items)[iteratorKey];
    const hasIterator = iterator !== undefined && iterator !== null;
    if (!hasIterator && this === NativeArray) return nativeFrom(copyOf(items), map, self);
    const list = hasIterator
      ? { __proto__: null, [iteratorKey]: () => apply(iterator, items, []) }
      : withoutIterator(pinned(Object(items), elementCountMax));
    return nativeFrom.call(this, list, map, self);
  },
});
function withoutIterator(list) {
  const handler = { get: (target, key) => (key === iteratorKey ? undefined : get(target, key)) };
  return new NativeProxy(list, { __proto__: null, ...handler });
}
const bufferLengthOf = getterOf(ArrayBuffer.prototype, 'byteLength');
function isBuffer(value) {
  try {
    bufferLengthOf.call(value);
    return true;
  } catch {
    return false;
  }
}
function noMemory() {
  throw new RangeError('Array buffer allocation failed');
}
const NativeBuffer = ArrayBuffer;
dressConstructor(function ArrayBuffer(length, options) {
  if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
  const bytes = +length;
  if (bytes > bufferBytesMax) noMemory();
  if (options === undefined && new.target === ArrayBuffer) return new NativeBuffer(bytes);
  const raw = typeof options === 'object' && options !== null ? options.maxByteLength : undefined;
  if (raw === undefined) return construct(NativeBuffer, [bytes], new.target);
  const maxByteLength = +raw;
  if (maxByteLength > bufferBytesMax) throw new RangeError('Invalid array buffer max length');
  return construct(NativeBuffer, [bytes, { __proto__: null, maxByteLength }], new.target);
}, NativeBuffer);
function typedSource(source, countMax) {
  if (source === null) return 0;
  if (typeof source !== 'object' && typeof source !== 'function') {
    const length = +source;
    if (length > countMax) noMemory();
    return length;
  }
  if (isList(source)) {
    if (source.length > countMax) noMemory();
    return source;
  }
  if (isTyped(source)) {
    if (typedLengthOf.call(source) > countMax) noMemory();
    return source;
  }
  if (isBuffer(source)) return source;
  const iterator = source[iteratorKey];
  const items =
    iterator === undefined || iterator === null
      ? copyOf(source)
      : [
          ... ({
            __proto__: null,
            [iteratorKey]: () => apply(iterator, source, []),
          }),
        ];
  if (items.length > countMax) noMemory();
  return items;
}
for (const name of  (ownKeys(globalThis))) {
  const Native = globalThis[name];
  if (typeof Native !== 'function' || getPrototypeOf(Native) !== typedArrays.constructor) continue;
  dressConstructor(
    (0, eval)(
      '(function (Native, construct, typedSource, tooLarge) { "use strict";' +
        'const countMax = ' +
        bufferBytesMax / Native.BYTES_PER_ELEMENT +
        ';' +
        'return function ' +
        name +
        '(source, offset, length) {' +
        'if (typeof source === "number") { if (source > countMax) tooLarge(source); }' +
        'else if (source !== undefined) source = typedSource(source, countMax);' +
        'if (new.target === ' +
        name +
        ') return new Native(source, offset, length);' +
        'if (new.target === undefined)' +
        ' throw new TypeError("Constructor ' +
        name +
        " requires 'new'\\");" +
        'return construct(Native, [source, offset, length], new.target); } })',
    )(Native, construct, typedSource, (length) => {
      throw new RangeError('Invalid typed array length: ' + length);
    }),
    Native,
  );
}
const typedSet = typedArrays.set;
const typedSort = typedArrays.sort;
const typedToSorted = typedArrays.toSorted;
const typedToLocaleString = typedArrays.toLocaleString;
function boundedTyped(array, countMax) {
  if (isTyped(array) && typedLengthOf.call(array) > countMax) tooLong();
  return array;
}
replace(typedArrays, {
  set(source, offset) {
    if (isView(source)) return typedSet.call(this, source, offset);
    return typedSet.call(this, bounded(source), offset);
  },
  sort(compare) {
    return typedSort.call(boundedTyped(this, pieceCountMax), compare);
  },
  toLocaleString(...values) {
    return typedToLocaleString.apply(boundedTyped(this, slowCountMax), values);
  },
  toSorted(compare) {
    return typedToSorted.call(boundedTyped(this, pieceCountMax), compare);
  },
});
const texts = String.prototype;
const { localeCompare, match, matchAll, normalize, replaceAll, search, split } = texts;
const { includes: textIncludes, indexOf: textIndexOf, lastIndexOf: textLastIndexOf } = texts;
const { replace: textReplace } = texts;
const { toLocaleLowerCase, toLocaleUpperCase } = texts;
const nativeRaw = String.raw;
const { parse, stringify } = JSON;
const splitKey = Symbol.split;
const manyMarks = /\\p{M}{1000}/u;
const shortText = 16384;
function localeText(value) {
  const text = toText(value);
  if (text.length <= shortText) return text;
  if (text.length > slowCountMax || manyMarks.test(text)) textTooLong();
  return text;
}
function searchable(text, sought) {
  if (sought.length > 1023 && text.length * sought.length > searchStepsMax) textTooLong();
  return sought;
}
function patternText(pattern) {
  if (pattern === undefined || isObject(pattern)) return pattern;
  const text = toText(pattern);
  if (text.length > slowCountMax) textTooLong();
  return text;
}
replace(texts, {
  includes(sought, position) {
    const text = toText(present(this));
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
       ({ __proto__: null, raw: bounded(template.raw) }),
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
const { assign, entries, getOwnPropertyDescriptors, getOwnPropertyNames, keys, values } = Object;
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
for (const name of  (ownKeys(Intl))) {
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
const guardsKey = 'reducerdb$guards';
const objects = Object.prototype;
function listedKeys(object) {
  if (typeof object === 'string') return object.length;
  if (typeof object !== 'object' || object === null) return 0;
  if (isArray(object)) return object.length;
  if (isView(object)) return isTyped(object) ? typedLengthOf.call(object) : 0;
  return hasOwn(object, 'length') && isTextObject(object) ? object.length : 0;
}
const guards = {
  __proto__: null,
  few(object) {
    if (typeof object === 'object' || typeof object === 'string') {
      if (listedKeys(object) > slowCountMax) tooLong();
    }
    return object;
  },
  keys(object) {
    let count = listedKeys(object);
    if (typeof object === 'object' && object !== null) {
      let next = getPrototypeOf(object);
      while (next !== null && next !== objects) {
        count += listedKeys(next);
        next = getPrototypeOf(next);
      }
    }
    if (count > slowCountMax) tooLong();
    return object;
  },
  items(list) {
    if (typeof list === 'string') {
      if (list.length > pieceCountMax) tooLong();
    } else if (isArray(list) && list.length > elementCountMax) {
      tooLong();
    }
    return list;
  },
  pause: (0, eval)(
    '(function () { let never; return function pause(value) {' +
      'if (never) { never = [' +
      'value, '.repeat(pauseElementCount) +
      ']; }' +
      'return value; }; })()',
  ),
};
defineProperty(globalThis, guardsKey, { value: guards, configurable: true });
`;

/** `guest/prelude/pattern-guards.js` and what it imports: the body of a function. */
export const patternGuards = `delete ArrayBuffer.prototype.transfer;
delete ArrayBuffer.prototype.transferToFixedLength;
for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly']) delete globalThis[name];
delete Array.fromAsync;
const { apply, getOwnPropertyDescriptor, defineProperty } = Reflect;
const { prototype } = RegExp;
const NativeRegExp = RegExp;
const nativeExec = prototype.exec;
const getterOf = (name) => getOwnPropertyDescriptor(prototype, name)?.get;
const sourceOf = getterOf('source');
const flagGetters = [
  ['d', 'hasIndices'],
  ['g', 'global'],
  ['i', 'ignoreCase'],
  ['m', 'multiline'],
  ['s', 'dotAll'],
  ['u', 'unicode'],
  ['v', 'unicodeSets'],
  ['y', 'sticky'],
]
  .map(([letter, name]) => [letter, getterOf(name)])
  .filter(([, get]) => get !== undefined);
const patterns = new WeakMap();
const getPattern = patterns.get.bind(patterns);
const setPattern = patterns.set.bind(patterns);
const nestingMax = 100;
const shallowNesting = 8;
const ballast = Object.freeze(new Array(1024).fill(0));
const deepBallast = Object.freeze(new Array(8192).fill(0));
const nothing = () => {};
function inspect(pattern) {
  const source = apply(sourceOf, pattern, []);
  const depth = nestingOf(source);
  if (depth > nestingMax) {
    throw new SyntaxError('Invalid regular expression: nested deeper than ' + nestingMax);
  }
  if (source.length > patternLengthMax) {
    throw new SyntaxError(
      'Invalid regular expression: longer than ' + patternLengthMax + ' characters',
    );
  }
  let flags = '';
  for (const [letter, get] of flagGetters) if (apply(get, pattern, [])) flags += letter;
  const inspected = { source, flags, ballast: depth > shallowNesting ? deepBallast : ballast };
  setPattern(pattern, inspected);
  return inspected;
}
function nestingOf(source) {
  let depth = 0;
  let deepest = 0;
  let isClass = false;
  for (let index = 0; index < source.length; index += 1) {
    const letter = source[index];
    if (letter === '\\\\') index += 1;
    else if (letter === '[') isClass = true;
    else if (letter === ']') isClass = false;
    else if (letter === '(' && !isClass) depth += 1;
    else if (letter === ')' && !isClass) depth -= 1;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}
function exec(pattern, text) {
  const inspected = getPattern(pattern) ?? inspect(pattern);
  apply(nothing, undefined, inspected.ballast);
  return apply(nativeExec, pattern, [searchable(inspected.source, text)]);
}
function searchable(source, value) {
  if (source.length < 1024) return value;
  const text = typeof value === 'string' ? value : \`\${value}\`;
  if (source.length * text.length > searchStepsMax) throw new RangeError('Invalid string length');
  return text;
}
function copyOf(pattern) {
  const { source, flags } = getPattern(pattern) ?? inspect(pattern);
  const copy = new NativeRegExp(source, flags);
  copy.lastIndex = pattern.lastIndex;
  return copy;
}
function onCopy(method, movesIndex) {
  return {
    method(text, value) {
      const copy = copyOf(this);
      const result = apply(method, copy, [searchable(copy.source, text), value]);
      if (movesIndex && this.lastIndex !== copy.lastIndex) this.lastIndex = copy.lastIndex;
      return result;
    },
  }.method;
}
const methods = {
  exec(text) {
    return exec(this, text);
  },
  test(text) {
    return exec(this, text) !== null;
  },
  [Symbol.match]: onCopy(prototype[Symbol.match], true),
  [Symbol.matchAll]: onCopy(prototype[Symbol.matchAll], false),
  [Symbol.replace]: onCopy(prototype[Symbol.replace], true),
  [Symbol.search]: onCopy(prototype[Symbol.search], false),
  [Symbol.split]: onCopy(prototype[Symbol.split], false),
};
for (const key of Reflect.ownKeys(methods)) {
  const { name, length } = prototype[key];
  defineProperty(methods[key], 'name', { value: name, configurable: true });
  defineProperty(methods[key], 'length', { value: length, configurable: true });
  defineProperty(prototype, key, { value: methods[key], writable: true, configurable: true });
}
`;

/** `guest/bridge/bridge.js` and what it imports: the body of a function. */
export const bridge = `const guardsKey = 'reducerdb$guards';
const { apply } = Reflect;
const host = guardHost();
const { textLengthMax, stackLengthMax, slowCountMax } = options;
const { scratchBytes, scratchBytesMax, argumentBytes } = options;
function guardHost() {
  const guard = (run) => (a, b, c, d, e) => {
    try {
      return run(a, b, c, d, e);
    } catch {
      throw new RangeError('Maximum call stack size exceeded');
    }
  };
  const guarded = { __proto__: null };
  for (const name of Object.keys(outer)) guarded[name] = guard(outer[name]);
  return guarded;
}
const NativeDate = Date;
let timeMicros = options.loadMicros;
const nowMillis = () => Number(timeMicros / 1000n);
const guards = globalThis[guardsKey];
delete globalThis[guardsKey];
const stacksAreNative = formatsStacksNatively();
prepareRealm();
lockdown({
  errorTaming: 'unsafe',
  overrideTaming: 'severe',
  consoleTaming: 'unsafe',
  domainTaming: 'unsafe',
  localeTaming: 'unsafe',
  stackFiltering: 'verbose',
  errorTrapping: 'none',
  unhandledRejectionTrapping: 'none',
  reporting: 'none',
});
harden(Intl);
harden(guards);
function setClock(micros) {
  timeMicros = micros;
}
function prepareRealm() {
  for (const name of ['dispose', 'asyncDispose']) {
    if (!(name in Symbol)) {
      Object.defineProperty(Symbol, name, { value: Symbol('Symbol.' + name) });
    }
  }
  Error.stackTraceLimit = options.stackFramesMax;
  const { prototype } = Intl.DateTimeFormat;
  const getFormat =  (Object.getOwnPropertyDescriptor(prototype, 'format')).get;
  const { formatToParts } = prototype;
  const orNow = (date) => (date === undefined ? nowMillis() : date);
  Object.defineProperty(prototype, 'format', {
    get: function format() {
      const format = apply(getFormat, this, []);
      return (date) => format(orNow(date));
    },
  });
  prototype.formatToParts = function (date) {
    return apply(formatToParts, this, [orNow(date)]);
  };
}
function formatsStacksNatively() {
  let isCalled = false;
  Error.prepareStackTrace = () => {
    isCalled = true;
    return '';
  };
  String(new Error('probe').stack);
  delete Error.prepareStackTrace;
  return !isCalled;
}
function messageOf(thrown) {
  try {
    const text = thrown.message;
    return typeof text === 'string' ? text : String(text);
  } catch {
    return '';
  }
}
function describeThrown(thrown) {
  try {
    if (thrown instanceof Error) {
      const { name } = thrown;
      const text = messageOf(thrown);
      if (typeof name !== 'string' || name === '') return text;
      return text === '' ? name : cut(name, textLengthMax) + ': ' + text;
    }
    if (typeof thrown === 'bigint') return thrown + 'n';
    const text = String(thrown);
    return text === '[object Object]' ? String(JSON.stringify(thrown)) : text;
  } catch {
    return 'a value that cannot be shown';
  }
}
function stackOf(thrown) {
  try {
    const text = typeof thrown === 'object' && thrown !== null ? thrown.stack : undefined;
    return typeof text === 'string' ? text : '';
  } catch {
    return '';
  }
}
function cut(text, lengthMax) {
  if (text.length <= lengthMax) return text;
  return text.slice(0, lengthMax) + '\\u2026 (' + (text.length - lengthMax) + ' more characters)';
}
let scratch = new ArrayBuffer(scratchBytes);
const sys = makeSys();
function growScratch(minBytes) {
  if (minBytes <= scratch.byteLength) return scratch;
  if (minBytes > scratchBytesMax) {
    throw new RangeError('a row or key may have at most ' + scratchBytesMax + ' bytes');
  }
  const bytes = Math.min(scratchBytesMax, Math.max(minBytes, scratch.byteLength * 2));
  const larger = new ArrayBuffer(bytes);
  new Uint8Array(larger).set(new Uint8Array(scratch));
  scratch = larger;
  host.scratchReplaced(larger);
  return larger;
}
function makeSys() {
  const refuse = (type, value) => {
    throw new TypeError('Expected \`' + type + '\`, got ' + typeof value);
  };
  const number = (value) => {
    if (typeof value !== 'number') refuse('u32', value);
    return value;
  };
  const string = (value) => {
    if (typeof value !== 'string') refuse('string', value);
    return value;
  };
  const named = (run) => (name) => run(string(name));
  const call1 = (run) => (a) => run(number(a));
  const call2 = (run) => (a, b) => run(number(a), number(b));
  const call3 = (run) => (a, b, c) => run(number(a), number(b), number(c));
  const call5 = (run) => (a, b, c, d, e) =>
    run(number(a), number(b), number(c), number(d), number(e));
  const ballast = Object.freeze(new Array(4096).fill(0));
  const nothing = () => {};
  let writeCount = 0;
  const write = (run) => (a, b, c, d, e) => {
    writeCount += 1;
    if ((writeCount & 31) === 0) apply(nothing, undefined, ballast);
    return run(a, b, c, d, e);
  };
  const callerStack = () => cut(String(new Error().stack), stackLengthMax);
  return harden({
    scratch: (minBytes) => growScratch(number(minBytes)),
    table_id: named(host.tableId),
    index_id: named(host.indexId),
    row_count: call1(host.rowCount),
    insert: write(call2(host.insert)),
    update: write(call3(host.update)),
    delete_equal: write(call2(host.deleteEqual)),
    find: call2(host.find),
    scan: call1(host.scan),
    scan_point: call2(host.scanPoint),
    scan_range: call5(host.scanRange),
    next: call1(host.next),
    close: call1(host.close),
    delete_point: write(call2(host.deletePoint)),
    delete_range: write(call5(host.deleteRange)),
    clear: write(call1(host.clear)),
    log: (level, text) => {
      number(level);
      string(text);
      if (host.mayLog()) host.log(level, cut(text, textLengthMax), callerStack());
      return 0;
    },
    timer_start: named(host.timerStart),
    timer_end: (id) => host.timerEnd(number(id), callerStack()),
    identity: () => host.identity(),
    jwt: () => host.jwt(),
    seed: () => host.seed(),
    violation: () => host.violation(),
  });
}
function makeTextEncoder() {
  return class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(input = '') {
      const text = '' + input;
      const { length } = text;
      const bytes = new Uint8Array(length * 3);
      const view = new DataView(bytes.buffer);
      let end = 0;
      for (let index = 0; index < length; index += 1) {
        let point =  (text.codePointAt(index));
        if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
        if (point < 0x80) {
          view.setUint8(end, point);
          end += 1;
        } else if (point < 0x800) {
          view.setUint8(end, 0xc0 | (point >> 6));
          view.setUint8(end + 1, 0x80 | (point & 0x3f));
          end += 2;
        } else if (point < 0x10000) {
          view.setUint8(end, 0xe0 | (point >> 12));
          view.setUint8(end + 1, 0x80 | ((point >> 6) & 0x3f));
          view.setUint8(end + 2, 0x80 | (point & 0x3f));
          end += 3;
        } else {
          view.setUint8(end, 0xf0 | (point >> 18));
          view.setUint8(end + 1, 0x80 | ((point >> 12) & 0x3f));
          view.setUint8(end + 2, 0x80 | ((point >> 6) & 0x3f));
          view.setUint8(end + 3, 0x80 | (point & 0x3f));
          end += 4;
          index += 1;
        }
      }
      return bytes.slice(0, end);
    }
  };
}
function makeTextDecoder() {
  return class TextDecoder {
    #isFatal;
    constructor(label = 'utf-8', options = {}) {
      if (label !== 'utf-8') {
        throw new RangeError('The encoding label provided (' + String(label) + ') is invalid');
      }
      if (options?.ignoreBOM) throw new TypeError("Option 'ignoreBOM' not supported");
      this.#isFatal = Boolean(options?.fatal);
    }
    get encoding() {
      return 'utf-8';
    }
    get fatal() {
      return this.#isFatal;
    }
    get ignoreBOM() {
      return false;
    }
    decode(input = new Uint8Array(0), options = {}) {
      if (options?.stream) throw new TypeError("Option 'stream' not supported");
      const bytes = ArrayBuffer.isView(input)
        ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
        : new Uint8Array(input);
      return decodeUtf8(bytes, this.#isFatal);
    }
  };
}
function decodeUtf8(bytes, isFatal) {
  const { length } = bytes;
  let index = length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  let text = '';
  let units = [];
  while (index < length) {
    const first = bytes[index];
    index += 1;
    let point = first;
    if (first >= 0x80) {
      let count = 0;
      let low = 0x80;
      let high = 0xbf;
      if (first >= 0xc2 && first <= 0xdf) {
        count = 1;
        point = first & 0x1f;
      } else if (first >= 0xe0 && first <= 0xef) {
        count = 2;
        point = first & 0x0f;
        if (first === 0xe0) low = 0xa0;
        if (first === 0xed) high = 0x9f;
      } else if (first >= 0xf0 && first <= 0xf4) {
        count = 3;
        point = first & 0x07;
        if (first === 0xf0) low = 0x90;
        if (first === 0xf4) high = 0x8f;
      }
      let isValid = count > 0;
      for (; count > 0 && isValid; count -= 1) {
        const byte = index < length ? bytes[index] : -1;
        if (byte < low || byte > high) {
          isValid = false;
        } else {
          point = (point << 6) | (byte & 0x3f);
          low = 0x80;
          high = 0xbf;
          index += 1;
        }
      }
      if (!isValid) {
        if (isFatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
        point = 0xfffd;
      }
    }
    if (point < 0x10000) {
      units.push(point);
    } else {
      units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
    }
    if (units.length >= 4096) {
      text += apply(String.fromCharCode, undefined, units);
      units = [];
    }
  }
  return text + apply(String.fromCharCode, undefined, units);
}
const { construct, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
const { reseed, random } = makeRandom((index) => host.seedWord(index));
const globals = {
  Date: makeDate(nowMillis, NativeDate),
  Math: makeMath(random),
  TextEncoder: makeTextEncoder(),
  TextDecoder: makeTextDecoder(),
  console: makeConsole((level, text) => sys.log(level, text)),
  WeakRef: makeWeakRef(),
  FinalizationRegistry: makeFinalizationRegistry(),
};
function makeDate(now, Native) {
  function Date(...args) {
    if (new.target === undefined) return new Native(now()).toString();
    return construct(Native, args.length === 0 ? [now()] : args, new.target);
  }
  defineProperty(Date, 'prototype', { value: Native.prototype, writable: false });
  defineProperty(Date, 'length', { value: 7 });
  const statics = { now: () => now(), parse: Native.parse, UTC: Native.UTC };
  for (const [name, value] of Object.entries(statics)) {
    defineProperty(Date, name, { value, writable: true, configurable: true });
  }
  return Date;
}
function makeMath(random) {
  const math = {};
  for (const key of ownKeys(Math)) {
    if (key !== 'random') {
      defineProperty(math, key,  (getOwnPropertyDescriptor(Math, key)));
    }
  }
  defineProperty(math, 'random', { value: random, writable: true, configurable: true });
  return math;
}
function makeRandom(word) {
  let isSeeded = false;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  const seed = () => {
    a = word(0);
    b = word(1);
    c = word(2);
    d = word(3);
    isSeeded = true;
    for (let step = 0; step < 12; step += 1) next();
  };
  const random = () => {
    if (!isSeeded) seed();
    return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  };
  return {
    random,
    reseed: () => {
      isSeeded = false;
    },
  };
}
function makeConsole(write) {
  const line =
    (level) =>
    (...parts) =>
      write(level, parts.map(textOf).join(' '));
  const nothing = () => {};
  const console = {
    error: line(0),
    warn: line(1),
    log: line(2),
    info: line(2),
    debug: line(3),
    trace: line(4),
    assert: (condition, ...parts) => {
      if (!condition) write(0, ['Assertion failed', ...parts].map(textOf).join(' '));
    },
  };
  const silent = 'clear count countReset dir dirxml group groupCollapsed groupEnd table time';
  for (const name of (silent + ' timeEnd timeLog timeStamp').split(' ')) console[name] = nothing;
  return console;
}
function textOf(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return value + 'n';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return String(value.stack ?? value);
  try {
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part + 'n' : part));
  } catch {
    return '[object]';
  }
}
function makeWeakRef() {
  return class WeakRef {
    #target;
    constructor(target) {
      this.#target = target;
    }
    deref() {
      return this.#target;
    }
  };
}
function makeFinalizationRegistry() {
  return class FinalizationRegistry {
    constructor(cleanup) {
      if (typeof cleanup !== 'function') throw new TypeError('cleanup must be callable');
    }
    register() {}
    unregister() {
      return false;
    }
  };
}
let jobs = [];
let reasonOf;
const unhandled = new Set();
const isObject = (value) =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
const GuestPromise = class Promise {
  #state = 'pending';
  #value = undefined;
  #reactions = [];
  #isHandled = false;
  static {
    reasonOf = (promise) => promise.#value;
  }
  constructor(executor) {
    if (typeof executor !== 'function') {
      throw new TypeError('Promise resolver ' + typeof executor + ' is not a function');
    }
    const { resolve, reject } = Promise.#resolversOf(this);
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }
  static #resolversOf(promise) {
    let isResolved = false;
    const resolve = (value) => {
      if (isResolved) return;
      isResolved = true;
      promise.#resolve(value);
    };
    const reject = (reason) => {
      if (isResolved) return;
      isResolved = true;
      promise.#settle('rejected', reason);
    };
    return { resolve, reject };
  }
  #resolve(value) {
    if (value === this) {
      this.#settle('rejected', new TypeError('Chaining cycle detected for promise #<Promise>'));
      return;
    }
    let then;
    if (isObject(value)) {
      try {
        then = value.then;
      } catch (error) {
        this.#settle('rejected', error);
        return;
      }
    }
    if (typeof then !== 'function') {
      this.#settle('fulfilled', value);
      return;
    }
    jobs.push(() => {
      const { resolve, reject } = Promise.#resolversOf(this);
      try {
        Reflect.apply(then, value, [resolve, reject]);
      } catch (error) {
        reject(error);
      }
    });
  }
  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    const reactions = this.#reactions;
    this.#reactions = [];
    if (state === 'rejected' && !this.#isHandled) unhandled.add(this);
    for (const reaction of reactions) this.#schedule(reaction);
  }
  #schedule({ onFulfilled, onRejected, resolve, reject }) {
    jobs.push(() => {
      const handler = this.#state === 'fulfilled' ? onFulfilled : onRejected;
      if (typeof handler !== 'function') {
        (this.#state === 'fulfilled' ? resolve : reject)(this.#value);
        return;
      }
      let result;
      try {
        result = handler(this.#value);
      } catch (error) {
        reject(error);
        return;
      }
      resolve(result);
    });
  }
  then(onFulfilled, onRejected) {
    if (!(#state in this)) throw new TypeError('then called on an object that is not a promise');
    const Species = this.constructor?.[Symbol.species] ?? Promise;
    const { promise, resolve, reject } = Promise.#capabilityOf(Species);
    const reaction = { onFulfilled, onRejected, resolve, reject };
    this.#isHandled = true;
    unhandled.delete(this);
    if (this.#state === 'pending') this.#reactions.push(reaction);
    else this.#schedule(reaction);
    return promise;
  }
  catch(onRejected) {
    return this.then(undefined, onRejected);
  }
  finally(onFinally) {
    if (typeof onFinally !== 'function') return this.then(onFinally, onFinally);
    return this.then(
      (value) => Promise.resolve(onFinally()).then(() => value),
      (reason) =>
        Promise.resolve(onFinally()).then(() => {
          throw reason;
        }),
    );
  }
  static #capabilityOf(Species) {
    let resolve;
    let reject;
    const promise = new Species((resolveIt, rejectIt) => {
      resolve = resolveIt;
      reject = rejectIt;
    });
    if (typeof resolve !== 'function' || typeof reject !== 'function') {
      throw new TypeError('Promise resolve or reject function is not callable');
    }
    return { promise, resolve, reject };
  }
  static get [Symbol.species]() {
    return this;
  }
  static withResolvers() {
    return Promise.#capabilityOf(this);
  }
  static try(callback, ...args) {
    return new this((resolve) => resolve(callback(...args)));
  }
  static resolve(value) {
    if (isObject(value) && #state in value && value.constructor === this) return value;
    return new this((resolve) => resolve(value));
  }
  static reject(reason) {
    return new this((_, reject) => reject(reason));
  }
  static all(values) {
    return this.#gather(values, (item, index, results, done, reject) =>
      item.then((value) => {
        results[index] = value;
        done();
      }, reject),
    );
  }
  static allSettled(values) {
    return this.#gather(values, (item, index, results, done) =>
      item.then(
        (value) => {
          results[index] = { status: 'fulfilled', value };
          done();
        },
        (reason) => {
          results[index] = { status: 'rejected', reason };
          done();
        },
      ),
    );
  }
  static #gather(values, watch) {
    return new this((resolve, reject) => {
      const results = [];
      let pending = 1;
      const done = () => {
        pending -= 1;
        if (pending === 0) resolve(results);
      };
      let index = 0;
      for (const value of values) {
        results.push(undefined);
        pending += 1;
        watch(this.resolve(value), index, results, done, reject);
        index += 1;
      }
      done();
    });
  }
  static any(values) {
    return new this((resolve, reject) => {
      const errors = [];
      let pending = 1;
      const done = () => {
        pending -= 1;
        if (pending === 0) reject(new AggregateError(errors, 'All promises were rejected'));
      };
      let count = 0;
      for (const value of values) {
        const index = count;
        count += 1;
        pending += 1;
        this.resolve(value).then(resolve, (reason) => {
          errors[index] = reason;
          done();
        });
      }
      done();
    });
  }
  static race(values) {
    return new this((resolve, reject) => {
      for (const value of values) this.resolve(value).then(resolve, reject);
    });
  }
};
Object.defineProperty(GuestPromise.prototype, Symbol.toStringTag, {
  value: 'Promise',
  configurable: true,
});
const drain = (report) => {
  while (jobs.length > 0) {
    const batch = jobs;
    jobs = [];
    for (const job of batch) {
      try {
        job();
      } catch (error) {
        report(error);
      }
    }
  }
  if (unhandled.size === 0) return;
  const reasons = [...unhandled].map(reasonOf);
  unhandled.clear();
  for (const reason of reasons) report(reason);
};
const compartment = new Compartment({
  __options__: true,
  transforms: [refuseKeywords],
});
const target = compartment.globalThis;
const boundNames = furnish();
const guardParameters = Object.values(options.guardNames).join(', ');
const guardArguments = Object.keys(options.guardNames).map((name) => guards[name]);
function furnish() {
  for (const name of ['lockdown', 'harden', 'Compartment', 'assert']) delete target[name];
  const offered = { Promise: GuestPromise, Intl, ...globals };
  for (const name of ['Float16Array', 'Float32Array', 'Float64Array', 'SuppressedError']) {
    if (name in globalThis) offered[name] = harden(globalThis[name]);
  }
  for (const name of Object.keys(offered)) {
    Object.defineProperty(target, name, {
      value: offered[name],
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
  const unbindable = ['undefined', 'NaN', 'Infinity', 'globalThis', 'eval'];
  return Object.getOwnPropertyNames(target).filter((name) => !unbindable.includes(name));
}
function refuseKeywords(source) {
  if (source.length > slowCountMax) throw new RangeError('Invalid string length');
  const match = /(?<![\\w$])(async|import)(?![\\w$])/.exec(source);
  if (match !== null) {
    throw new SyntaxError('"' + match[1] + '" is not available in code made from text in a module');
  }
  return source;
}
function programSource(script) {
  const accessors = boundNames.map(
    (name) => name + ': { get: () => ' + name + ', set: (value) => { ' + name + ' = value; } }',
  );
  return (
    '(function (hidden, globals, values) { with (hidden) { with (globals) { return (function () {' +
    ' "use strict"; return (function (__bind, globalThis, ' +
    boundNames.join(', ') +
    ') {' +
    ' __bind({ ' +
    accessors.join(', ') +
    ' });' +
    ' return function (module, require, ' +
    guardParameters +
    ') {\\n' +
    script +
    '\\n}; })(...values); })(); } } })'
  );
}
function bindGlobals(accessors) {
  for (const name of boundNames) {
    const { get, set } = accessors[name];
    Object.defineProperty(target, name, { get, set, enumerable: false, configurable: true });
  }
}
function hiddenGlobals() {
  return new Proxy(
    Object.freeze({ __proto__: null }),
    Object.freeze({
      __proto__: null,
      has: (_, name) => name in globalThis,
      get: () => undefined,
      set: (_, name) => {
        throw new ReferenceError(String(name) + ' is not defined');
      },
    }),
  );
}
const argumentsBuffer = new ArrayBuffer(argumentBytes);
let hooks;
let callReducerHook;
let describeHook;
let SenderError;
let message = '';
let stack = '';
let oneOffArguments;
let description = new ArrayBuffer(0);
let viewResult = new ArrayBuffer(0);
let callResult;
const api = Object.freeze({
  __proto__: null,
  scratch: () => scratch,
  growScratch,
  argumentsBuffer: (length) => {
    if (length > argumentBytes) return (oneOffArguments = new ArrayBuffer(length));
    return argumentsBuffer;
  },
  programSource,
  load,
  describe,
  description: () => description,
  callReducer,
  takeCallResult,
  callView,
  callAnonymousView,
  takeViewResult,
  settle: () => drain(reportRejection),
  message: () => message,
  stack: () => stack,
  stacksAreNative,
});
function load(makeProgram) {
  return guarded(() => {
    const module = { exports: {} };
    const values = [bindGlobals, target, ...boundNames.map((name) => target[name])];
    makeProgram(hiddenGlobals(), target, values)(module, refuseImport, ...guardArguments);
    const namespace = namespaceOf(module.exports);
    if (!('default' in namespace)) throw new TypeError('must export schema as default export');
    const schema = namespace.default;
    const isObject = typeof schema === 'object' ? schema !== null : typeof schema === 'function';
    const getHooks = isObject ? schema[Symbol.for(options.hooksKey)] : undefined;
    if (typeof getHooks !== 'function') {
      throw new TypeError('default export is not a Schema object');
    }
    hooks = apply(getHooks, schema, [namespace, sys]);
    describeHook = hookNamed(options.hookNames.describeModule);
    callReducerHook = hookNamed(options.hookNames.callReducer);
    SenderError = hookNamed(options.hookNames.senderErrorClass);
  });
}
function refuseImport() {
  throw new TypeError('import() is not available in modules: bundle what the module needs');
}
function namespaceOf(exports) {
  const namespace = { __proto__: null };
  for (const name of Object.keys(exports).sort()) namespace[name] = exports[name];
  Object.defineProperty(namespace, Symbol.toStringTag, { value: 'Module' });
  return Object.freeze(namespace);
}
function hookNamed(name) {
  const hook = typeof hooks === 'object' && hooks !== null ? hooks[name] : undefined;
  if (typeof hook !== 'function') {
    const got = hook === null ? 'null' : typeof hook;
    throw new TypeError('Expected module function hook ' + '\`' + name + '\`, got ' + got);
  }
  return hook;
}
function describe() {
  return guarded(() => {
    const bytes = apply(describeHook, hooks, []);
    const buffer = bufferOf(bytes);
    if (buffer === undefined) {
      throw new TypeError(
        options.hookNames.describeModule + ' must return a Uint8Array, got ' + typeof bytes,
      );
    }
    description = buffer;
  });
}
function callReducer(id, sender, connectionId, timestamp, length) {
  setClock(timestamp);
  reseed();
  try {
    const buffer = length > argumentBytes ? oneOffArguments : argumentsBuffer;
    oneOffArguments = undefined;
    const args = new DataView(buffer, 0, length);
    const returned = apply(callReducerHook, hooks, [id, sender, connectionId, timestamp, args]);
    if (returned === undefined) return 0;
    callResult = bufferOf(returned);
    if (callResult !== undefined) return 3;
    throw new TypeError('Reducer returned a value other than \`undefined\`');
  } catch (thrown) {
    const status = classify(thrown);
    if (status !== 1) return status;
    callResult = errorBytesOf(thrown);
    return callResult === undefined ? 1 : 4;
  }
}
function bufferOf(bytes) {
  const isBytes = ArrayBuffer.isView(bytes) && bytes instanceof Uint8Array;
  return isBytes ? new Uint8Array(bytes).buffer : undefined;
}
function errorBytesOf(thrown) {
  try {
    return bufferOf(thrown[options.errorBytesKey]);
  } catch {
    return undefined;
  }
}
function takeCallResult() {
  const taken = callResult;
  callResult = undefined;
  return taken;
}
function callView(id, sender) {
  return evaluateView(options.hookNames.callView, [id, sender, new Uint8Array(0)]);
}
function callAnonymousView(id) {
  return evaluateView(options.hookNames.callAnonymousView, [id, new Uint8Array(0)]);
}
function evaluateView(hookName, args) {
  setClock(options.loadMicros);
  reseed();
  viewResult = new ArrayBuffer(0);
  return guarded(() => {
    const result = apply(hookNamed(hookName), hooks, args);
    const isObject = typeof result === 'object' && result !== null;
    const buffer = bufferOf(isObject ? result.data : undefined);
    if (buffer === undefined) {
      throw new TypeError(hookName + ' must return an object whose data is a Uint8Array');
    }
    viewResult = buffer;
  });
}
function takeViewResult() {
  const taken = viewResult;
  viewResult = new ArrayBuffer(0);
  return taken;
}
function guarded(run) {
  try {
    run();
    return 0;
  } catch (thrown) {
    return classify(thrown);
  }
}
function classify(thrown) {
  message = '';
  stack = '';
  if (isSenderError(thrown)) {
    message = cut(messageOf(thrown), textLengthMax);
    return 1;
  }
  message = cut('Uncaught ' + cut(describeThrown(thrown), textLengthMax), textLengthMax);
  stack = cut(stackOf(thrown), stackLengthMax);
  return 2;
}
function isSenderError(thrown) {
  try {
    return SenderError !== undefined && thrown instanceof SenderError;
  } catch {
    return false;
  }
}
function reportRejection(reason) {
  if (!host.mayLog()) return;
  const text = 'Unhandled promise rejection: ' + cut(describeThrown(reason), textLengthMax);
  host.log(0, cut(text, textLengthMax), cut(stackOf(reason), stackLengthMax));
}
`;

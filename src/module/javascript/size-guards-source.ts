import { limits } from '../../limits.ts';
import { languageGuardsSource } from './language-guards-source.ts';
import { textGuardsSource } from './text-guards-source.ts';

/**
 * Script text that a new realm runs first. It bounds what one call of a built-in can walk or
 * allocate.
 *
 * The JavaScript engine ends the *process* when one allocation is too large for it, and cannot be
 * interrupted inside most built-ins: `Array.prototype.sort.call({ length: 2 ** 53 - 1 })` does
 * the first, `fill` on the same does the second. What a program does in loops of its own is left to
 * the watchdog, which can interrupt those. Language constructs cannot be guarded from here; what
 * remains is listed in `docs/guide/security.md`.
 *
 * 1. Methods of arrays first look at the length. Of an array it cannot change between our look and
 *    the engine's. An object with a length is passed to the engine behind a proxy of ours, with the
 *    length that we saw.
 * 2. The proxy of an array cannot be distinguished from an array, and can have another length at
 *    each check. So a program's own proxies check what they answer.
 * 3. Constructors of buffers and typed arrays are ours, and look at the size. Those of the engine
 *    are not reachable: prototypes name ours, and every copying method goes through them.
 * 4. A text is cut into a bounded number of pieces, and parsed up to a bounded length.
 *
 * Each guard is written out, not made by a factory: functions from one factory share their type
 * feedback, and all of them would be slow. A guard costs a few nanoseconds.
 */
export const sizeGuardsSource = `(function () {
'use strict';
const elementCountMax = ${limits.moduleElementCountMax};
const pieceCountMax = ${limits.modulePieceCountMax};
const slowCountMax = ${limits.moduleSlowCountMax};
const bufferBytesMax = ${limits.moduleBufferBytesMax};
const searchStepsMax = ${limits.moduleSearchStepsMax};

const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
const { get, set, ownKeys } = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { hasOwn } = Object;
const { trunc } = Math;
const { iterator: iteratorKey, isConcatSpreadable: spreadableKey } = Symbol;
const getterOf = (object, key) => getOwnPropertyDescriptor(object, key).get;

const NativeProxy = Proxy;

function tooLong() {
  throw new RangeError('Invalid array length');
}

// Puts methods in the place of the engine's, with the same names and lengths.
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
    if (key !== 'caller') defineProperty(constructor, key, getOwnPropertyDescriptor(native, key));
  }
  Reflect.setPrototypeOf(constructor, getPrototypeOf(native));
  const { prototype } = native;
  defineProperty(constructor, 'prototype', { value: prototype, writable: false });
  defineProperty(prototype, 'constructor', { value: constructor });
  defineProperty(owner, name, { value: constructor });
}

// ---- Proxies

// Reads the traps of a handler when they are needed, as the engine does; guards one of them.
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

function isListLike(target) {
  if (isArray(target) || isView(target)) return true;
  return typeof target === 'object' && target !== null && hasOwn(target, 'length') &&
    isTextObject(target);
}

// Bound: like the engine's, it has no prototype.
const GuestProxy = function (target, handler) {
  if (new.target === undefined) throw new TypeError("Constructor Proxy requires 'new'");
  return new NativeProxy(target, guardedHandler(target, handler));
}.bind();
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

// The list itself if it is an array of bounded length, else a stand-in whose length cannot change.
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

// ---- Arrays

const arrays = Array.prototype;
const { copyWithin, every, fill, filter, find, findIndex, findLast, findLastIndex } = arrays;
const { flat, flatMap, forEach, includes, indexOf, join } = arrays;
const { concat, lastIndexOf, map, reduce, reduceRight, reverse, shift, slice, some, sort } = arrays;
const { splice, unshift, toLocaleString, toReversed, toSorted, toSpliced } = arrays;
const arrayWith = arrays.with;
const NativeArray = Array;
const nativeFrom = Array.from;

// Such methods return the list that they were called on.
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

// Sorting is interrupted where it calls a function of the realm. By text, of millions, it takes
// minutes.
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

// What concat takes apart, as a genuine array; what it does not take apart, so that it will not.
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

// In a loop of ours, which can be interrupted.
function copyOf(list) {
  const object = Object(list);
  const length = trunc(+object.length) || 0;
  if (length > elementCountMax) tooLong();
  const copy = [];
  for (let index = 0; index < length; index += 1) if (index in object) copy[index] = object[index];
  if (length > 0) copy.length = length;
  return copy;
}

function present(self) {
  if (self === undefined || self === null) throw new TypeError('called on null or undefined');
  return self;
}

// Counts in a loop of ours, which can be interrupted.
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

// An array whose iterator is the engine's, or the proxy of one.
function isList(items) {
  return isArray(items) && getPrototypeOf(items) === arrays && !hasOwn(items, iteratorKey);
}

// ---- Buffers and typed arrays

const typedArrays = getPrototypeOf(Uint8Array.prototype);
const typedKindOf = getterOf(typedArrays, Symbol.toStringTag);
const typedLengthOf = getterOf(typedArrays, 'length');
const bufferLengthOf = getterOf(ArrayBuffer.prototype, 'byteLength');
const isTyped = (value) => isView(value) && typedKindOf.call(value) !== undefined;

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

// What a typed array is to be made from, such that making it stays within bounds.
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
      : [...{ __proto__: null, [iteratorKey]: () => apply(iterator, source, []) }];
  if (items.length > countMax) noMemory();
  return items;
}

for (const name of ownKeys(globalThis)) {
  const Native = globalThis[name];
  if (typeof Native !== 'function' || getPrototypeOf(Native) !== typedArrays.constructor) continue;
  // Text, so that each has type feedback of its own.
  dressConstructor(
    (0, eval)(
      '(function (Native, construct, typedSource, tooLarge) { "use strict";' +
        'const countMax = ' + bufferBytesMax / Native.BYTES_PER_ELEMENT + ';' +
        'return function ' + name + '(source, offset, length) {' +
        'if (typeof source === "number") { if (source > countMax) tooLarge(source); }' +
        'else if (source !== undefined) source = typedSource(source, countMax);' +
        'if (new.target === ' + name + ') return new Native(source, offset, length);' +
        'if (new.target === undefined)' +
        ' throw new TypeError("Constructor ' + name + ' requires \\'new\\'");' +
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

${textGuardsSource}
${languageGuardsSource}
})();`;

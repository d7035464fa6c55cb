/**
 * What guards measure: lengths of lists and texts before a built-in walks them. An object whose
 * length could change between our look and the engine's is given to the engine behind a proxy of
 * ours, or as a copy.
 */
import {
  get,
  getPrototypeOf,
  getterOf,
  hasOwn,
  isArray,
  isView,
  iteratorKey,
  NativeProxy,
  set,
  trunc,
} from './intrinsics.js';

/** @type {any} */
export const arrays = Array.prototype;

export function tooLong() {
  throw new RangeError('Invalid array length');
}

export function textTooLong() {
  throw new RangeError('Invalid string length');
}

export function present(self) {
  if (self === undefined || self === null) throw new TypeError('called on null or undefined');
  return self;
}

export function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

export function toText(value) {
  return typeof value === 'string' ? value : `${value}`;
}

/** @type {any} */
export const typedArrays = getPrototypeOf(Uint8Array.prototype);
const typedKindOf = getterOf(typedArrays, Symbol.toStringTag);
export const typedLengthOf = getterOf(typedArrays, 'length');
export const isTyped = (value) => isView(value) && typedKindOf.call(value) !== undefined;

const textOf = String.prototype.valueOf;

export function isTextObject(value) {
  try {
    textOf.call(value);
    return true;
  } catch {
    return false;
  }
}

// Each index of a list or text becomes a key.
export function fewKeys(object) {
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

// The list itself if it is an array of bounded length, else a stand-in whose length cannot change.
export function bounded(list) {
  if (isArray(list)) {
    if (list.length > elementCountMax) tooLong();
    return list;
  }
  return list === undefined || list === null ? list : pinned(Object(list), elementCountMax);
}

export function pinned(object, lengthMax) {
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

// In a loop of ours, which can be interrupted.
export function copyOf(list) {
  const object = Object(list);
  const length = trunc(+object.length) || 0;
  if (length > elementCountMax) tooLong();
  const copy = [];
  for (let index = 0; index < length; index += 1) if (index in object) copy[index] = object[index];
  if (length > 0) copy.length = length;
  return copy;
}

// An array whose iterator is the engine's, or the proxy of one.
export function isList(items) {
  return isArray(items) && getPrototypeOf(items) === arrays && !hasOwn(items, iteratorKey);
}

export const localeCountMax = 1024;
const localeTagOf = Intl.Locale.prototype.toString;

export function localesOf(locales) {
  if (!isObject(locales)) return locales;
  try {
    return localeTagOf.call(locales);
  } catch {
    return pinned(locales, localeCountMax);
  }
}

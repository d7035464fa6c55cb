/**
 * Guards of syntax. The linker puts calls to them into programs (see `bundle/lower-guards.ts`); no
 * program can name them. Each returns its argument.
 */
import { guardsKey } from '../guards-key.js';
import { defineProperty, getPrototypeOf, hasOwn, isArray, isView } from './intrinsics.js';
import { isTextObject, isTyped, tooLong, typedLengthOf } from './measures.js';

const objects = Object.prototype;

// How many keys an object has by being a list or a text.
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
  // The keys of its prototypes are listed, too.
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
  // The engine looks for an interruption where a function begins, unless it has put the function's
  // text in the place of the call; which it does not with one as long as this.
  // biome-ignore lint/security/noGlobalEval: the text is of this file
  pause: (0, eval)(
    '(function () { let never; return function pause(value) {' +
      'if (never) { never = [' +
      'value, '.repeat(pauseElementCount) +
      ']; }' +
      'return value; }; })()',
  ),
};
defineProperty(globalThis, guardsKey, { value: guards, configurable: true });

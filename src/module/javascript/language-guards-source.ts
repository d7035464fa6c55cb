import { limits } from '../../limits.ts';

/** Key under which the prelude leaves the guards; the bridge takes them before any program runs. */
export const guardsKey = 'reducerdb$guards';

/**
 * Script text, the third part of `size-guards-source.ts` (inside its function): guards of syntax.
 * The linker puts calls to them into programs (see `bundle/lower-guards.ts`); no program can name
 * them. Each returns its argument.
 */
export const languageGuardsSource = `// ---- Syntax

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
  pause: (0, eval)(
    '(function () { let never; return function pause(value) {' +
      'if (never) { never = [' + 'value, '.repeat(${limits.modulePauseElementCount}) + ']; }' +
      'return value; }; })()',
  ),
};
defineProperty(globalThis, '${guardsKey}', { value: guards, configurable: true });`;

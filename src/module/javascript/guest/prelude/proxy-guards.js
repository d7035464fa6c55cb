/** A program's own proxies: they check what they answer to those who ask for a length or keys. */
import {
  apply,
  defineProperty,
  get,
  hasOwn,
  isArray,
  isView,
  NativeProxy,
  ownKeys,
} from './intrinsics.js';
import { fewKeys, isObject, isTextObject, tooLong } from './measures.js';

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
    if (key !== 'length') return value;
    // Converted once, and here: an object could give the engine another number than it gave us.
    const length = isObject(value) ? +value : value;
    if (length > elementCountMax) tooLong();
    return length;
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
  return isObject(handler) && isListLike(target) ? new ListHandler(handler) : handler;
}

// Bound: like the engine's, it has no prototype.
const GuestProxy = /** @type {any} */ (
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

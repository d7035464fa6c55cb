/**
 * The engine's own functions, taken before ours stand in their place, and how ours are put there.
 */
export const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } =
  Reflect;
export const { get, set, ownKeys } = Reflect;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { hasOwn } = Object;
export const { trunc } = Math;
export const { iterator: iteratorKey, isConcatSpreadable: spreadableKey } = Symbol;
export const getterOf = (object, key) =>
  /** @type {{ get: () => any }} */ (getOwnPropertyDescriptor(object, key)).get;

/** @type {any} */
export const NativeProxy = Proxy;

/**
 * Puts methods in the place of the engine's, with the same names and lengths.
 *
 * @param {object} owner
 * @param {object & ThisType<any>} methods
 */
export function replace(owner, methods) {
  for (const key of ownKeys(methods)) {
    const native = getOwnPropertyDescriptor(owner, key);
    if (native === undefined) continue;
    const { name, length } = native.value;
    defineProperty(methods[key], 'name', { value: name, configurable: true });
    defineProperty(methods[key], 'length', { value: length, configurable: true });
    defineProperty(owner, key, { ...native, value: methods[key] });
  }
}

/**
 * Puts a constructor in the place of the engine's, with the same properties and prototype.
 *
 * @param {any} constructor
 * @param {any} native
 * @param {object} [owner]
 * @param {PropertyKey} [name]
 */
export function dressConstructor(constructor, native, owner = globalThis, name = native.name) {
  const keys = ownKeys(native).filter((key) => key !== 'prototype' && key !== 'arguments');
  for (const key of keys) {
    if (key !== 'caller') {
      defineProperty(
        constructor,
        key,
        /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(native, key)),
      );
    }
  }
  Reflect.setPrototypeOf(constructor, getPrototypeOf(native));
  const { prototype } = native;
  defineProperty(constructor, 'prototype', { value: prototype, writable: false });
  defineProperty(prototype, 'constructor', { value: constructor });
  defineProperty(owner, name, { value: constructor });
}

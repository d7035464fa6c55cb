/**
 * `structuredClone` of the web for modules: a copy of data, in which one object stays one object.
 * Functions, symbols and the like cannot be copied; prototypes and getters are not.
 */
export function structuredClone<T>(value: T): T {
  return cloneOf(value, new Map()) as T;
}

function cloneOf(value: unknown, known: Map<object, unknown>): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') throw notCloneable(value);
  if (typeof value !== 'object' || value === null) return value;
  if (known.has(value)) return known.get(value);
  const keep = <Copy>(copy: Copy): Copy => {
    known.set(value, copy);
    return copy;
  };
  if (Array.isArray(value)) return copyProperties(value, keep(new Array(value.length)), known);
  if (value instanceof Map) return cloneMap(value, keep(new Map()), known);
  if (value instanceof Set) return cloneSet(value, keep(new Set()), known);
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return cloneView(value, keep, known);
  if (value instanceof Error) return cloneError(value, keep, known);
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) {
    throw notCloneable(value);
  }
  return copyProperties(value, keep({}), known);
}

function copyProperties(from: object, to: object, known: Map<object, unknown>): object {
  for (const [key, part] of Object.entries(from)) {
    const property = { value: cloneOf(part, known), writable: true, enumerable: true };
    Object.defineProperty(to, key, { ...property, configurable: true });
  }
  return to;
}

function cloneMap(
  from: Map<unknown, unknown>,
  to: Map<unknown, unknown>,
  known: Map<object, unknown>,
) {
  for (const [key, part] of from) to.set(cloneOf(key, known), cloneOf(part, known));
  return to;
}

function cloneSet(from: Set<unknown>, to: Set<unknown>, known: Map<object, unknown>) {
  for (const part of from) to.add(cloneOf(part, known));
  return to;
}

type ViewClass = new (buffer: unknown, offset: number, length: number) => ArrayBufferView;

function cloneView(
  view: ArrayBufferView & { readonly length?: number },
  keep: <Copy>(copy: Copy) => Copy,
  known: Map<object, unknown>,
): ArrayBufferView {
  const buffer = cloneOf(view.buffer, known);
  const viewClass = view.constructor as ViewClass;
  return keep(new viewClass(buffer, view.byteOffset, view.length ?? view.byteLength));
}

const errorClasses = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

function cloneError(
  from: Error,
  keep: <Copy>(copy: Copy) => Copy,
  known: Map<object, unknown>,
): Error {
  const errorClass = errorClasses.find(({ name }) => name === from.name) ?? Error;
  const copy = keep(new errorClass(from.message));
  if (from.stack !== undefined) copy.stack = from.stack;
  if ('cause' in from) {
    const value = cloneOf(from.cause, known);
    Object.defineProperty(copy, 'cause', { value, writable: true, configurable: true });
  }
  return copy;
}

function notCloneable(value: unknown): Error {
  const what = typeof value === 'symbol' ? value.toString() : `a ${typeof value}`;
  return Object.assign(new Error(`${what} could not be cloned.`), { name: 'DataCloneError' });
}

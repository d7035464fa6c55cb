/** Buffers and typed arrays: their constructors are ours, and look at the size. */
import {
  apply,
  construct,
  dressConstructor,
  getPrototypeOf,
  getterOf,
  isView,
  iteratorKey,
  ownKeys,
  replace,
} from './intrinsics.js';
import {
  bounded,
  copyOf,
  isList,
  isTyped,
  tooLong,
  typedArrays,
  typedLengthOf,
} from './measures.js';

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
      : [
          .../** @type {any} */ ({
            __proto__: null,
            [iteratorKey]: () => apply(iterator, source, []),
          }),
        ];
  if (items.length > countMax) noMemory();
  return items;
}

for (const name of /** @type {string[]} */ (ownKeys(globalThis))) {
  const Native = globalThis[name];
  if (typeof Native !== 'function' || getPrototypeOf(Native) !== typedArrays.constructor) continue;
  // Text, so that each has type feedback of its own.
  dressConstructor(
    // biome-ignore lint/security/noGlobalEval: the text is of this file
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
        " requires 'new'\");" +
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

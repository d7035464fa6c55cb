/**
 * The second script of a new realm. It takes away what would let a program end the whole process or
 * pull a buffer from under the engine.
 *
 * 1. Buffers cannot be detached or moved, and there is no shared memory.
 * 2. Patterns. The JavaScript engine translates a regular expression when it is first used, and
 *    ends the *process* if that runs out of stack ("RegExpCompiler Allocation failed"), or simply
 *    crashes when groups are nested some ten thousand deep. So every way to use a pattern first
 *    looks at its nesting and makes sure that enough stack is left; if not, it throws like any
 *    other full stack. Methods that would look up `exec` on the program's object work on a private
 *    copy of the pattern: a program can hide `exec` on its own. Costs about a third of a
 *    microsecond a use.
 *    Translating takes time and memory by the length of a pattern, and nothing interrupts it, so a
 *    long one throws as well.
 */
delete ArrayBuffer.prototype.transfer;
delete ArrayBuffer.prototype.transferToFixedLength;
for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly']) delete globalThis[name];
// Makes promises of the engine's own (see bridge/promise.js).
delete Array.fromAsync;

const { apply, getOwnPropertyDescriptor, defineProperty } = Reflect;
const { prototype } = RegExp;
const NativeRegExp = RegExp;
const nativeExec = prototype.exec;
/** @type {(name: string) => any} */
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

// What translating takes, measured: 4 KiB for any shallow pattern, 330 bytes a level of nesting.
const nestingMax = 100;
const shallowNesting = 8;
const ballast = Object.freeze(new Array(1024).fill(0));
const deepBallast = Object.freeze(new Array(8192).fill(0));
const nothing = () => {};

// Reads a pattern's text and flags, once. Throws when it is not a pattern, or is nested too deep.
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
    if (letter === '\\') index += 1;
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

// A long pattern is mostly a text to look for; that takes, at worst, the product of both lengths.
function searchable(source, value) {
  if (source.length < 1024) return value;
  const text = typeof value === 'string' ? value : `${value}`;
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

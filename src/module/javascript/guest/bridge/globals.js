/**
 * Globals of a program in place of the engine's own, which would expose the host: a clock that
 * stands still during a call, a generator seeded per call, text codecs, a console, weak references
 * without garbage collection to observe.
 */
import { NativeDate, nowMillis } from './hardening.js';
import { host } from './host.js';
import { sys } from './sys.js';
import { makeTextDecoder, makeTextEncoder } from './text-codecs.js';

const { construct, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
// The generator starts from the four words of the host's seed at its next use after `reseed`.
export const { reseed, random } = makeRandom((index) => host.seedWord(index));
export const globals = {
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
      defineProperty(
        math,
        key,
        /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(Math, key)),
      );
    }
  }
  defineProperty(math, 'random', { value: random, writable: true, configurable: true });
  return math;
}

// sfc32: 128 bits of state, 32 bits a step; a call that draws nothing pays nothing.
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

// For programs without an SDK; ours replaces it by one that inspects its arguments.
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

/**
 * Globals of a program in place of the engine's own, which would expose the host, as script text
 * (evaluated in the guest realm by the bridge): a clock that stands still during a call, a
 * generator seeded per call, text codecs, a console, weak references without garbage collection to
 * observe.
 *
 * `makeGlobals({ nowMillis, seedWord, log, NativeDate, mathOf })` returns `{ globals, reseed }`.
 * `nowMillis()` is the time that the program sees, `seedWord(i)` the i-th of four 32-bit words that
 * `reseed()` makes the generator start from at its next use, `log(level, text)` writes a line.
 */
export const guestGlobalsSource = `
function makeGlobals({ nowMillis, seedWord, log, NativeDate }) {
  const { apply, construct, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
  const { reseed, random } = makeRandom(seedWord);
  const globals = {
    Date: makeDate(nowMillis, NativeDate),
    Math: makeMath(random),
    TextEncoder: makeTextEncoder(),
    TextDecoder: makeTextDecoder(),
    console: makeConsole(log),
    WeakRef: makeWeakRef(),
    FinalizationRegistry: makeFinalizationRegistry(),
  };
  return { globals, reseed };

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
      if (key !== 'random') defineProperty(math, key, getOwnPropertyDescriptor(Math, key));
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
    return { random, reseed: () => { isSeeded = false; } };
  }

  function makeTextEncoder() {
    return class TextEncoder {
      get encoding() {
        return 'utf-8';
      }

      encode(input = '') {
        const text = '' + input;
        const { length } = text;
        const bytes = new Uint8Array(length * 3);
        const view = new DataView(bytes.buffer);
        let end = 0;
        for (let index = 0; index < length; index += 1) {
          let point = text.codePointAt(index);
          if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
          if (point < 0x80) {
            view.setUint8(end, point);
            end += 1;
          } else if (point < 0x800) {
            view.setUint8(end, 0xc0 | (point >> 6));
            view.setUint8(end + 1, 0x80 | (point & 0x3f));
            end += 2;
          } else if (point < 0x10000) {
            view.setUint8(end, 0xe0 | (point >> 12));
            view.setUint8(end + 1, 0x80 | ((point >> 6) & 0x3f));
            view.setUint8(end + 2, 0x80 | (point & 0x3f));
            end += 3;
          } else {
            view.setUint8(end, 0xf0 | (point >> 18));
            view.setUint8(end + 1, 0x80 | ((point >> 12) & 0x3f));
            view.setUint8(end + 2, 0x80 | ((point >> 6) & 0x3f));
            view.setUint8(end + 3, 0x80 | (point & 0x3f));
            end += 4;
            index += 1;
          }
        }
        return bytes.slice(0, end);
      }
    };
  }

  function makeTextDecoder() {
    return class TextDecoder {
      #isFatal;

      constructor(label = 'utf-8', options = {}) {
        if (label !== 'utf-8') {
          throw new RangeError('The encoding label provided (' + String(label) + ') is invalid');
        }
        if (options?.ignoreBOM) throw new TypeError("Option 'ignoreBOM' not supported");
        this.#isFatal = Boolean(options?.fatal);
      }

      get encoding() {
        return 'utf-8';
      }

      get fatal() {
        return this.#isFatal;
      }

      get ignoreBOM() {
        return false;
      }

      decode(input = new Uint8Array(0), options = {}) {
        if (options?.stream) throw new TypeError("Option 'stream' not supported");
        const bytes = ArrayBuffer.isView(input)
          ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
          : new Uint8Array(input);
        return decodeUtf8(bytes, this.#isFatal);
      }
    };
  }

  function decodeUtf8(bytes, isFatal) {
    const { length } = bytes;
    let index = length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    let text = '';
    let units = [];
    while (index < length) {
      const first = bytes[index];
      index += 1;
      let point = first;
      if (first >= 0x80) {
        // How many bytes follow, and what the first of them may be (no overlong forms, no
        // surrogates, nothing above U+10FFFF).
        let count = 0;
        let low = 0x80;
        let high = 0xbf;
        if (first >= 0xc2 && first <= 0xdf) {
          count = 1;
          point = first & 0x1f;
        } else if (first >= 0xe0 && first <= 0xef) {
          count = 2;
          point = first & 0x0f;
          if (first === 0xe0) low = 0xa0;
          if (first === 0xed) high = 0x9f;
        } else if (first >= 0xf0 && first <= 0xf4) {
          count = 3;
          point = first & 0x07;
          if (first === 0xf0) low = 0x90;
          if (first === 0xf4) high = 0x8f;
        }
        let isValid = count > 0;
        for (; count > 0 && isValid; count -= 1) {
          const byte = index < length ? bytes[index] : -1;
          if (byte < low || byte > high) {
            isValid = false;
          } else {
            point = (point << 6) | (byte & 0x3f);
            low = 0x80;
            high = 0xbf;
            index += 1;
          }
        }
        if (!isValid) {
          if (isFatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
          point = 0xfffd;
        }
      }
      if (point < 0x10000) {
        units.push(point);
      } else {
        units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
      }
      if (units.length >= 4096) {
        text += apply(String.fromCharCode, undefined, units);
        units = [];
      }
    }
    return text + apply(String.fromCharCode, undefined, units);
  }

  // For programs without an SDK; ours replaces it by one that inspects its arguments.
  function makeConsole(write) {
    const line = (level) => (...parts) => write(level, parts.map(textOf).join(' '));
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
}
`;

/** `TextEncoder` and `TextDecoder` of a program, for UTF-8. */
import { apply } from './host.js';

export function makeTextEncoder() {
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
        let point = /** @type {number} */ (text.codePointAt(index));
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

export function makeTextDecoder() {
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

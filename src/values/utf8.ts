/**
 * UTF-8 without the platform: the sandbox of modules need not provide `TextEncoder`. Bytes are
 * written through a `DataView`, because in a hardened realm a store into a typed array can be
 * twenty times slower. Texts consist of UTF-16 units; an unpaired surrogate is written as U+FFFD.
 */
import { isHardenedRealm } from './hardened-realm.ts';

const replacement = 0xfffd;

/** UTF-8 length of `text` in bytes. */
export function utf8Length(text: string): number {
  let byteCount = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index) as number;
    if (point < 0x80) continue;
    byteCount += point < 0x800 ? 1 : 2;
    // A pair of units takes four bytes.
    if (point > 0xffff) index += 1;
  }
  return byteCount;
}

/**
 * Writes `text` at `at` of `bytes`, of which `view` is a view, and returns the offset after it.
 * There must be room for 3 bytes per unit.
 */
export function writeUtf8(text: string, bytes: Uint8Array, view: DataView, at: number): number {
  const length = text.length;
  if (length > longTextBytes && encoder !== void 0) {
    return at + encoder.encodeInto(text, bytes.subarray(at)).written;
  }
  let end = at;
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x80) return writeUtf8From(text, index, view, end);
    view.setUint8(end, unit);
    end += 1;
  }
  return end;
}

function writeUtf8From(text: string, from: number, view: DataView, at: number): number {
  const length = text.length;
  let end = at;
  for (let index = from; index < length; index += 1) {
    let point = text.codePointAt(index) as number;
    if ((point & ~0x7ff) === 0xd800) point = replacement;
    if (point < 0x80) {
      view.setUint8(end, point);
      end += 1;
    } else if (point < 0x800) {
      view.setUint16(end, 0xc080 | ((point >> 6) << 8) | (point & 0x3f));
      end += 2;
    } else if (point < 0x10000) {
      view.setUint8(end, 0xe0 | (point >> 12));
      view.setUint16(end + 1, 0x8080 | (((point >> 6) & 0x3f) << 8) | (point & 0x3f));
      end += 3;
    } else {
      view.setUint16(end, 0xf080 | ((point >> 18) << 8) | ((point >> 12) & 0x3f));
      view.setUint16(end + 2, 0x8080 | (((point >> 6) & 0x3f) << 8) | (point & 0x3f));
      end += 4;
      index += 1;
    }
  }
  return end;
}

/** The text in `bytes[start, end)`, or `undefined` if that is not UTF-8. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end - start > longTextBytes && fatalDecoder !== void 0) {
    return decodeLongText(bytes.subarray(start, end));
  }
  let text = '';
  let at = start;
  while (at < end) {
    const lead = bytes[at] as number;
    if (lead < 0x80) {
      const next = at + asciiStep;
      if (next <= end) {
        const b = bytes[at + 1] as number;
        const c = bytes[at + 2] as number;
        const d = bytes[at + 3] as number;
        const e = bytes[at + 4] as number;
        const f = bytes[at + 5] as number;
        const g = bytes[at + 6] as number;
        const h = bytes[at + 7] as number;
        if ((b | c | d | e | f | g | h) < 0x80) {
          text += fromCharCode(lead, b, c, d, e, f, g, h);
          at = next;
          continue;
        }
      }
      text += fromCharCode(lead);
      at += 1;
      continue;
    }
    const width = utf8Width(bytes, at, end);
    if (width === 0) return void 0;
    const point = codePointAt(bytes, at, width);
    text += point < 0x10000 ? fromCharCode(point) : fromCodePoint(point);
    at += width;
  }
  return text;
}

/** Number of characters read at once while they are ASCII. */
const asciiStep = 8;

function decodeLongText(bytes: Uint8Array): string | undefined {
  try {
    return fatalDecoder?.decode(bytes);
  } catch {
    return undefined;
  }
}

/** True if `bytes[start, end)` is UTF-8. */
export function isUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    if ((bytes[at] as number) < 0x80) {
      at += 1;
      continue;
    }
    const width = utf8Width(bytes, at, end);
    if (width === 0) return false;
    at += width;
  }
  return true;
}

/**
 * Bytes of the code point at `at`, or 0 if there is none: overlong forms, surrogates and anything
 * above U+10FFFF are not UTF-8. The range of the second byte depends on the first (RFC 3629 §4).
 */
function utf8Width(bytes: Uint8Array, at: number, end: number): 0 | 1 | 2 | 3 | 4 {
  const lead = bytes[at] as number;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const width = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + width > end) return 0;
  const second = bytes[at + 1] as number;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  if (width > 2 && ((bytes[at + 2] as number) & 0xc0) !== 0x80) return 0;
  if (width > 3 && ((bytes[at + 3] as number) & 0xc0) !== 0x80) return 0;
  return width;
}

function codePointAt(bytes: Uint8Array, at: number, width: number): number {
  let point = (bytes[at] as number) & (0xff >> (width + 1));
  for (let next = at + 1; next < at + width; next += 1) {
    point = (point << 6) | ((bytes[next] as number) & 0x3f);
  }
  return point;
}

/** Beyond this length a call of the platform's codec costs less than the loop. */
const longTextBytes = 64;
const { fromCharCode, fromCodePoint } = String;
// A hardened realm may have other objects under these names.
const hasPlatform = !isHardenedRealm && typeof TextDecoder === 'function';
const fatalDecoder = hasPlatform
  ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  : undefined;
const encoder = hasPlatform ? new TextEncoder() : undefined;

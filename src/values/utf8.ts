/**
 * UTF-8 without the platform: the sandbox in which modules run need not offer `TextEncoder`. Bytes
 * are written through a `DataView`, because in a hardened realm a store into a typed array can be
 * twenty times slower. Texts are made of UTF-16 units; a surrogate without its partner is written
 * as U+FFFD.
 */
import { isHardenedRealm } from './hardened-realm.ts';

const replacement = 0xfffd;

/** UTF-8 length of `text` in bytes. */
export function utf8Length(text: string): number {
  let byteCount = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) byteCount += 1;
    else if (!isHighSurrogate(unit) || !isLowSurrogate(text.charCodeAt(index + 1))) byteCount += 2;
    else {
      // Four bytes for two units.
      byteCount += 2;
      index += 1;
    }
  }
  return byteCount;
}

/**
 * Writes `text` at `at` of `bytes`, of which `view` is a view, and returns the offset behind it.
 * There must be room for 3 bytes a unit.
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
    let point = text.charCodeAt(index);
    if (point < 0x80) {
      view.setUint8(end, point);
      end += 1;
      continue;
    }
    if (point < 0x800) {
      view.setUint16(end, ((0xc0 | (point >> 6)) << 8) | 0x80 | (point & 0x3f));
      end += 2;
      continue;
    }
    if (isSurrogate(point)) {
      const low = text.charCodeAt(index + 1);
      if (isHighSurrogate(point) && isLowSurrogate(low)) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        view.setUint8(end, 0xf0 | (point >> 18));
        view.setUint8(end + 1, 0x80 | ((point >> 12) & 0x3f));
        view.setUint16(end + 2, ((0x80 | ((point >> 6) & 0x3f)) << 8) | 0x80 | (point & 0x3f));
        end += 4;
        index += 1;
        continue;
      }
      point = replacement;
    }
    view.setUint8(end, 0xe0 | (point >> 12));
    view.setUint16(end + 1, ((0x80 | ((point >> 6) & 0x3f)) << 8) | 0x80 | (point & 0x3f));
    end += 3;
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
    if (point < 0x10000) text += fromCharCode(point);
    else text += fromCharCode(0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
    at += width;
  }
  return text;
}

/** Characters that are read at once while they are ASCII. */
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

function codePointAt(bytes: Uint8Array, at: number, width: 1 | 2 | 3 | 4): number {
  const lead = bytes[at] as number;
  if (width === 1) return lead;
  const second = (bytes[at + 1] as number) & 0x3f;
  if (width === 2) return ((lead & 0x1f) << 6) | second;
  const third = (bytes[at + 2] as number) & 0x3f;
  if (width === 3) return ((lead & 0x0f) << 12) | (second << 6) | third;
  const fourth = (bytes[at + 3] as number) & 0x3f;
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | fourth;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Beyond this the call into the platform's codec costs less than the loop. */
const longTextBytes = 64;
const { fromCharCode } = String;
// What a hardened realm has under these names, if anything, is not the platform's.
const hasPlatform = !isHardenedRealm && typeof TextDecoder === 'function';
const fatalDecoder = hasPlatform
  ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  : undefined;
const encoder = hasPlatform ? new TextEncoder() : undefined;

/** Base64 of `bytes` (RFC 4648), with padding. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const bits = (byteAt(bytes, at) << 16) | (byteAt(bytes, at + 1) << 8) | byteAt(bytes, at + 2);
    text += digit(bits >> 18) + digit(bits >> 12);
    text += (left > 1 ? digit(bits >> 6) : '=') + (left > 2 ? digit(bits) : '=');
  }
  return text;
}

/** The bytes that `text` stands for, or `undefined` if it is not Base64 with padding. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const count = text.length - padding;
  const bytes = new Uint8Array(Math.floor((count * 3) / 4));
  let bits = 0;
  for (let at = 0, written = 0; at < count; at += 1) {
    const value = alphabet.indexOf(text.charAt(at));
    if (value < 0) return undefined;
    bits = ((bits << 6) | value) & 0xffffff;
    if (at % 4 === 0) continue;
    bytes[written] = bits >> (6 - 2 * (at % 4));
    written += 1;
  }
  return bytes;
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function digit(bits: number): string {
  return alphabet.charAt(bits & 63);
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

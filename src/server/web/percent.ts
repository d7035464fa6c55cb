/** Percent-encoding as URLs use it. Sets name the ASCII characters that are encoded. */

const fragmentSet = ' "<>`';
const querySet = ' "#<>';
export const encodeSets = {
  fragment: fragmentSet,
  query: querySet,
  specialQuery: `${querySet}'`,
  path: `${querySet}?^\`{}`,
  userinfo: `${querySet}?^\`{}/:;=@[\\]|`,
  control: '',
} as const;

/** Encodes controls, characters of `set` and everything that is not ASCII; escapes stay. */
export function percentEncode(text: string, set: string): string {
  let out = '';
  for (const character of text) {
    const code = character.charCodeAt(0);
    const isPlain = code >= 0x20 && code < 0x7f && !set.includes(character);
    out += isPlain ? character : escaped(character);
  }
  return out;
}

function escaped(character: string): string {
  let out = '';
  for (const byte of new TextEncoder().encode(character)) {
    out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

/** Decodes escapes as UTF-8; what is no escape stays. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  const given = new TextEncoder().encode(text);
  const bytes = new Uint8Array(given.length);
  let length = 0;
  for (let at = 0; at < given.length; at += 1) {
    const high = given[at] === 0x25 ? hexDigit(given[at + 1]) : -1;
    const low = high < 0 ? -1 : hexDigit(given[at + 2]);
    bytes[length] = low < 0 ? (given[at] ?? 0) : high * 16 + low;
    length += 1;
    if (low >= 0) at += 2;
  }
  return new TextDecoder().decode(bytes.slice(0, length));
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Base64 of a text whose characters are bytes, as `btoa` of the web. */
export function btoa(given: unknown): string {
  const text = `${given}`;
  let out = '';
  for (let at = 0; at < text.length; at += 3) {
    const codes = [0, 1, 2].map((offset) => text.charCodeAt(at + offset));
    if (codes.some((code) => code > 255)) throw invalid('a character is beyond Latin1');
    const [a = 0, b = Number.NaN, c = Number.NaN] = codes;
    out += digit(a >> 2) + digit(((a & 3) << 4) | (b >> 4));
    out += Number.isNaN(b) ? '=' : digit(((b & 15) << 2) | (c >> 6));
    out += Number.isNaN(c) ? '=' : digit(c & 63);
  }
  return out;
}

/** The bytes that Base64 stands for, each a character, as `atob` of the web. */
export function atob(given: unknown): string {
  const text = `${given}`.replace(/[\t\n\f\r ]/g, '');
  const digits = text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text;
  if (digits.length % 4 === 1) throw invalid('it is not correctly encoded');
  let out = '';
  let bits = 0;
  let count = 0;
  for (const character of digits) {
    const value = alphabet.indexOf(character);
    if (value < 0) throw invalid('it is not correctly encoded');
    bits = ((bits << 6) | value) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += String.fromCharCode((bits >> count) & 255);
  }
  return out;
}

function digit(value: number): string {
  return alphabet.charAt(value);
}

function invalid(reason: string): Error {
  return Object.assign(new Error(`The text cannot be converted: ${reason}`), {
    name: 'InvalidCharacterError',
  });
}

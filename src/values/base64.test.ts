import { describe, expect, it } from 'vitest';
import { fromBase64, toBase64 } from './base64.ts';

describe('base64', () => {
  it('is what the platform writes and reads', () => {
    for (let length = 0; length < 70; length += 1) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 89 + length * 31) & 255);
      const text = Buffer.from(bytes).toString('base64');
      expect(toBase64(bytes)).toBe(text);
      expect(fromBase64(text)).toEqual(bytes);
    }
  });

  it('refuses anything else', () => {
    for (const text of ['a', 'ab', 'abc', 'ab!=', 'ab=c', '====', 'ab c', 'abcd=']) {
      expect(fromBase64(text)).toBeUndefined();
    }
  });
});

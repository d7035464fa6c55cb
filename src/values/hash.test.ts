import { describe, expect, it } from 'vitest';
import { hashBytes } from './hash.ts';

describe('the hash of bytes', () => {
  it('depends on the bytes of the range alone', () => {
    const bytes = Uint8Array.of(9, 1, 2, 3, 4, 5, 9);
    expect(hashBytes(bytes, 1, 6)).toBe(hashBytes(Uint8Array.of(1, 2, 3, 4, 5), 0, 5));
    expect(hashBytes(bytes, 1, 6)).toBe(hashBytes(bytes.subarray(1), 0, 5));
  });

  it('is an unsigned 32-bit number, also of nothing', () => {
    for (let length = 0; length < 40; length += 1) {
      const hash = hashBytes(new Uint8Array(length).fill(0xff), 0, length);
      expect(hash).toBe(hash >>> 0);
    }
  });

  it('tells apart lengths of equal bytes', () => {
    const zeros = new Uint8Array(64);
    const hashes = new Set(Array.from(zeros.keys(), (length) => hashBytes(zeros, 0, length)));
    expect(hashes.size).toBe(64);
  });

  it('spreads consecutive numbers evenly over low and high bits', () => {
    const bytes = new Uint8Array(8);
    const view = new DataView(bytes.buffer);
    const [low, high] = [new Map<number, number>(), new Map<number, number>()];
    const count = 64 * 1024;
    for (let index = 0; index < count; index += 1) {
      view.setBigUint64(0, BigInt(index), true);
      const hash = hashBytes(bytes, 0, 8);
      low.set(hash & 255, (low.get(hash & 255) ?? 0) + 1);
      high.set(hash >>> 24, (high.get(hash >>> 24) ?? 0) + 1);
    }
    for (const buckets of [low, high]) {
      expect(buckets.size).toBe(256);
      // Mean 256, standard deviation 16.
      expect(Math.max(...buckets.values())).toBeLessThan(256 + 6 * 16);
      expect(Math.min(...buckets.values())).toBeGreaterThan(256 - 6 * 16);
    }
  });

  it('changes about half of its bits with each bit of the input', () => {
    const bytes = Uint8Array.from({ length: 13 }, (_, index) => index * 17);
    const before = hashBytes(bytes, 0, bytes.length);
    let changed = 0;
    for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
      const other = Uint8Array.from(bytes);
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      changed += ones(before ^ hashBytes(other, 0, other.length));
    }
    expect(changed / (8 * bytes.length)).toBeGreaterThan(14);
    expect(changed / (8 * bytes.length)).toBeLessThan(18);
  });
});

function ones(word: number): number {
  return (word >>> 0).toString(2).replaceAll('0', '').length;
}

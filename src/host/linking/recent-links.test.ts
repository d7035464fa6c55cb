import { describe, expect, it } from 'vitest';
import { RecentLinks } from './recent-links.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);

describe('programs that were linked last', () => {
  it('are found by their bytes, again and again, also when a copy was given away', () => {
    const recent = new RecentLinks(100);
    const linked = bytes(1, 2, 3);
    recent.keep(bytes(7), linked);
    structuredClone(linked, { transfer: [linked.buffer] });
    const first = recent.find(bytes(7));
    expect(first).toEqual(bytes(1, 2, 3));
    structuredClone(first, { transfer: [first?.buffer as ArrayBuffer] });
    expect(recent.find(bytes(7))).toEqual(bytes(1, 2, 3));
    expect(recent.find(bytes(8))).toBeUndefined();
  });

  it('take no more memory than they may: those that were not used for longest go', () => {
    const recent = new RecentLinks(10);
    for (const program of [1, 2]) recent.keep(bytes(program), new Uint8Array(5).fill(program));
    expect(recent.find(bytes(1))).toHaveLength(5);
    recent.keep(bytes(1), new Uint8Array(5));
    recent.keep(bytes(3), new Uint8Array(4));
    recent.keep(bytes(4), new Uint8Array(11));
    const found = [1, 2, 3, 4].map((program) => recent.find(bytes(program))?.length);
    expect(found).toEqual([5, undefined, 4, undefined]);
  });
});

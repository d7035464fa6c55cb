import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import { sameBytes } from '../values/bytes.ts';
import { RefList } from './ref-list.ts';
import { offsetOf, RowHeap, slotCommitted, slotDeleted, slotInserted } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';
import { sharedSlotBytesMax, sizeClassCount, sizeClassOf, slotBytesOf } from './size-class.ts';

function filled(length: number, byte: number): Uint8Array {
  return new Uint8Array(length).fill(byte);
}

/** `toEqual` would look at each byte of a large row as at a member of an object. */
function expectRow(heap: RowHeap, ref: RowRef, expected: Uint8Array): void {
  const bytes = new Uint8Array(heap.lengthOf(ref));
  heap.copy(ref, bytes, 0);
  expect(sameBytes(bytes, expected)).toBe(true);
}

describe('size classes', () => {
  it('give every size the smallest slot that holds it, an eighth too large at most', () => {
    for (let bytes = 1; bytes <= sharedSlotBytesMax; bytes += bytes < 5000 ? 1 : 977) {
      const slot = slotBytesOf(sizeClassOf(bytes));
      expect(slot).toBeGreaterThanOrEqual(bytes);
      expect(slot % 8).toBe(0);
      expect(slot - bytes).toBeLessThan(Math.max(8, bytes / 8 + 8));
      const before = sizeClassOf(bytes) - 1;
      if (before >= 0) expect(slotBytesOf(before)).toBeLessThan(bytes);
    }
    expect(sizeClassOf(sharedSlotBytesMax)).toBe(sizeClassCount - 1);
  });
});

describe('row heap', () => {
  it('holds rows of every size, also beyond a page, and gives nearly all pages back', () => {
    const heap = new RowHeap();
    const lengths = [0, 1, 3, 4, 5, 28, 255, 256, 257, 5000, 600_000, 2 * limits.pageBytes + 3];
    const refs = lengths.map((length, at) =>
      heap.place(filled(length, at), 0, length, slotCommitted),
    );
    expect(new Set(refs).size).toBe(lengths.length);
    refs.forEach((ref, at) => {
      expect(ref).toBeGreaterThan(0);
      const length = lengths[at] as number;
      const row = filled(length, at);
      expectRow(heap, ref, row);
      expect(heap.rowEquals(ref, row, 0, length)).toBe(true);
      expect(offsetOf(ref) % 8).toBe(4);
    });
    expect(heap.allocatedBytes).toBeGreaterThan(2 * limits.pageBytes + 600_000);
    for (const ref of refs) heap.free(ref);
    expect(heap.usedBytes).toBe(0);
    expect(heap.allocatedBytes).toBeLessThan(50_000);
    expect(() => heap.free(refs[0] as RowRef)).toThrow('once');
  });

  it('tells rows apart that differ in any byte', () => {
    const heap = new RowHeap();
    const row = filled(31, 7);
    const ref = heap.place(row, 0, 31, slotCommitted);
    for (let at = 0; at < 31; at++) {
      const other = row.slice();
      other[at] = 8;
      expect(heap.rowEquals(ref, other, 0, 31)).toBe(false);
    }
    expect(heap.rowEquals(ref, filled(40, 7), 5, 31)).toBe(true);
    expect(heap.rowEquals(ref, filled(40, 7), 5, 30)).toBe(false);
  });

  it('walks visible rows only, in storage order', () => {
    const heap = new RowHeap();
    const refs = Array.from({ length: 300 }, (_, at) =>
      heap.place(filled(at, 1), 0, at, at % 2 === 0 ? slotCommitted : slotInserted),
    );
    for (let at = 0; at < refs.length; at += 3) heap.setState(refs[at] as RowRef, slotDeleted);
    const collected = new RefList();
    heap.collectVisible(collected);
    const walked: number[] = [];
    for (let ref = heap.nextVisible(noRow); ref !== noRow; ref = heap.nextVisible(ref))
      walked.push(ref);
    expect(walked).toEqual([...collected.copy()]);
    const visible = refs.filter((_, at) => at % 3 !== 0);
    expect(walked.toSorted(ascending)).toEqual(visible.toSorted(ascending));
  });

  it('uses freed slots again before it takes more pages', () => {
    const heap = new RowHeap();
    const random = new Random(11);
    const row = filled(100, 1);
    const refs = Array.from({ length: 20_000 }, () => heap.place(row, 0, 100, slotCommitted));
    const { allocatedBytes } = heap;
    for (let step = 0; step < 100_000; step++) {
      const at = random.below(refs.length);
      heap.free(refs[at] as RowRef);
      refs[at] = heap.place(row, 0, 100, slotCommitted);
    }
    expect(heap.allocatedBytes).toBe(allocatedBytes);
    expect(heap.usedBytes).toBe(20_000 * 104);
    expect(new Set(refs).size).toBe(refs.length);
  });

  it('costs little for few rows', () => {
    const heap = new RowHeap();
    heap.place(filled(28, 1), 0, 28, slotCommitted);
    expect(heap.allocatedBytes).toBe(1024);
  });
});

function ascending(a: number, b: number): number {
  return a - b;
}

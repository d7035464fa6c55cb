import { describe, expect, it } from 'vitest';
import { u64 } from '../../test/support/store/tables.ts';
import { Random } from '../testing/random.ts';
import type { LoadedKey } from './hash-key.ts';
import { DirectIndex } from './index-direct.ts';
import { HashIndex } from './index-hash.ts';
import { RowTreeIndex } from './index-tree.ts';
import type { TreeKey } from './ordered-key.ts';
import { RefList } from './ref-list.ts';
import { offsetOf, RowHeap, slotCommitted } from './row-heap.ts';
import { type RowRef, rowRef } from './row-ref.ts';
import { RowShape } from './row-shape.ts';
import { Tree } from './tree.ts';

describe('tree', () => {
  /** Rows are simulated: the key of ref r is `keys[r]`. */
  class FakeKey implements TreeKey {
    prefix = 0;
    isExact = false;
    loaded = 0;
    readonly keys = [0];
    load(key: number): void {
      this.loaded = key;
      this.prefix = Math.floor(key / 16);
    }
    loadStored(ref: RowRef): void {
      this.load(this.keys[ref] as number);
    }
    compareStored(ref: RowRef): number {
      return this.loaded - (this.keys[ref] as number);
    }
  }

  for (const spread of [50, 5_000, 1_000_000]) {
    it(`[tables 6] holds rows in order through random changes, keys below ${spread}`, () => {
      const random = new Random(spread);
      const key = new FakeKey();
      const tree = new Tree(key, true);
      const present = new Set<RowRef>();
      for (let round = 0; round < 30; round++) {
        const grows = random.chance(0.6);
        for (let step = 0; step < 700; step++) {
          if (grows || present.size === 0) {
            const ref = rowRef(key.keys.length);
            key.keys.push(round % 3 === 0 ? ref : random.below(spread));
            tree.add(ref);
            present.add(ref);
          } else {
            const ref = pickFrom(present, random);
            tree.remove(ref);
            present.delete(ref);
          }
        }
        const sorted = [...present].sort((a, b) => order(key.keys, a, b));
        const all = new RefList();
        tree.startAtFirst();
        tree.collectToLast(all);
        expect([...all.copy()]).toEqual(sorted);
        checkRanges(tree, key, sorted, random, spread);
      }
      for (const ref of present) tree.remove(ref);
      const none = new RefList();
      tree.startAtFirst();
      tree.collectToLast(none);
      expect(none.length).toBe(0);
      expect(tree.bytes).toBeLessThan(10_000);
    });
  }

  function order(keys: number[], a: number, b: number): number {
    return (keys[a] as number) - (keys[b] as number) || a - b;
  }

  function checkRanges(
    tree: Tree,
    key: FakeKey,
    sorted: number[],
    random: Random,
    spread: number,
  ): void {
    for (let probe = 0; probe < 20; probe++) {
      const [low, high] = [random.below(spread), random.below(spread)];
      const [from, to] = [random.chance(0.5), random.chance(0.5)];
      const found = new RefList();
      key.load(low);
      tree.startAt(from ? 'before' : 'after');
      key.load(high);
      tree.collectTo(to ? 'after' : 'before', found);
      const inside = sorted.filter((ref) => {
        const value = key.keys[ref] as number;
        return (from ? value >= low : value > low) && (to ? value <= high : value < high);
      });
      expect([...found.copy()]).toEqual(inside);
    }
  }
});

describe('hash index', () => {
  /** The hash of ref r is `hashes[r]`; refs are their own keys. */
  class FakeKey implements LoadedKey {
    hash = 0;
    ref = 0;
    readonly hashOf: (ref: number) => number;
    constructor(hashOf: (ref: number) => number) {
      this.hashOf = hashOf;
    }
    loadRow(bytes: Uint8Array, at: number): void {
      this.ref = new DataView(bytes.buffer).getUint32(at, true);
      this.hash = this.hashOf(this.ref) | 0;
    }
    loadKey(bytes: Uint8Array, at: number): void {
      this.loadRow(bytes, at);
    }
    matches(ref: RowRef): boolean {
      const page = heap.pageOf(ref);
      return new DataView(page.buffer).getUint32(offsetOf(ref), true) === this.ref;
    }
  }

  let heap = new RowHeap();
  const scatter = (value: number) => Math.imul(value, 0x9e3779b1) ^ (value >>> 7);
  const hashes: Record<string, (value: number) => number> = {
    scattered: scatter,
    'all in the low bits': (value) => value & 0xffff,
    'all in the high bits': (value) => value << 16,
    'few different ones': (value) => scatter(value % 2_000),
  };

  for (const [name, hashOf] of Object.entries(hashes)) {
    it(`[tables 6] finds exactly what it holds, hashes ${name}`, () => {
      const random = new Random(7);
      heap = new RowHeap();
      const index = new HashIndex(heap, new FakeKey(hashOf));
      const rows = new Map<number, RowRef>();
      const bytes = new Uint8Array(4);
      const write = (value: number) => new DataView(bytes.buffer).setUint32(0, value, true);
      for (let step = 0; step < 40_000; step++) {
        const value = random.below(30_000);
        write(value);
        const found = index.probe(bytes, 0, 4);
        if (found !== (rows.get(value) ?? 0)) throw new Error(`step ${step}: found ${found}`);
        if (found === 0 && step % 20_000 < 15_000) {
          const ref = heap.place(bytes, 0, 4, slotCommitted);
          index.addProbed(ref);
          rows.set(value, ref);
        } else if (found !== 0 && step % 20_000 >= 12_000) {
          index.remove(found);
          heap.free(found);
          rows.delete(value);
        }
      }
      for (const [value, ref] of rows) {
        write(value);
        if (index.find(bytes, 0, 4) !== ref) throw new Error(`lost ${value}`);
        index.remove(ref);
      }
      expect(index.bytes).toBeLessThan(1_000);
    });
  }

  it('becomes unfit when many keys share one hash, and not before', () => {
    heap = new RowHeap();
    const index = new HashIndex(heap, new FakeKey(() => 5));
    for (let value = 0; value < 100; value++) {
      const bytes = new Uint8Array(new Uint32Array([value]).buffer);
      const ref = heap.place(bytes, 0, 4, slotCommitted);
      index.add(ref);
      expect(index.isUnfit).toBe(value > 16);
    }
  });
});

describe('rows in the order of their bytes', () => {
  it('finds exactly what it holds', () => {
    const random = new Random(3);
    const heap = new RowHeap();
    const index = new RowTreeIndex(heap);
    const rows = new Map<string, number>();
    for (let step = 0; step < 5_000; step++) {
      const row = random.bytes(random.below(9)).map((byte) => byte & 1);
      const found = index.probe(row, 0, row.length);
      expect(found).toBe(rows.get(row.join()) ?? 0);
      if (found === 0) {
        const ref = heap.place(row, 0, row.length, slotCommitted);
        index.addProbed(ref);
        rows.set(row.join(), ref);
      } else if (random.chance(0.5)) {
        index.remove(found);
        heap.free(found);
        rows.delete(row.join());
      }
    }
  });
});

describe('direct index', () => {
  const shape = new RowShape([{ name: 'id', sourceName: 'id', type: u64 }], { types: [] });
  const keyOf = (key: bigint) => new Uint8Array(new BigUint64Array([key]).buffer);

  it('keeps dense keys, and gives up on sparse ones', () => {
    const heap = new RowHeap();
    const index = new DirectIndex(heap, shape, 0);
    for (let key = 0n; key < 10_000n; key++) index.add(heap.place(keyOf(key), 0, 8, slotCommitted));
    expect(index.isUnfit).toBe(false);
    expect(index.bytes / 10_000).toBeLessThan(8);
    for (let key = 0n; key < 10_000n; key++) index.remove(index.find(keyOf(key), 0));
    expect(index.bytes).toBeLessThan(1_000);
    const sparse = new DirectIndex(heap, shape, 0);
    for (let key = 0n; key < 100n; key++) {
      sparse.add(heap.place(keyOf(key * 600n), 0, 8, slotCommitted));
    }
    expect(sparse.isUnfit).toBe(true);
  });

  it('gives up on keys beyond its reach', () => {
    const heap = new RowHeap();
    const index = new DirectIndex(heap, shape, 0);
    index.add(heap.place(keyOf(2n ** 64n - 1n), 0, 8, slotCommitted));
    expect(index.isUnfit).toBe(true);
    expect(index.find(keyOf(2n ** 64n - 1n), 0)).toBe(0);
  });
});

function pickFrom(present: Set<RowRef>, random: Random): RowRef {
  // Sets keep the order of insertion: walking to a random one is slow, but this is a test.
  let left = random.below(Math.min(present.size, 200));
  for (const ref of present) if (left-- === 0) return ref;
  throw new Error('empty');
}

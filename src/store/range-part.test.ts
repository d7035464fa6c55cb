import { describe, expect, it } from 'vitest';
import { sampleCatalog } from '../../test/sql/sample-tables.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import type { RangeRequest } from './key-range.ts';
import { Store } from './store.ts';

const u32 = { kind: 'u32' } as const;

/** A table of `count` rows whose key `k` is not unique, `id` being so in two kinds of index. */
function makeTable(count: number): Store {
  const store = new Store(
    sampleCatalog({
      name: 't',
      columns: { id: u32, k: u32 },
      indexes: ['unique:btree:id', 'unique:direct:id', 'btree:k'],
    }),
  );
  const table = store.tableByName('t');
  if (table === undefined) throw new Error('the table is there');
  const transaction = store.begin();
  for (let at = 0; at < count; at++) {
    const writer = new BinaryWriter();
    writer.u32((at * 7_919) % 100_003);
    writer.u32(at % 50);
    transaction.insert(table, writer.finish(), 8);
  }
  transaction.commit();
  return store;
}

/** From `low` on, up to below `high`. */
function bounds(low: number, high: number): RangeRequest {
  const writer = new BinaryWriter();
  writer.u8(0);
  writer.u32(low);
  writer.u8(1);
  writer.u32(high);
  return {
    bytes: writer.finish(),
    prefixColumns: 0,
    prefixLength: 0,
    startLength: 5,
    endLength: 5,
  };
}

describe('one end of a range', () => {
  it.each([0, 1, 10, 1_000, 20_000])('is the beginning of the whole: %i rows', (count) => {
    const store = makeTable(count);
    const table = store.tableByName('t');
    if (table === undefined) throw new Error('the table is there');
    for (const index of table.indexes) {
      for (const [low, high] of [
        [0, 200_000],
        [10, 40],
        [500, 501],
        [30, 20],
        [99_000, 100_003],
      ] as const) {
        const whole = [...table.scanRange(index, bounds(low, high))];
        for (const countMax of [1, 3, 64, 5_000]) {
          const first = [
            ...table.scanRange(index, bounds(low, high), { countMax, isDescending: false }),
          ];
          expect(first.length).toBeGreaterThanOrEqual(Math.min(countMax, whole.length));
          expect(first).toEqual(whole.slice(0, first.length));
          const last = [
            ...table.scanRange(index, bounds(low, high), { countMax, isDescending: true }),
          ];
          expect(last.length).toBeGreaterThanOrEqual(Math.min(countMax, whole.length));
          expect(last).toEqual([...whole].reverse().slice(0, last.length));
        }
      }
    }
  });
});

import { describe, expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import {
  catalogFrom,
  deleteRow,
  encodeKey,
  encodeRow,
  indexOf,
  insert,
  inTransaction,
  readRow,
  readRows,
  storeOf,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import type { Value } from '../values/value.ts';
import { RefQueue } from './ref-queue.ts';
import { RowArena } from './row-arena.ts';
import { RowHeap, slotHeldCount } from './row-heap.ts';
import { noRow, rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import { Table } from './table.ts';
import { PinRevokedError, type TablePin } from './table-pin.ts';
import { noSuchRow } from './transaction.ts';

const sketch = {
  t: {
    columns: { id: u32, text: string },
    indexes: [
      { columns: ['id'], unique: true, algorithm: 'hash' },
      { columns: ['text'], algorithm: 'btree' },
    ],
  },
} as const;

interface Filled {
  readonly store: Store;
  readonly table: Table;
}

function filled(count: number, store = storeOf(sketch), table = tableOf(store, 't')): Filled {
  inTransaction(store, (transaction) => {
    for (let id = 0; id < count; id++) insert(transaction, table, id, textOf(id));
  });
  return { store, table };
}

function textOf(id: number): string {
  return `text ${id % 10}`;
}

function rowsOf(pin: TablePin): Value[][] {
  const rows: Value[][] = [];
  for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) {
    rows.push(readRow(pin.table, ref));
  }
  return rows;
}

function lookUp(pin: TablePin, at: number, value: Value): Value[][] {
  const index = indexOf(pin.table, at);
  const key = encodeKey(pin.table, index.spec.columns, [value]);
  return readRows(pin.table, pin.lookUp(index, key, key.length)).sort();
}

describe('a pin', () => {
  it('shows rows that were changed, deleted and cleared since, and none that came', () => {
    const { store, table } = filled(100);
    const before = readRows(table);
    const pin = table.pin();
    inTransaction(store, (transaction) => {
      update(transaction, indexOf(table, 0), 1, 'changed');
      deleteRow(transaction, table, 2, textOf(2));
      insert(transaction, table, 200, 'text 2');
    });
    expect(rowsOf(pin)).toEqual(before);
    expect(lookUp(pin, 0, 1)).toEqual([[1, 'text 1']]);
    expect(lookUp(pin, 0, 200)).toEqual([]);
    expect(lookUp(pin, 1, 'text 2').map(([id]) => id)).toEqual(
      [2, 12, 22, 32, 42, 52, 62, 72, 82, 92].sort(),
    );
    inTransaction(store, (transaction) => transaction.clear(table));
    inTransaction(store, (transaction) => insert(transaction, table, 3, 'text 3'));
    expect(rowsOf(pin)).toEqual(before);
    expect(pin.rowCount).toBe(100);
    expect(lookUp(pin, 1, 'text 3')).toHaveLength(10);
    expect(readRows(table)).toEqual([[3, 'text 3']]);
    pin.release();
    expect(store.heldBytes).toBe(0);
  });

  it('keeps refs readable that an index showed at its moment', () => {
    const { store, table } = filled(50);
    const index = indexOf(table, 1);
    const key = encodeKey(table, index.spec.columns, ['text 4']);
    const refs = table.scanPoint(index, key, key.length);
    const rows = readRows(table, refs);
    const pin = table.pin();
    inTransaction(store, (transaction) => transaction.deleteMany(table, table.scan()));
    inTransaction(store, (transaction) => insert(transaction, table, 4, 'another'));
    expect(readRows(table, refs)).toEqual(rows);
    expect([...refs].map(rowRef).every((ref) => pin.has(ref))).toBe(true);
    pin.release();
  });

  it('is taken between transactions and read between them', () => {
    const { store, table } = filled(3);
    const pin = table.pin();
    const transaction = store.begin();
    insert(transaction, table, 10, 'new');
    expect(() => table.pin()).toThrow('between transactions');
    expect(() => lookUp(pin, 0, 1)).toThrow('between transactions');
    transaction.rollback();
    expect(lookUp(pin, 0, 10)).toEqual([]);
    pin.release();
    pin.release();
    expect(() => pin.requireValid()).toThrow('after its release');
  });

  it('tells many moments apart while one of them stays', () => {
    const { store, table } = filled(20);
    const first = table.pin();
    const kept: { pin: TablePin; rows: Value[][] }[] = [{ pin: first, rows: readRows(table) }];
    const random = new Random(5);
    for (let moment = 0; moment < slotHeldCount * 3; moment++) {
      inTransaction(store, (transaction) => {
        deleteRow(transaction, table, moment, textOf(moment));
        insert(transaction, table, moment + 20, textOf(moment + 20));
      });
      kept.push({ pin: table.pin(), rows: readRows(table) });
      if (kept.length > 8) kept.splice(random.between(1, 7), 1)[0]?.pin.release();
      for (const { pin, rows } of kept) expect(rowsOf(pin).sort()).toEqual(rows.sort());
    }
    for (const { pin } of kept) pin.release();
    expect(store.heldBytes).toBe(0);
  });

  it('shares its moment with a pin taken before anything changed', () => {
    const { store, table } = filled(1000);
    const { allocatedBytes, pageEnd } = table.heap;
    const pins = Array.from({ length: 200 }, () => table.pin());
    inTransaction(store, (transaction) => insert(transaction, table, 5000, 'new'));
    expect(table.heap.pageEnd).toBe(pageEnd + 1);
    for (const pin of pins) expect(rowsOf(pin)).toHaveLength(1000);
    for (const pin of pins) pin.release();
    expect(table.heap.allocatedBytes).toBeLessThanOrEqual(allocatedBytes + 16_384);
  });
});

describe('what is held', () => {
  it('is freed piece by piece after many rows went, and all is as it was', () => {
    const { store, table } = filled(60_000);
    const { allocatedBytes } = table.heap;
    const pin = table.pin();
    inTransaction(store, (transaction) => transaction.clear(table));
    expect(pin.heldBytes).toBe(60_000 * 24);
    expect(table.memory().heldBytes).toBeGreaterThanOrEqual(pin.heldBytes);
    pin.release();
    expect(table.heap.usedBytes).toBeGreaterThan(1_000_000);
    for (let id = 0; table.held.hasLoose; id++) {
      expect(id).toBeLessThan(100);
      inTransaction(store, (transaction) => insert(transaction, table, id, 'x'));
    }
    expect(table.held.isIdle).toBe(true);
    inTransaction(store, (transaction) => transaction.clear(table));
    for (let round = 0; round < 2; round++) {
      const transaction = store.begin();
      for (let id = 0; id < 60_000; id++) insert(transaction, table, id, textOf(id));
      expect(table.heap.allocatedBytes).toBeLessThan(allocatedBytes * 1.1);
      transaction.rollback();
    }
  });

  it('is bounded: the oldest pin of the table that holds most is revoked, and says so', () => {
    const store = new Store(catalogFrom(sketch), 100_000);
    const { table } = filled(10_000, store);
    const [old, young] = [table.pin(), undefined as TablePin | undefined];
    const pins = [old, young];
    for (let id = 0; id < 10_000; id++) {
      inTransaction(store, (transaction) => {
        update(transaction, indexOf(table, 0), id, 'other text');
      });
      if (id === 1000) pins[1] = table.pin();
      expect(store.heldBytes).toBeLessThanOrEqual(100_000);
    }
    for (const pin of pins) {
      expect(pin?.isValid).toBe(false);
      expect(() => pin?.requireValid()).toThrow(PinRevokedError);
      expect(() => pin?.nextRow(noRow)).toThrow('more than 100000 bytes');
      pin?.release();
    }
    expect(store.heldBytes).toBe(0);
  });

  it('counts pages that cannot be filled, so endless overlapping pins are bounded too', () => {
    const store = new Store(catalogFrom(sketch), 1_000_000);
    const { table } = filled(20_000, store);
    const random = new Random(9);
    const churn = (step: number): void =>
      inTransaction(store, (transaction) => {
        for (let change = 0; change < 50; change++) {
          const id = random.below(20_000);
          update(transaction, indexOf(table, 0), id, `text ${step % 100}`);
        }
      });
    const pins: TablePin[] = [table.pin()];
    let revoked = 0;
    for (let step = 0; step < 2_000; step++) {
      churn(step);
      pins.push(table.pin());
      if (pins.length <= 3) continue;
      if (pins[0]?.isValid === false) revoked++;
      pins.shift()?.release();
      // Twice the rows, the limit of held bytes, and a page.
      expect(table.heap.allocatedBytes).toBeLessThan(2 * 480_000 + 1_000_000 + limits.pageBytes);
    }
    expect(revoked).toBeGreaterThan(0);
    for (const pin of pins) pin.release();
    // Without pins the lost space is recovered on its own, and pins are accepted again.
    let isWelcome = false;
    for (let step = 0; step < 10_000 && !isWelcome; step++) {
      churn(step);
      if (step % 500 !== 0) continue;
      const pin = table.pin();
      churn(step);
      isWelcome = pin.isValid;
      pin.release();
    }
    expect(isWelcome).toBe(true);
  });

  it('is counted of tables beside the catalog too, once a transaction has written them', () => {
    const store = new Store(catalogFrom(sketch), 100_000);
    const { spec, types } = tableOf(store, 't');
    const table = new Table(spec, types);
    filled(20_000, store, table);
    const pin = table.pin();
    inTransaction(store, (transaction) => deleteRow(transaction, table, 7, textOf(7)));
    expect(pin.isValid).toBe(true);
    expect(store.heldBytes).toBeGreaterThan(0);
    inTransaction(store, (transaction) => transaction.clear(table));
    expect(pin.isValid).toBe(false);
    while (store.hasLoose) store.freeLoose();
    expect(table.held.isIdle).toBe(true);
  });

  it('goes when a write needs the room', () => {
    const { table: like } = filled(0);
    const kept = {
      heap: new RowHeap(3),
      rowCount: 0,
      bodies: new Map(),
      derived: new Map(),
      wholeRows: undefined,
    };
    const table = new Table(like.spec, like.types, kept);
    const arena = new RowArena();
    const insertLarge = (id: number): string => {
      const row = encodeRow(table, [id, 'x'.repeat(600_000)]);
      return table.changes.insert(row, row.length);
    };
    expect([insertLarge(0), insertLarge(1), insertLarge(2)]).not.toContain('full');
    expect(insertLarge(3)).toBe('full');
    table.changes.commit(table.id, arena);
    const pin = table.pin();
    table.changes.remove(table.nextRow(noRow));
    table.changes.commit(table.id, arena);
    expect(rowsOf(pin)).toHaveLength(3);
    expect(insertLarge(3)).toBe('inserted');
    expect(() => pin.requireValid()).toThrow('a write needed the space');
    expect(table.rowCount).toBe(3);
  });

  it('is let go when the schema changes', () => {
    const { store, table } = filled(10);
    const pin = table.pin();
    inTransaction(store, (transaction) => transaction.clear(table));
    store.prepareMigration(store.catalog, new Map()).apply();
    expect(() => pin.has(table.nextRow(noRow))).toThrow('the schema changed');
    expect(store.heldBytes).toBe(0);
    expect(table.heap.usedBytes).toBe(0);
  });
});

describe('a heap that was pinned', () => {
  for (const seed of someSeeds(1, 2)) {
    it(`fills the same pages as one that was not, seed ${seed}`, () => {
      const [subject, twin] = [filled(15_000), filled(15_000)];
      const [one, other] = [new Random(seed), new Random(seed)];
      const random = new Random(seed + 100);
      let readers: Reader[] = [];
      for (let round = 0; round < 40; round++) {
        change(subject, one);
        change(twin, other);
        for (const reader of readers) reader.readOn(random.below(4_000));
        if (readers.length < 5 && random.chance(0.4)) readers.push(new Reader(subject.table));
        readers = readers.filter((reader) => !reader.isOver());
      }
      for (const reader of readers) reader.finish();
      for (let round = 0; round < 30; round++) change(subject, one);
      for (let round = 0; round < 30; round++) change(twin, other);
      expect(subject.table.held.isIdle).toBe(true);
      const { heap } = subject.table;
      expect(readRows(subject.table).sort()).toEqual(readRows(twin.table).sort());
      expect(heap.usedBytes).toBe(twin.table.heap.usedBytes);
      // Rows have one of two slot sizes, and each can have one page in use.
      const { allocatedBytes: usual } = twin.table.heap;
      expect(heap.allocatedBytes).toBeLessThan(usual + 2 * limits.pageBytes);
      const { pageEnd, allocatedBytes } = heap;
      for (let round = 0; round < 30; round++) change(subject, one);
      expect(heap.pageEnd).toBeLessThanOrEqual(pageEnd + 1);
      expect(heap.allocatedBytes).toBeLessThan(allocatedBytes * 1.1);
    });
  }
});

/** A few thousand changes in one transaction, some of which are rolled back. */
function change({ store, table }: Filled, random: Random): void {
  const transaction = store.begin();
  const end = random.pick([1, 100, 1_500]);
  for (let step = 0; step < end; step++) {
    const id = random.below(15_000);
    const text = `${textOf(random.below(10))}${'!'.repeat(random.pick([0, 0, 20]))}`;
    if (update(transaction, indexOf(table, 0), id, text) === noSuchRow) {
      insert(transaction, table, id, text);
    } else if (random.chance(0.2)) {
      deleteRow(transaction, table, id, text);
    }
  }
  if (random.chance(0.2)) transaction.rollback();
  else transaction.commit();
}

/** Reads a pinned table a part at a time, and compares it with the rows at the start. */
class Reader {
  readonly #pin: TablePin;
  readonly #expected: string[];
  readonly #read: string[] = [];
  #ref = noRow;
  #isOver = false;

  constructor(table: Table) {
    this.#expected = readRows(table).map(String);
    this.#pin = table.pin();
  }

  isOver(): boolean {
    return this.#isOver;
  }

  readOn(count: number): void {
    const { table } = this.#pin;
    for (let left = count; left > 0; left--) {
      this.#ref = this.#pin.nextRow(this.#ref);
      if (this.#ref === noRow) {
        expect(this.#read).toEqual(this.#expected);
        this.#pin.release();
        this.#isOver = true;
        return;
      }
      this.#read.push(String(readRow(table, this.#ref)));
    }
  }

  finish(): void {
    this.readOn(Number.POSITIVE_INFINITY);
  }
}

describe('a queue of refs', () => {
  it('keeps positions while refs come and go', () => {
    const queue = new RefQueue();
    const random = new Random(3);
    let [start, end] = [0, 0];
    for (let round = 0; round < 50; round++) {
      for (let count = random.below(9_000); count > 0; count--)
        queue.push(rowRef(end++ & 0xffffff));
      let isInOrder = true;
      for (let count = random.below(Math.min(9_000, end - start + 1)); count > 0; count--) {
        isInOrder &&= queue.take() === (start++ & 0xffffff);
      }
      expect(isInOrder).toBe(true);
      expect([queue.start, queue.end]).toEqual([start, end]);
      for (let at = start; at < end; at += 3_001) expect(queue.at(at)).toBe(at & 0xffffff);
    }
    while (queue.start < queue.end) queue.take();
    expect(queue.bytes).toBe(0);
  });
});

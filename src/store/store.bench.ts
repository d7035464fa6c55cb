import { i64, indexOf, storeOf, string, tableOf, u32 } from '../../test/support/store/tables.ts';
import type { RowRef } from './row-ref.ts';

/**
 * The hot paths of the store, each beside a hand-written loop that does the same work with the
 * least code: rows in raw pages, one open-addressing table of refs, an undo entry for each change.
 * `scale` 1 uses 5 million rows of (u32, 12-character string, i64), 28 bytes encoded. The sides
 * take turns slice by slice, so that a noisy machine slows all of them.
 */
export function benchmarks(scale: number): Figure[] {
  const rowCount = Math.max(2000, Math.floor(5_000_000 * scale));
  // A small run first, so that no side is timed while being compiled.
  measure(Math.min(rowCount, 300_000));
  return measure(rowCount);
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline: number;
  readonly ratio: number;
  readonly bar?: string;
}

interface Contestant {
  insert(from: number, to: number): void;
  /** Reads a row by key, changes it and writes it back, four in a transaction. */
  transfer(rowCount: number, from: number, to: number): void;
  checksum(rowCount: number): number;
}

const rowBytes = 28;
const rowsPerTransaction = 100;
const rowsPerSlice = 50_000;

function measure(rowCount: number): Figure[] {
  const [plain, hash, tree] = [new Prototype(rowCount), new Subject('hash'), new Subject('btree')];
  const sides = [plain, hash, tree];
  const updateCount = Math.max(1000, rowCount >> 1);
  const inserts = race(sides, rowCount, (side, from, to) => side.insert(from, to));
  const updates = race(sides, updateCount, (side, from, to) => side.transfer(rowCount, from, to));
  const sums = sides.map((side) => side.checksum(rowCount));
  if (sums.some((sum) => sum !== sums[0])) throw new Error('the sides differ');
  const bytes = [hash, tree].map(({ store }) => store.memory().totalBytes / rowCount);
  const [hashBytes, treeBytes] = bytes as [number, number];
  return [
    figure('insert, hash key', 'ns', inserts.nanos, 1, 'at most 1.5 times the prototype loop'),
    figure('insert, btree key', 'ns', inserts.nanos, 2),
    figure('read and update, hash key', 'ns', updates.nanos, 1, 'at most 1.5 times'),
    figure('read and update, btree key', 'ns', updates.nanos, 2),
    figure(`longest of ${rowsPerTransaction} inserts, hash key`, 'ms', inserts.longest, 1),
    figure(`longest of ${rowsPerTransaction} inserts, btree key`, 'ms', inserts.longest, 2),
    figure('memory, hash key', 'bytes a row', [60, hashBytes], 1, 'at most 60'),
    figure('memory, btree key', 'bytes a row', [60, treeBytes], 1, 'at most 60'),
  ];
}

/** The first of `values` is the baseline. */
function figure(
  name: string,
  unit: string,
  values: readonly number[],
  side: number,
  bar?: string,
): Figure {
  const [baseline, value] = [values[0] as number, values[side] as number];
  return { name, unit, value, baseline, ratio: value / baseline, ...(bar ? { bar } : {}) };
}

/** By side: nanoseconds for each of `count`, and the longest transaction in milliseconds. */
function race(
  sides: readonly Contestant[],
  count: number,
  work: (side: Contestant, from: number, to: number) => void,
) {
  const total = sides.map(() => 0);
  const longest = sides.map(() => 0);
  for (let slice = 0; slice < count; slice += rowsPerSlice) {
    sides.forEach((side, at) => {
      const end = Math.min(count, slice + rowsPerSlice);
      for (let from = slice; from < end; from += rowsPerTransaction) {
        const begin = performance.now();
        work(side, from, Math.min(end, from + rowsPerTransaction));
        const took = performance.now() - begin;
        total[at] = (total[at] as number) + took;
        longest[at] = Math.max(longest[at] as number, took);
      }
    });
  }
  return { nanos: total.map((millis) => (millis * 1e6) / count), longest };
}

/** Encodes row `id` with `amount` at the start of `row`. */
function encode(row: Uint8Array, view: DataView, id: number, amount: number): void {
  view.setUint32(0, id, true);
  view.setUint32(4, 12, true);
  let digits = id;
  for (let at = 19; at >= 8; at--) {
    row[at] = 97 + (digits % 10);
    digits = (digits / 10) | 0;
  }
  view.setInt32(20, amount, true);
  view.setInt32(24, amount >> 31, true);
}

/** The same ids for both sides, spread over all rows. */
function idOf(step: number, rowCount: number): number {
  return (Math.imul(step, 0x9e3779b1) >>> 1) % rowCount;
}

/** The store as modules use it: rows and keys arrive in a scratch buffer, rows are copied out. */
class Subject implements Contestant {
  readonly store = storeOf({
    account: {
      columns: { id: u32, name: string, amount: i64 },
      indexes: [{ columns: ['id'], unique: true, algorithm: 'hash' }],
    },
    sorted: {
      columns: { id: u32, name: string, amount: i64 },
      indexes: [{ columns: ['id'], unique: true, algorithm: 'btree' }],
    },
  });
  readonly #table;
  readonly #index;
  readonly #scratch = new Uint8Array(65_536);
  readonly #view = new DataView(this.#scratch.buffer);

  constructor(algorithm: 'hash' | 'btree') {
    this.#table = tableOf(this.store, algorithm === 'hash' ? 'account' : 'sorted');
    this.#index = indexOf(this.#table, 0);
  }

  insert(from: number, to: number): void {
    const transaction = this.store.begin();
    for (let id = from; id < to; id++) {
      encode(this.#scratch, this.#view, id, id);
      if (transaction.insert(this.#table, this.#scratch, rowBytes) !== 0) throw new Error('insert');
    }
    transaction.commit();
  }

  transfer(rowCount: number, from: number, to: number): void {
    let transaction = this.store.begin();
    for (let step = from; step < to; step++) {
      this.#view.setUint32(0, idOf(step, rowCount), true);
      const ref = this.#table.find(this.#index, this.#scratch, 4) as RowRef;
      this.#table.copyRow(ref, this.#scratch, 0);
      const amount = this.#view.getInt32(20, true) + 1;
      this.#view.setInt32(20, amount, true);
      transaction.update(this.#table, this.#index, this.#scratch, rowBytes);
      if (step % 4 !== 3) continue;
      transaction.commit();
      transaction = this.store.begin();
    }
    transaction.commit();
  }

  checksum(rowCount: number): number {
    let sum = 0;
    for (let id = 0; id < rowCount; id++) {
      this.#view.setUint32(0, id, true);
      const ref = this.#table.find(this.#index, this.#scratch, 4) as RowRef;
      this.#table.copyRow(ref, this.#scratch, 0);
      sum = (Math.imul(sum, 31) + this.#view.getInt32(20, true)) | 0;
    }
    return sum;
  }
}

/** A simple baseline, as a good programmer writes in an hour: no types, one table, one index. */
class Prototype implements Contestant {
  readonly #pages: Uint8Array[] = [];
  readonly #slotBytes = 32;
  readonly #slotsPerPage = 32_768;
  #used = 0;
  readonly #free: number[] = [];
  #slots: Int32Array;
  readonly #undo = new Int32Array(1 << 16);
  #undoLength = 0;
  readonly #row = new Uint8Array(64);
  readonly #view = new DataView(this.#row.buffer);

  constructor(rowCount: number) {
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.min(rowCount, 4096) * 1.5)));
  }

  insert(from: number, to: number): void {
    for (let id = from; id < to; id++) {
      encode(this.#row, this.#view, id, id);
      const at = this.#seek(id);
      if (this.#slots[at] !== 0) throw new Error('duplicate');
      const ref = this.#place();
      this.#slots[at] = ref;
      this.#undo[this.#undoLength++] = ref;
      if (this.#used * 4 > this.#slots.length * 3) this.#grow();
    }
    this.#undoLength = 0;
  }

  transfer(rowCount: number, from: number, to: number): void {
    for (let step = from; step < to; step++) {
      const at = this.#seek(idOf(step, rowCount));
      const old = this.#slots[at] as number;
      this.#read(old);
      this.#view.setInt32(20, this.#view.getInt32(20, true) + 1, true);
      this.#slots[at] = this.#place();
      this.#undo[this.#undoLength++] = old;
      if (step % 4 !== 3) continue;
      while (this.#undoLength > 0) this.#free.push(this.#undo[--this.#undoLength] as number);
    }
  }

  checksum(rowCount: number): number {
    let sum = 0;
    for (let id = 0; id < rowCount; id++) {
      this.#read(this.#slots[this.#seek(id)] as number);
      sum = (Math.imul(sum, 31) + this.#view.getInt32(20, true)) | 0;
    }
    return sum;
  }

  /** The slot of the index that holds the id, or the empty one where it belongs. */
  #seek(id: number): number {
    const mask = this.#slots.length - 1;
    let at = (Math.imul(id, 0x9e3779b1) >>> 7) & mask;
    for (let ref = this.#slots[at] as number; ref !== 0; ref = this.#slots[at] as number) {
      if (this.#idOf(ref) === id) break;
      at = (at + 1) & mask;
    }
    return at;
  }

  #idOf(ref: number): number {
    const page = this.#pages[(ref - 1) >> 15] as Uint8Array;
    const at = ((ref - 1) & 32_767) * this.#slotBytes;
    return (
      (page[at] as number) |
      ((page[at + 1] as number) << 8) |
      ((page[at + 2] as number) << 16) |
      ((page[at + 3] as number) << 24)
    );
  }

  /** Copies the row into a free place. */
  #place(): number {
    let ref = this.#free.pop();
    if (ref === undefined) {
      if (this.#used % this.#slotsPerPage === 0) {
        this.#pages.push(new Uint8Array(this.#slotsPerPage * this.#slotBytes));
      }
      ref = ++this.#used;
    }
    const page = this.#pages[(ref - 1) >> 15] as Uint8Array;
    const at = ((ref - 1) & 32_767) * this.#slotBytes;
    for (let index = 0; index < rowBytes; index++) page[at + index] = this.#row[index] as number;
    return ref;
  }

  #read(ref: number): void {
    const page = this.#pages[(ref - 1) >> 15] as Uint8Array;
    const at = ((ref - 1) & 32_767) * this.#slotBytes;
    for (let index = 0; index < rowBytes; index++) this.#row[index] = page[at + index] as number;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    for (const ref of old) {
      if (ref !== 0) this.#slots[this.#seek(this.#idOf(ref))] = ref;
    }
  }
}

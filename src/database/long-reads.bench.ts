import { ItemDatabase, PausingScan } from '../../test/support/item-database.ts';
import {
  encodeRow,
  indexOf,
  storeOf,
  string,
  tableOf,
  u32,
} from '../../test/support/store/tables.ts';
import type { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';

/**
 * What long reads cost other callers, and what yielding to them costs the reads. `scale` 1 reads 2
 * million rows of (u32, text of about 10 characters) ten times, while one caller makes calls back
 * to back. Each figure's baseline was measured in the same run.
 */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.max(2_000, Math.floor(2_000_000 * scale));
  await beside(Math.min(rowCount, 100_000), 'slices');
  const [whole, slices] = [await beside(rowCount, 'whole'), await beside(rowCount, 'slices')];
  return [
    {
      name: `longest call beside a read of ${passes} x ${rowCount} rows, in one go as baseline`,
      unit: 'ms',
      value: slices.longest,
      baseline: whole.longest,
    },
    {
      name: 'median call beside it, calls alone as baseline',
      unit: 'ms',
      value: slices.median,
      baseline: slices.medianAlone,
    },
    {
      name: 'calls beside it, read in one go as baseline',
      unit: 'calls/s',
      value: slices.calls / (slices.readMillis / 1000),
      baseline: whole.calls / (whole.readMillis / 1000),
    },
    {
      name: 'the read beside calls, in one go as baseline',
      unit: 'ms',
      value: slices.readMillis,
      baseline: whole.readMillis,
    },
    {
      name: 'the read while nobody calls, in one go as baseline',
      unit: 'ms',
      value: slices.quietMillis,
      baseline: whole.quietMillis,
    },
    ...pinFigures(Math.max(2_000, Math.floor(1_000_000 * scale))),
  ];
}

const passes = 10;

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

interface Beside {
  readonly longest: number;
  readonly median: number;
  readonly medianAlone: number;
  readonly calls: number;
  readonly readMillis: number;
  readonly quietMillis: number;
}

async function beside(rowCount: number, how: 'whole' | 'slices'): Promise<Beside> {
  const items = await ItemDatabase.open(rowCount, {
    startReadRun: (_, store, times) => {
      const sliceMillis = how === 'whole' ? Number.POSITIVE_INFINITY : times.sliceMillis;
      return new PausingScan(store, { ...times, sliceMillis }, { onlyLooks: true, passes });
    },
  });
  const alone: number[] = [];
  for (let call = 0; call < 200; call++) alone.push(await callOnce(items, call));
  const quietMillis = await timed(() => items.query('SELECT * FROM item'));
  let isOver = false;
  const reading = timed(() => items.query('SELECT * FROM item')).finally(() => {
    isOver = true;
  });
  const waits: number[] = [];
  do waits.push(await callOnce(items, waits.length));
  while (!isOver);
  const readMillis = await reading;
  await items.database.close();
  return {
    longest: Math.max(...waits),
    median: medianOf(waits),
    medianAlone: medianOf(alone),
    calls: waits.length,
    readMillis,
    quietMillis,
  };
}

/** Changes an item; returns how long that took, in milliseconds. */
function callOnce(items: ItemDatabase, call: number): Promise<number> {
  return timed(() => items.put(call % 1_000, `text ${call}`));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

/** What a pin costs writers. The two sides take turns, table by table. */
function pinFigures(rowCount: number): Figure[] {
  const free = { insert: 0, update: 0 };
  const pinned = { insert: 0, update: 0 };
  const batch = Math.max(500, rowCount >> 3);
  const [plain, subject] = [filled(rowCount), filled(rowCount)];
  let heldBytes = 0;
  for (let round = 0; round < 6; round++) {
    const from = rowCount + round * batch;
    free.update += update(plain, round * batch, batch);
    free.insert += insert(plain, from, batch);
    const pin = subject.table.pin();
    pinned.update += update(subject, round * batch, batch);
    pinned.insert += insert(subject, from, batch);
    heldBytes = pin.heldBytes;
    pin.release();
    // The held rows are freed with the next commits.
    for (let id = 0; subject.table.held.hasLoose; id++) update(subject, id, 1);
  }
  const nanos = (millis: number) => (millis * 1e6) / (6 * batch);
  timedPins(subject.table);
  const pinMillis = timedPins(subject.table);
  return [
    figure('insert into a pinned table, not pinned as baseline', pinned.insert, free.insert, nanos),
    figure('update in a pinned table, not pinned as baseline', pinned.update, free.update, nanos),
    { name: `pin and release a table of ${rowCount} rows`, unit: 'us', value: pinMillis * 1000 },
    { name: 'held for each row that is updated', unit: 'bytes', value: heldBytes / batch },
    {
      name: 'pages of the table afterwards, never pinned as baseline',
      unit: 'bytes',
      value: subject.table.heap.allocatedBytes,
      baseline: plain.table.heap.allocatedBytes,
    },
  ];
}

function figure(
  name: string,
  value: number,
  baseline: number,
  nanos: (millis: number) => number,
): Figure {
  return { name, unit: 'ns', value: nanos(value), baseline: nanos(baseline) };
}

interface Filled {
  readonly store: Store;
  readonly table: Table;
}

function filled(rowCount: number): Filled {
  const store = storeOf({
    item: {
      columns: { id: u32, text: string },
      indexes: [{ columns: ['id'], unique: true, algorithm: 'hash' }],
    },
  });
  const table = tableOf(store, 'item');
  insert({ store, table }, 0, rowCount);
  return { store, table };
}

/** Milliseconds taken to insert rows, 100 per transaction. */
function insert({ store, table }: Filled, from: number, count: number): number {
  const { row, view } = rowOf(table, 'text of it');
  const begin = performance.now();
  for (let id = from; id < from + count; ) {
    const transaction = store.begin();
    for (const end = Math.min(id + 100, from + count); id < end; id++) {
      view.setUint32(0, id, true);
      if (transaction.insert(table, row, row.length) !== 0) throw new Error('insert');
    }
    transaction.commit();
  }
  return performance.now() - begin;
}

function update({ store, table }: Filled, from: number, count: number): number {
  const { row, view } = rowOf(table, `text ${from % 7}${count % 7} !`);
  const index = indexOf(table, 0);
  const begin = performance.now();
  for (let id = from; id < from + count; ) {
    const transaction = store.begin();
    for (const end = Math.min(id + 100, from + count); id < end; id++) {
      view.setUint32(0, id, true);
      if (transaction.update(table, index, row, row.length) !== 0) throw new Error('update');
    }
    transaction.commit();
  }
  return performance.now() - begin;
}

function rowOf(table: Table, text: string): { row: Uint8Array; view: DataView } {
  const row = encodeRow(table, [0, text]);
  return { row, view: new DataView(row.buffer, row.byteOffset) };
}

/** Milliseconds per pin. */
function timedPins(table: Table): number {
  const count = 1_000;
  const begin = performance.now();
  for (let pin = 0; pin < count; pin++) table.pin().release();
  return (performance.now() - begin) / count;
}

import { describe, expect, it } from 'vitest';
import {
  decodeRows,
  indexOf,
  insert,
  inTransaction,
  readRows,
  storeOf,
  string,
  type TableSketch,
  tableOf,
  u8,
  u32,
  u64,
  update,
} from '../../test/support/store/tables.ts';
import type { SequenceSpec } from '../schema/catalog.ts';
import { Sequence } from './sequence.ts';
import { noSuchRow, sequenceOverflow, uniqueViolation } from './transaction.ts';

const sketch: TableSketch = {
  columns: { id: u64, name: string },
  indexes: [{ columns: ['id'], unique: true, algorithm: 'hash' }],
  autoInc: ['id'],
};

function open() {
  const store = storeOf({ t: sketch });
  return { store, table: tableOf(store, 't') };
}

const ids = (store: ReturnType<typeof storeOf>) =>
  readRows(tableOf(store, 't'))
    .map(([id]) => id)
    .sort();

describe('auto-increment', () => {
  it('[mcp B19] goes back to where it was when all was only tried', () => {
    const { store, table } = open();
    const draw = () => {
      const transaction = store.begin();
      insert(transaction, table, 0n, 'a');
      transaction.rollback();
    };
    const never = store.sequencePositions();
    draw();
    store.returnSequences(never);
    expect(store.sequenceMarks()).toEqual([]);
    expect(store.takeSequenceMarks()).toEqual([]);
    draw();
    const once = store.sequencePositions();
    draw();
    store.returnSequences(once);
    expect(store.sequenceMarks()).toEqual([{ id: 180, value: 1n }]);
    expect(store.takeSequenceMarks()).toEqual([{ id: 180, value: 1n }]);
    inTransaction(store, (transaction) => insert(transaction, table, 0n, 'b'));
    expect(ids(store)).toEqual([2n]);
  });

  it('[tables 5.2, 14.5] 1, 2, 3; explicit 10; then 4 to 9, one violation at 10, then 11', () => {
    const { store, table } = open();
    const transaction = store.begin();
    for (const id of [0n, 0n, 0n, 10n]) insert(transaction, table, id, 'a');
    for (let id = 4n; id <= 9n; id++) insert(transaction, table, 0n, `${id}`);
    expect(insert(transaction, table, 0n, 'x')).toBe(uniqueViolation);
    expect(insert(transaction, table, 0n, 'x')).toBe(8);
    transaction.commit();
    expect(ids(store).at(-1)).toBe(9n);
    expect(ids(store)).toHaveLength(11);
    expect(ids(store)).toContain(11n);
  });

  it('[tables 5] rollback does not give values back, and the marks say so', () => {
    const { store, table } = open();
    const transaction = store.begin();
    insert(transaction, table, 0n, 'a');
    insert(transaction, table, 0n, 'b');
    transaction.rollback();
    expect(store.takeSequenceMarks()).toEqual([{ id: 180, value: 2n }]);
    expect(store.takeSequenceMarks()).toEqual([]);
    const next = store.begin();
    insert(next, table, 0n, 'c');
    expect(next.commit()?.sequences).toEqual([{ id: 180, value: 3n }]);
    inTransaction(store, (third) => insert(third, table, 77n, 'd'));
    expect(store.takeSequenceMarks()).toEqual([]);
  });

  it('[tables 5.1, 14.6] a store rebuilt from records hands out greater values only', () => {
    const { store, table } = open();
    const transaction = store.begin();
    insert(transaction, table, 0n, 'a');
    const change = transaction.commit();
    const lost = store.begin();
    insert(lost, table, 0n, 'b');
    lost.rollback();
    const again = storeOf({ t: sketch });
    if (change !== undefined) again.replay(change);
    again.resumeSequences(store.takeSequenceMarks());
    inTransaction(again, (next) => insert(next, tableOf(again, 't'), 0n, 'c'));
    expect(ids(again)).toEqual([1n, 3n]);
    expect(again.sequenceMarks()).toEqual([{ id: 180, value: 3n }]);
  });

  it('[tables 5.3] a value that does not fit the column is error 16, and consumes nothing', () => {
    const store = storeOf({ t: { columns: { id: u8, n: u32 }, autoInc: ['id'] } });
    const table = tableOf(store, 't');
    inTransaction(store, (transaction) => {
      for (let n = 0; n < 255; n++) expect(insert(transaction, table, 0, n)).toBe(1);
      expect(insert(transaction, table, 0, 1000)).toBe(sequenceOverflow);
      expect(insert(transaction, table, 5, 1000)).toBe(0);
      expect(insert(transaction, table, 0, 1000)).toBe(sequenceOverflow);
    });
    expect(store.sequenceMarks()).toEqual([{ id: 180, value: 255n }]);
  });

  it('[abi 8.3] returns only the columns that held zero, in column order', () => {
    const store = storeOf({
      t: { columns: { name: string, a: u8, b: u32, c: u8 }, autoInc: ['c', 'a', 'b'] },
    });
    const table = tableOf(store, 't');
    const transaction = store.begin();
    const row = Uint8Array.from([2, 0, 0, 0, 65, 66, 0, 9, 0, 0, 0, 0]);
    expect(transaction.insert(table, row, row.length)).toBe(2);
    expect([...row.subarray(0, 2)]).toEqual([1, 1]);
    const all = Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(transaction.insert(table, all, all.length)).toBe(6);
    expect([...all.subarray(0, 6)]).toEqual([2, 1, 0, 0, 0, 2]);
    const inserts = transaction.commit()?.tables[0]?.inserts;
    expect(decodeRows(table.rowType, inserts?.bytes as Uint8Array, 2)).toEqual([
      ['AB', 1, 9, 1],
      ['', 2, 1, 2],
    ]);
  });

  it('[tables 3.1] an update that carries zero consumes a value and finds no row', () => {
    const { store, table } = open();
    inTransaction(store, (transaction) => {
      insert(transaction, table, 0n, 'a');
      expect(update(transaction, indexOf(table, 0), 0n, 'b')).toBe(noSuchRow);
      insert(transaction, table, 0n, 'c');
    });
    expect(ids(store)).toEqual([1n, 3n]);
  });
});

describe('sequence', () => {
  const wide: SequenceSpec = {
    id: 1,
    name: 's',
    column: 0,
    start: 2n ** 53n - 2n,
    minValue: 1n,
    maxValue: 2n ** 255n - 1n,
    increment: 1n,
  };

  function draw(sequence: Sequence): bigint | undefined {
    if (!sequence.advance()) return undefined;
    const bytes = new Uint8Array(sequence.widthBytes);
    sequence.write(bytes, 0);
    const isNegative = ((bytes.at(-1) as number) & 0x80) !== 0;
    const raw = bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
    return isNegative ? raw - (1n << BigInt(bytes.length * 8)) : raw;
  }

  it('passes 2^53 without losing a value', () => {
    const sequence = new Sequence(wide, 'i256');
    const values = Array.from({ length: 5 }, () => draw(sequence));
    expect(values).toEqual([-2n, -1n, 0n, 1n, 2n].map((step) => 2n ** 53n + step));
    expect(sequence.last).toBe(2n ** 53n + 2n);
  });

  it('[tables 5.3] ends where its column ends, whatever its own bounds say', () => {
    const spec = { ...wide, start: 254n };
    const sequence = new Sequence(spec, 'u8');
    expect([1, 2, 3].map(() => sequence.advance())).toEqual([true, true, false]);
    expect(sequence.last).toBe(255n);
    const signed = new Sequence(
      { ...spec, start: -1n, minValue: -(2n ** 70n), increment: -1n },
      'i8',
    );
    for (let drawn = 0; drawn < 128; drawn++) signed.advance();
    expect(signed.last).toBe(-128n);
    expect(signed.advance()).toBe(false);
  });

  it('counts down, through zero, to its minimum', () => {
    const spec = { ...wide, start: 2n, minValue: -2n, maxValue: 5n, increment: -2n };
    const sequence = new Sequence(spec, 'i64');
    const values = Array.from({ length: 4 }, () => draw(sequence));
    expect(values).toEqual([2n, 0n, -2n, undefined]);
    sequence.resume(-(2n ** 60n));
    expect(sequence.last).toBe(-(2n ** 60n));
  });
});

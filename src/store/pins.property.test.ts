import { describe, expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import { hexOf, type ModelRow, ModelTable } from '../../test/support/store/model.ts';
import {
  type RandomTable,
  randomCatalog,
  randomRow,
} from '../../test/support/store/random-schema.ts';
import { present } from '../assert.ts';
import { Random } from '../testing/random.ts';
import { noRow, type RowRef, rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import type { TablePin } from './table-pin.ts';
import { keyOf, type Transaction } from './transaction.ts';

/**
 * Random transactions over random tables while pins come and go, on a store and on another that
 * replays what the first one commits. Whatever happens, each pin must show the copy of the rows
 * that was taken beside it, by scan and by every index.
 */
const runCount = 40;
const transactionsPerRun = 50;

describe('pins against copies of the rows', () => {
  for (const seed of someSeeds(1, runCount)) {
    it(`each shows its moment, seed ${seed}`, () => new Run(seed).run());
  }
});

interface Pinned {
  readonly pin: TablePin;
  readonly copy: readonly ModelRow[];
  readonly order: readonly number[];
}

class Run {
  readonly #random: Random;
  readonly #store: Store;
  readonly #replica: Store;
  readonly #tables: readonly RandomTable[];
  #pins: Pinned[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
    const { catalog, tables } = randomCatalog(this.#random);
    this.#store = new Store(catalog);
    this.#replica = new Store(catalog);
    this.#tables = tables;
  }

  run(): void {
    for (let step = 0; step < transactionsPerRun; step++) {
      this.#transact();
      for (const pinned of this.#pins) this.#check(pinned);
      this.#release(this.#pins.filter(() => this.#random.chance(0.15)));
      if (this.#pins.length < 12 && this.#random.chance(0.5)) this.#pinAll();
    }
    this.#release(this.#pins);
    for (const store of [this.#store, this.#replica]) {
      expect(store.heldBytes).toBe(0);
      for (const { held } of store.tables) expect(held.isIdle).toBe(true);
    }
  }

  #transact(): void {
    const transaction = this.#store.begin();
    const actions = this.#random.between(1, 12);
    for (let action = 0; action < actions; action++) this.#act(transaction);
    if (this.#random.chance(0.25)) {
      transaction.rollback();
      return;
    }
    const change = transaction.commit();
    if (change !== undefined) this.#replica.replay(change);
  }

  #act(transaction: Transaction): void {
    const random = this.#random.pick(this.#tables);
    const table = tableOf(this.#store, random);
    const row = new Uint8Array(256);
    const bytes = randomRow(this.#random, random);
    row.set(bytes);
    const [unique] = table.indexes.filter(({ isUnique }) => isUnique);
    const dice = this.#random.below(100);
    if (dice < 60) transaction.insert(table, row, bytes.length);
    else if (dice < 78 && unique !== undefined) {
      transaction.update(table, unique, row, bytes.length);
    } else if (dice < 97) {
      transaction.deleteMany(
        table,
        table.scan().filter(() => this.#random.chance(0.2)),
      );
    } else transaction.clear(table);
  }

  #pinAll(): void {
    const random = this.#random.pick(this.#tables);
    const times = this.#random.pick([1, 1, 2]);
    for (let time = 0; time < times; time++) {
      for (const store of [this.#store, this.#replica]) {
        const table = tableOf(store, random);
        const model = new ModelTable(table.spec);
        const refs = [...table.scan()];
        const copy = refs.map((ref) => model.rowOf(rowBytes(table, ref)));
        this.#pins.push({ pin: table.pin(), copy, order: refs });
      }
    }
  }

  #release(pins: readonly Pinned[]): void {
    for (const { pin } of pins) {
      pin.release();
      expect(pin.isValid).toBe(false);
      expect(() => pin.nextRow(noRow)).toThrow('after its release');
    }
    this.#pins = this.#pins.filter((pinned) => !pins.includes(pinned));
  }

  #check({ pin, copy, order }: Pinned): void {
    const { table } = pin;
    expect(pin.rowCount).toBe(copy.length);
    const refs: RowRef[] = [];
    for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) refs.push(ref);
    expect(refs).toEqual(order);
    expect(refs.map((ref) => hexOf(rowBytes(table, ref)))).toEqual(copy.map(({ hex }) => hex));
    for (const ref of refs) expect(pin.has(ref)).toBe(true);
    for (const ref of table.scan()) expect(pin.has(rowRef(ref))).toBe(order.includes(ref));
    this.#checkLater(pin, order);
    this.#checkLookUps(pin, copy);
  }

  #checkLater(pin: TablePin, order: readonly number[]): void {
    const { table } = pin;
    const later = pin.laterRows();
    const refs: RowRef[] = [];
    for (let ref = later.nextRow(noRow); ref !== noRow; ref = later.nextRow(ref)) refs.push(ref);
    const now = [...table.scan()];
    const came = now.filter((ref) => !order.includes(ref));
    expect(refs).toEqual(came);
    expect(later.rowCount).toBe(came.length);
    expect(later.countUpTo(2)).toBe(Math.min(2, came.length));
    if (pin.isUnchanged) expect(now).toEqual(order);
    for (const index of table.indexes) {
      for (const ref of now.filter(() => this.#random.chance(0.1))) {
        const key = keyOf(table.shape, index.spec.columns, rowBytes(table, ref), 0);
        const found = [...later.lookUp(index, key, key.length)];
        expect(found.includes(ref)).toBe(came.includes(ref));
        expect(found.every((one) => came.includes(one))).toBe(true);
      }
    }
  }

  #checkLookUps(pin: TablePin, copy: readonly ModelRow[]): void {
    const { table } = pin;
    const model = new ModelTable(table.spec);
    const random = present(
      this.#tables.find(({ spec }) => spec.id === table.id),
      'table',
    );
    for (const index of table.indexes) {
      if (this.#random.chance(0.5)) continue;
      const some = copy.filter(() => this.#random.chance(0.3));
      for (const row of [...some, model.rowOf(randomRow(this.#random, random))]) {
        const key = keyOf(table.shape, index.spec.columns, bytesOf(row.hex), 0);
        const found = [...pin.lookUp(index, key, key.length)];
        const expected = copy.filter((other) => model.compareKeys(index.spec, row, other) === 0);
        const hexes = found.map((ref) => hexOf(rowBytes(table, ref)));
        expect(hexes.sort()).toEqual(expected.map(({ hex }) => hex).sort());
      }
    }
  }
}

function tableOf(store: Store, { spec }: RandomTable): Table {
  return present(store.table(spec.id), 'table');
}

function rowBytes(table: Table, raw: number): Uint8Array {
  const ref = rowRef(raw);
  const bytes = new Uint8Array(table.lengthOf(ref));
  table.copyRow(ref, bytes, 0);
  return bytes;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

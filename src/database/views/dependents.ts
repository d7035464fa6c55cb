import { rowEnd } from '../../live/row-set.ts';
import { keyText, type ReadSet } from '../../module/read-set.ts';
import type { IndexId, TableId } from '../../schema/ids.ts';
import type { RowList, TableChange } from '../../store/change-set.ts';
import type { RowShape } from '../../store/row-shape.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ViewInstance } from './view-instance.ts';

/**
 * Which instances depend on which tables and keys, so that a transaction finds those it may have
 * changed without looking at the others.
 */
export class Dependents {
  readonly #store: Store;
  readonly #byTable = new Map<TableId, Set<ViewInstance>>();
  /** By table id. */
  readonly #byKey = new Map<TableId, Map<IndexId, KeyedIndex>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** `reads` names tables and indexes that the store has now. */
  add(instance: ViewInstance, { tables, keys }: ReadSet): void {
    for (const id of tables) into(this.#byTable, id, instance);
    for (const [indexId, texts] of keys) {
      const index = this.#store.index(indexId);
      if (index === undefined) continue;
      const { instances } = this.#keyed(index);
      for (const text of texts) into(instances, text, instance);
    }
  }

  /** `reads` must be the read set that the instance was added with. */
  remove(instance: ViewInstance, { tables, keys }: ReadSet): void {
    for (const id of tables) outOf(this.#byTable, id, instance);
    for (const [indexId, texts] of keys) {
      const tableId = this.#store.index(indexId)?.table.spec.id;
      const indexes = tableId === undefined ? undefined : this.#byKey.get(tableId);
      const keyed = indexes?.get(indexId);
      if (tableId === undefined || indexes === undefined || keyed === undefined) continue;
      for (const text of texts) outOf(keyed.instances, text, instance);
      if (keyed.instances.size === 0) indexes.delete(indexId);
      if (indexes.size === 0) this.#byKey.delete(tableId);
    }
  }

  clear(): void {
    this.#byTable.clear();
    this.#byKey.clear();
  }

  /** Instances whose read set includes a row that the open transaction has added or removed. */
  affectedBy(transaction: Transaction): Set<ViewInstance> {
    const affected = new Set<ViewInstance>();
    if (this.#byTable.size === 0 && this.#byKey.size === 0) return affected;
    for (const table of transaction.changedTables()) {
      for (const instance of this.#byTable.get(table.spec.id) ?? []) affected.add(instance);
      const indexes = this.#byKey.get(table.spec.id);
      if (indexes !== undefined) collectByKey(table, [...indexes.values()], affected);
    }
    return affected;
  }

  /** Instances whose read set includes a row that a commit of another host has changed. */
  affectedByChanges(changes: readonly TableChange[]): Set<ViewInstance> {
    const affected = new Set<ViewInstance>();
    for (const { tableId, inserts, deletes } of changes) {
      for (const instance of this.#byTable.get(tableId) ?? []) affected.add(instance);
      const indexes = this.#byKey.get(tableId);
      const shape = this.#store.table(tableId)?.shape;
      if (indexes === undefined || shape === undefined) continue;
      for (const rows of [inserts, deletes]) {
        collectByRows(rows, shape, [...indexes.values()], affected);
      }
    }
    return affected;
  }

  #keyed(index: Index): KeyedIndex {
    const tableId = index.table.spec.id;
    const indexes = this.#byKey.get(tableId) ?? new Map<IndexId, KeyedIndex>();
    this.#byKey.set(tableId, indexes);
    const known = indexes.get(index.spec.id);
    if (known !== undefined) return known;
    const made = { columns: index.spec.columns, instances: new Map() };
    indexes.set(index.spec.id, made);
    return made;
  }
}

interface KeyedIndex {
  readonly columns: readonly number[];
  /** By the text of a key. */
  readonly instances: Map<string, Set<ViewInstance>>;
}

function collectByKey(
  table: Table,
  indexes: readonly KeyedIndex[],
  affected: Set<ViewInstance>,
): void {
  const { shape } = table;
  table.changes.visitPending((ref) => {
    const page = table.pageOf(ref);
    const row = table.offsetOf(ref);
    for (const { columns, instances } of indexes) {
      const text = rowKeyText(shape, columns, page, row);
      for (const instance of instances.get(text) ?? []) affected.add(instance);
    }
  });
}

function collectByRows(
  { bytes, count }: RowList,
  shape: RowShape,
  indexes: readonly KeyedIndex[],
  affected: Set<ViewInstance>,
): void {
  let start = 0;
  for (let row = 0; row < count; row++) {
    for (const { columns, instances } of indexes) {
      const text = rowKeyText(shape, columns, bytes, start);
      for (const instance of instances.get(text) ?? []) affected.add(instance);
    }
    start = rowEnd(shape, bytes, start);
  }
}

/** The key of a stored row as `ReadSet` has it. */
function rowKeyText(
  shape: RowShape,
  columns: readonly number[],
  page: Uint8Array,
  row: number,
): string {
  let text = '';
  for (const column of columns) {
    const start = shape.startOf(page, row, column);
    const end = shape.skip(page, start, column);
    text += keyText(page.subarray(start, end), end - start);
  }
  return text;
}

function into<Key>(sets: Map<Key, Set<ViewInstance>>, key: Key, instance: ViewInstance): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([instance]));
  else set.add(instance);
}

function outOf<Key>(sets: Map<Key, Set<ViewInstance>>, key: Key, instance: ViewInstance): void {
  const set = sets.get(key);
  if (set?.delete(instance) && set.size === 0) sets.delete(key);
}

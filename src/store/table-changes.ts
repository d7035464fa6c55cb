import { assert } from '../assert.ts';
import type { TableId } from '../schema/ids.ts';
import { emptyRowList, type TableChange } from './change-set.ts';
import type { ClearedDerived, DerivedIndexes } from './derived-indexes.ts';
import { Graveyard } from './graveyard.ts';
import type { HeldRows } from './held-rows.ts';
import type { IndexBody, UniqueBody } from './index-body.ts';
import { RefList } from './ref-list.ts';
import type { RowArena } from './row-arena.ts';
import {
  isVisible,
  offsetOf,
  type RowHeap,
  slotCancelled,
  slotCommitted,
  slotDeleted,
  slotInserted,
} from './row-heap.ts';
import { noRow, type RowRef, type RowRefs, rowRef } from './row-ref.ts';
import type { RowWatcher } from './row-watcher.ts';
import type { Index } from './table-index.ts';
import type { WholeRowIndex } from './whole-row-index.ts';

/**
 * The write side of one table: rows change in place, and a list of steps makes it possible to undo
 * everything. For the store room only; others write through `Transaction`.
 *
 * A step is a pair of refs (came, went), 0 = none: `came` became visible, `went` invisible. The
 * slot states hold the rest, because steps are undone in reverse order:
 *
 * ```
 *              place                 commit
 *   (free) ─────────────▶ inserted ─────────▶ committed
 *                          │    ▲               │    ▲
 *                  delete  │    │ undo   delete │    │ undo, or the same row inserted again
 *                          ▼    │               ▼    │
 *                         cancelled            deleted
 *                          └──── commit: freed ──┘──▶ held, while a pin can see it
 * ```
 */
export class TableChanges {
  /** Visible rows. */
  rowCount = 0;
  /** The unique index that rejected the last insert, update or load. */
  conflict: Index | undefined;
  /** Set while a migration takes over what commits change. */
  watcher: RowWatcher | undefined;
  readonly #heap: RowHeap;
  readonly #held: HeldRows;
  readonly #uniques: readonly Index[];
  readonly #others: readonly Index[];
  /** A unique index that holds a key for every row. */
  readonly #key: Index | undefined;
  /** Present if there is no such index. */
  readonly #wholeRows: WholeRowIndex | undefined;
  /** Present if the table has derived indexes. */
  readonly #derived: DerivedIndexes | undefined;
  readonly #steps = new RefList();
  readonly #cleared: Cleared[] = [];
  readonly #graveyard: Graveyard;
  /** The result of the last probe of each unique index. */
  readonly #found: Int32Array;
  /** Net change of the open transaction. */
  #insertCount = 0;
  #insertBytes = 0;
  #deleteCount = 0;
  #deleteBytes = 0;

  constructor(held: HeldRows, { indexes, wholeRows, derived }: IndexesOfTable) {
    const { heap } = held;
    this.#heap = heap;
    this.#held = held;
    this.#uniques = indexes.filter((index) => index.isUnique);
    this.#others = indexes.filter((index) => !index.isUnique);
    this.#key = this.#uniques.find((index) => !index.isSparse);
    this.#wholeRows = wholeRows;
    this.#derived = derived;
    this.#graveyard = new Graveyard(heap);
    this.#found = new Int32Array(this.#uniques.length);
  }

  /** True when the open transaction has done anything here, even without a net change. */
  get isTouched(): boolean {
    return this.#steps.length > 0;
  }

  get hasNetChange(): boolean {
    return this.#insertCount > 0 || this.#deleteCount > 0;
  }

  /** Bytes of rows that the open transaction has added and removed, net. */
  get insertedBytes(): number {
    return this.#insertBytes;
  }

  get deletedBytes(): number {
    return this.#deleteBytes;
  }

  /**
   * Calls `visit` with each row that the open transaction has added or removed so far, net. A
   * removed row can be visited more than once.
   */
  visitPending(visit: (ref: RowRef) => void): void {
    for (let step = 0; step < this.#steps.length; step += 2) {
      const came = this.#steps.at(step);
      const went = this.#steps.at(step + 1);
      if (came === clearedStep) {
        for (const ref of (this.#cleared[went] as Cleared).refs)
          this.#visitDeleted(rowRef(ref), visit);
        continue;
      }
      if (came !== noRow && this.#heap.stateOf(came) === slotInserted) visit(came);
      if (went !== noRow) this.#visitDeleted(went, visit);
    }
  }

  #visitDeleted(ref: RowRef, visit: (ref: RowRef) => void): void {
    if (this.#heap.stateOf(ref) === slotDeleted) visit(ref);
  }

  /** The visible row that equals these bytes of a valid row, or `noRow`. */
  findEqual(row: Uint8Array, at: number, length: number): RowRef {
    if (this.#key === undefined) return this.#rows().probe(row, at, length);
    const found = this.#key.probe(row, at, length);
    return found !== noRow && this.#heap.rowEquals(found, row, at, length) ? found : noRow;
  }

  /** Inserts a valid row. Nothing is changed unless the result is `inserted`. */
  insert(row: Uint8Array, length: number): InsertResult {
    const uniques = this.#uniques;
    for (let index = 0; index < uniques.length; index++) {
      const unique = uniques[index] as Index;
      const found = unique.probe(row, 0, length);
      if (found === noRow) continue;
      // An equal row would share every key, so the first row found decides.
      if (this.#heap.rowEquals(found, row, 0, length)) return 'present';
      this.conflict = unique;
      return 'conflict';
    }
    const rows = this.#wholeRows;
    if (rows !== undefined && rows.probe(row, 0, length) !== noRow) return 'present';
    const ref = this.#appear(row, length);
    if (ref === noRow) return 'full';
    this.#steps.pushPair(ref, noRow);
    this.rowCount++;
    for (let index = 0; index < uniques.length; index++) (uniques[index] as Index).addProbed(ref);
    rows?.addProbed(ref);
    for (let index = 0; index < this.#others.length; index++)
      (this.#others[index] as Index).add(ref);
    this.#derived?.add(ref);
    return 'inserted';
  }

  /**
   * Replaces the row that has the key of the given row in `by`, a unique index of this table.
   * Nothing is changed unless the result is `inserted`.
   */
  update(by: Index, row: Uint8Array, length: number): InsertResult | 'absent' {
    const old = by.probe(row, 0, length);
    if (old === noRow) return 'absent';
    if (this.#heap.rowEquals(old, row, 0, length)) return 'present';
    const uniques = this.#uniques;
    for (let index = 0; index < uniques.length; index++) {
      const unique = uniques[index] as Index;
      const found = unique === by ? old : unique.probe(row, 0, length);
      this.#found[index] = found;
      if (found === noRow || found === old) continue;
      this.conflict = unique;
      return 'conflict';
    }
    // A row from before the transaction shared its key with no other row then, so no row that the
    // transaction has deleted equals the new one.
    const isOnly = this.#heap.stateOf(old) === slotCommitted;
    const ref = isOnly ? this.#appearNew(row, length) : this.#appear(row, length);
    if (ref === noRow) return 'full';
    this.#disappear(old);
    this.#steps.pushPair(ref, old);
    for (let index = 0; index < uniques.length; index++) {
      const unique = uniques[index] as Index;
      if (this.#found[index] === old) {
        unique.replaceProbed(ref);
      } else {
        unique.remove(old);
        unique.add(ref);
      }
    }
    this.#replaceInOthers(old, ref);
    return 'inserted';
  }

  /** Deletes a visible row. */
  remove(ref: RowRef): void {
    this.#disappear(ref);
    this.#steps.pushPair(noRow, ref);
    this.rowCount--;
    this.#unindex(ref);
  }

  /** Deletes those of the rows that are still visible and returns their number. */
  removeMany(refs: RowRefs): number {
    if (refs.length >= jointlyRemovedMin && refs.length > this.rowCount * jointlyRemovedShare) {
      return this.#removeMost(refs);
    }
    let count = 0;
    for (let index = 0; index < refs.length; index++) {
      const ref = refs[index] as RowRef;
      if (!isVisible(this.#heap.stateOf(ref))) continue;
      this.remove(ref);
      count++;
    }
    return count;
  }

  /** Deletes all visible rows and returns their number. */
  clear(): number {
    const refs = new RefList();
    this.#heap.collectVisible(refs);
    if (refs.length <= singlyClearedMax) {
      for (let index = 0; index < refs.length; index++) this.remove(refs.at(index));
      return refs.length;
    }
    for (let index = 0; index < refs.length; index++) this.#disappear(refs.at(index));
    this.#emptyIndexes(refs.copy());
    return refs.length;
  }

  /** Re-adding the few rows that stay costs less than removing those that go. */
  #removeMost(refs: RowRefs): number {
    const gone = new RefList();
    for (let index = 0; index < refs.length; index++) {
      const ref = refs[index] as RowRef;
      if (!isVisible(this.#heap.stateOf(ref))) continue;
      this.#disappear(ref);
      gone.push(ref);
    }
    this.#emptyIndexes(gone.copy());
    for (const index of [...this.#uniques, ...this.#others]) {
      assert(index.fill() === noRow, 'rows that stay have the keys that they had');
    }
    this.#wholeRows?.fill();
    this.#derived?.fill();
    return gone.length;
  }

  /** Removes all rows from the indexes at once; `refs` are the rows that are no longer visible. */
  #emptyIndexes(refs: RowRefs): void {
    this.#cleared.push({
      refs,
      rowCount: this.rowCount,
      bodies: [...this.#uniques, ...this.#others].map((index) => index.empty()),
      wholeRows: this.#wholeRows?.empty(),
      derived: this.#derived?.empty(),
    });
    this.#steps.pushPair(clearedStep, rowRef(this.#cleared.length - 1));
    this.rowCount -= refs.length;
  }

  /** The result that `commit` would return now; nothing becomes permanent. */
  pending(tableId: TableId, arena: RowArena): TableChange {
    arena.begin(this.#insertBytes, this.#deleteBytes);
    const deleted = new Set<RowRef>();
    this.visitPending((ref) => {
      if (this.#heap.stateOf(ref) === slotInserted) {
        arena.insert(this.#heap, ref);
      } else if (!deleted.has(ref)) {
        deleted.add(ref);
        arena.delete(this.#heap, ref);
      }
    });
    const { isTruncated: truncated } = this;
    return { tableId, inserts: arena.inserts(), deletes: arena.deletes(), truncated };
  }

  /** True when the table had rows before the open transaction, and has none now. */
  get isTruncated(): boolean {
    return this.rowCount === 0 && this.#deleteCount > 0;
  }

  /** Makes the changes permanent and returns them. There must be a net change. */
  commit(tableId: TableId, arena: RowArena): TableChange {
    const { isTruncated: truncated } = this;
    arena.begin(this.#insertBytes, this.#deleteBytes);
    this.#settle(arena);
    return { tableId, inserts: arena.inserts(), deletes: arena.deletes(), truncated };
  }

  /** Like `commit`, for an event table: its rows leave with the change and are gone. */
  commitEvents(tableId: TableId, arena: RowArena): TableChange {
    arena.begin(this.#insertBytes, 0);
    for (let step = 0; step < this.#steps.length; step += 2) {
      const came = this.#steps.at(step);
      if (came > noRow && this.#heap.stateOf(came) === slotInserted) arena.insert(this.#heap, came);
    }
    this.rollback();
    return { tableId, inserts: arena.inserts(), deletes: emptyRowList, truncated: false };
  }

  /** Ends a transaction without a net change here. */
  commitNothing(arena: RowArena): void {
    assert(!this.hasNetChange, 'a net change is committed as a change set');
    arena.begin(0, 0);
    this.#settle(arena);
  }

  /** Undoes everything, last step first. */
  rollback(): void {
    for (let step = this.#steps.length - 2; step >= 0; step -= 2) {
      const came = this.#steps.at(step);
      const went = this.#steps.at(step + 1);
      if (came === clearedStep) this.#restoreCleared(this.#cleared[went] as Cleared);
      else this.#undo(came, went);
    }
    this.#forget();
  }

  /** Adds a valid committed row outside of any transaction. False if that breaks uniqueness. */
  load(row: Uint8Array, at: number, length: number): boolean {
    const result = this.tryToLoad(row, at, length);
    assert(result !== 'full', 'a table that was written once fits again');
    return result === 'loaded';
  }

  /** Like `load`, of a row that was never in a table like this one. */
  tryToLoad(row: Uint8Array, at: number, length: number): 'loaded' | 'conflict' | 'full' {
    for (let index = 0; index < this.#uniques.length; index++) {
      const unique = this.#uniques[index] as Index;
      if (unique.probe(row, at, length) === noRow) continue;
      this.conflict = unique;
      return 'conflict';
    }
    const rows = this.#wholeRows;
    if (rows !== undefined && rows.probe(row, at, length) !== noRow) return 'conflict';
    const ref = this.#place(row, at, length, slotCommitted);
    if (ref === noRow) return 'full';
    this.rowCount++;
    for (let index = 0; index < this.#uniques.length; index++) {
      (this.#uniques[index] as Index).addProbed(ref);
    }
    rows?.addProbed(ref);
    for (let index = 0; index < this.#others.length; index++)
      (this.#others[index] as Index).add(ref);
    this.#derived?.add(ref);
    return 'loaded';
  }

  /** Like `load`, but the row is in no index before `fillIndexes`, which judges uniqueness. */
  loadUnindexed(row: Uint8Array, at: number, length: number): RowRef {
    const ref = this.#place(row, at, length, slotCommitted);
    assert(ref !== noRow, 'a table that was written once fits again');
    this.rowCount++;
    return ref;
  }

  /**
   * Enters all rows in the indexes, which are empty, except derived ones. False if two rows share a
   * unique key.
   */
  fillIndexes(): boolean {
    for (const index of [...this.#uniques, ...this.#others]) {
      if (index.fillAtOnce(this.rowCount) !== noRow) return false;
    }
    return this.#wholeRows === undefined || this.#wholeRows.fillAtOnce(this.rowCount);
  }

  /** Removes a committed row outside of any transaction. */
  unload(ref: RowRef): void {
    this.#unindex(ref);
    this.#held.dismiss(ref);
    this.rowCount--;
  }

  #rows(): WholeRowIndex {
    assert(
      this.#wholeRows !== undefined,
      'a table without unique index has an index of whole rows',
    );
    return this.#wholeRows;
  }

  /** Makes a row visible: one that this transaction deleted before, or a new one. */
  #appear(row: Uint8Array, length: number): RowRef {
    const deleted = this.#deleteCount > 0 ? this.#graveyard.find(row, 0, length) : noRow;
    if (deleted !== noRow) {
      this.#heap.setState(deleted, slotCommitted);
      this.#deleteCount--;
      this.#deleteBytes -= length;
      return deleted;
    }
    return this.#appearNew(row, length);
  }

  /** Adds a row that equals none that this transaction has deleted. */
  #appearNew(row: Uint8Array, length: number): RowRef {
    const ref = this.#place(row, 0, length, slotInserted);
    if (ref === noRow) return noRow;
    this.#insertCount++;
    this.#insertBytes += length;
    return ref;
  }

  /** A write must not fail because rows are held for reads. */
  #place(row: Uint8Array, at: number, length: number, state: number): RowRef {
    const ref = this.#heap.place(row, at, length, state);
    if (ref !== noRow || this.#held.isIdle) return ref;
    this.#held.letGo('the table was full and a write needed the space');
    return this.#heap.place(row, at, length, state);
  }

  #disappear(ref: RowRef): void {
    const state = this.#heap.stateOf(ref);
    const length = this.#heap.lengthOf(ref);
    if (state === slotCommitted) {
      this.#heap.setState(ref, slotDeleted);
      this.#graveyard.add(ref);
      this.#deleteCount++;
      this.#deleteBytes += length;
    } else {
      assert(state === slotInserted, 'only a visible row is deleted');
      this.#heap.setState(ref, slotCancelled);
      this.#insertCount--;
      this.#insertBytes -= length;
    }
  }

  #index(ref: RowRef): void {
    for (let index = 0; index < this.#uniques.length; index++)
      (this.#uniques[index] as Index).add(ref);
    for (let index = 0; index < this.#others.length; index++)
      (this.#others[index] as Index).add(ref);
    this.#wholeRows?.add(ref);
    this.#derived?.add(ref);
  }

  #unindex(ref: RowRef): void {
    for (let index = 0; index < this.#uniques.length; index++) {
      (this.#uniques[index] as Index).remove(ref);
    }
    for (let index = 0; index < this.#others.length; index++) {
      (this.#others[index] as Index).remove(ref);
    }
    this.#wholeRows?.remove(ref);
    this.#derived?.remove(ref);
  }

  #replaceInOthers(old: RowRef, ref: RowRef): void {
    for (let index = 0; index < this.#others.length; index++) {
      const other = this.#others[index] as Index;
      other.remove(old);
      other.add(ref);
    }
    this.#wholeRows?.remove(old);
    this.#wholeRows?.add(ref);
    this.#derived?.replace(old, ref);
  }

  /** Undoes one step. States change before indexes do: an index can rebuild itself from states. */
  #undo(came: RowRef, went: RowRef): void {
    const heap = this.#heap;
    const isNew = came !== noRow && heap.stateOf(came) === slotInserted;
    if (came !== noRow) heap.setState(came, isNew ? slotCancelled : slotDeleted);
    if (went !== noRow) this.#reappear(went);
    if (came === noRow) {
      this.#index(went);
      this.rowCount++;
    } else if (went === noRow) {
      this.#unindex(came);
      this.rowCount--;
    } else {
      this.#replaceBack(came, went);
    }
    if (isNew) heap.free(came);
  }

  /** Puts `went` back into the indexes in place of `came`. */
  #replaceBack(came: RowRef, went: RowRef): void {
    const page = this.#heap.pageOf(went);
    const length = this.#heap.lengthOf(went);
    for (let index = 0; index < this.#uniques.length; index++) {
      const unique = this.#uniques[index] as Index;
      if (unique.probe(page, offsetOf(went), length) === came) {
        unique.replaceProbed(went);
      } else {
        unique.remove(came);
        unique.add(went);
      }
    }
    this.#replaceInOthers(came, went);
  }

  #reappear(ref: RowRef): void {
    const isCommitted = this.#heap.stateOf(ref) === slotDeleted;
    this.#heap.setState(ref, isCommitted ? slotCommitted : slotInserted);
  }

  #restoreCleared(cleared: Cleared): void {
    for (const ref of cleared.refs) this.#reappear(rowRef(ref));
    [...this.#uniques, ...this.#others].forEach((index, position) => {
      index.restore(cleared.bodies[position] as IndexBody);
    });
    if (cleared.wholeRows !== undefined) this.#rows().restore(cleared.wholeRows);
    if (cleared.derived !== undefined) this.#derived?.restore(cleared.derived);
    this.rowCount = cleared.rowCount;
  }

  /** Frees deleted rows and commits the rest, copying both to the lists. */
  #settle(lists: RowArena): void {
    const heap = this.#heap;
    for (let step = 0; step < this.#steps.length; step += 2) {
      const came = this.#steps.at(step);
      const went = this.#steps.at(step + 1);
      if (came === clearedStep) {
        for (const ref of (this.#cleared[went] as Cleared).refs) this.#bury(rowRef(ref), lists);
        continue;
      }
      if (came !== noRow && heap.stateOf(came) === slotInserted) {
        lists.insert(heap, came);
        heap.setState(came, slotCommitted);
        this.watcher?.came(came);
      }
      if (went !== noRow) this.#bury(went, lists);
    }
    this.#forget();
  }

  /** A row can be deleted, restored and deleted again: it is freed the first time. */
  #bury(ref: RowRef, lists: RowArena): void {
    const state = this.#heap.stateOf(ref);
    if (state !== slotDeleted && state !== slotCancelled) return;
    if (state === slotDeleted) {
      lists.delete(this.#heap, ref);
      this.watcher?.went(ref);
    }
    this.#held.dismiss(ref);
  }

  #forget(): void {
    this.#steps.clear();
    if (this.#cleared.length > 0) this.#cleared.length = 0;
    this.#graveyard.clear();
    this.#insertCount = 0;
    this.#insertBytes = 0;
    this.#deleteCount = 0;
    this.#deleteBytes = 0;
  }
}

/** `present`: an equal row already exists. `full`: the table has no page number left. */
export type InsertResult = 'inserted' | 'present' | 'conflict' | 'full';

/** The rows removed by `clear` or `removeMany`, and the previous contents of the indexes. */
interface Cleared {
  readonly refs: RowRefs;
  readonly rowCount: number;
  readonly bodies: readonly IndexBody[];
  readonly wholeRows: UniqueBody | undefined;
  readonly derived: ClearedDerived | undefined;
}

/** What finds the rows of one table. */
export interface IndexesOfTable {
  readonly indexes: readonly Index[];
  readonly wholeRows: WholeRowIndex | undefined;
  readonly derived: DerivedIndexes | undefined;
}

/** Stands in for `came`: many rows were removed at once, and `went` numbers that removal. */
const clearedStep = rowRef(-1);

/** Up to this many rows are cleared one by one: new indexes would cost more. */
const singlyClearedMax = 64;
/** From this many rows on, if they exceed this share of all, rows are removed in bulk. */
const jointlyRemovedMin = 10_000;
const jointlyRemovedShare = 0.75;

import { assert } from '../assert.ts';
import type { DerivedBody, DerivedRequest } from './derived-body.ts';
import type { DerivedIndex } from './derived-index.ts';
import { type HeldRows, isOlder, type Moment, type Revocable } from './held-rows.ts';
import { TreeIndex } from './index-tree.ts';
import { parseRange, type RangeRequest } from './key-range.ts';
import { LaterRows } from './later-rows.ts';
import type { PinLedger } from './pin-ledger.ts';
import { RefList } from './ref-list.ts';
import type { RowRef, RowRefs } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';
import { type PinnedRange, PinRevokedError, type TablePin } from './table-pin.ts';

/** See `TablePin`. */
export class PinnedRows implements TablePin, Revocable {
  readonly table: Table;
  readonly rowCount: number;
  readonly #held: HeldRows;
  readonly #ledger: PinLedger;
  readonly #deleted = new Map<Index, DeletedRows>();
  readonly #deletedDerived = new Map<DerivedIndex, DeletedDerived>();
  readonly #found = new RefList();
  /** `undefined` once it is released or revoked. */
  #moment: Moment | undefined;
  #revokedFor: string | undefined;
  readonly #snapshot: Pick<Revocable, 'revoke'> | undefined;

  /** Created by `Table.pin`, or by the snapshot that it is part of. */
  constructor(table: Table, snapshot?: Pick<Revocable, 'revoke'>) {
    this.table = table;
    this.#held = table.held;
    this.#ledger = table.pins;
    this.#snapshot = snapshot;
    this.#moment = this.#held.pin(this, table.rowCount);
    this.rowCount = this.#moment.rowCount;
    if (snapshot !== undefined) return;
    this.#ledger.add(this.#held);
    // If closing pages has cost too much before, this pin is revoked at once, while that costs
    // nothing.
    this.#ledger.keepWithin();
  }

  get isOfSnapshot(): boolean {
    return this.#snapshot !== undefined;
  }

  get heldBytes(): number {
    return this.#moment === undefined ? 0 : this.#held.bytesSince(this.#moment);
  }

  get isValid(): boolean {
    return this.#moment !== undefined;
  }

  get isUnchanged(): boolean {
    return this.#moment !== undefined && this.#held.isStill(this.#moment);
  }

  requireValid(): void {
    this.#valid();
  }

  laterRows(): LaterRows {
    return new LaterRows(this.table, this.#valid());
  }

  /** For images: the rows deleted since, and others, are at these positions of the queue. */
  get deletedSince(): DeletedSince {
    const { start } = this.#valid();
    return { start, end: this.#held.end, at: (position) => this.#held.at(position) };
  }

  nextRow(ref: RowRef): RowRef {
    return this.#held.heap.nextSeen(ref, this.#moment ?? this.#valid());
  }

  has(ref: RowRef): boolean {
    const moment = this.#moment ?? this.#valid();
    return isOlder(ref, moment) && moment.seen[this.#held.heap.stateOf(ref)] === 1;
  }

  lookUp(index: Index, key: Uint8Array, keyLength: number): RowRefs {
    const moment = this.#valid();
    const { table } = this;
    assert(index.table === table, 'the index belongs to the table');
    assert(!table.changes.isTouched, 'a pin is read between transactions');
    const now = index.scanPoint(key, keyLength);
    const deleted = this.#deletedRows(index, moment);
    if (deleted === undefined && areOlder(now, moment)) return now;
    pushOlder(now, moment, this.#found);
    deleted?.collect(key, keyLength, this.#found);
    return this.#found.take();
  }

  scanRange(index: Index, range: RangeRequest): PinnedRange {
    const moment = this.#valid();
    assert(index.table === this.table, 'the index belongs to the table');
    assert(!this.table.changes.isTouched, 'a pin is read between transactions');
    const now = index.scanRange(range);
    const deleted = this.#deletedRows(index, moment);
    if (deleted === undefined && areOlder(now, moment)) return { present: now, deleted: noRefs };
    pushOlder(now, moment, this.#found);
    const present = this.#found.take();
    deleted?.collectRange(range, this.#found);
    return { present, deleted: this.#found.take() };
  }

  search(index: DerivedIndex, request: DerivedRequest): RowRefs | undefined {
    const moment = this.#valid();
    assert(!this.table.changes.isTouched, 'a pin is read between transactions');
    const now = index.search(request);
    if (now === undefined) return undefined;
    const deleted = this.#deletedOf(index, moment);
    if (deleted === undefined && areOlder(now, moment)) return now;
    pushOlder(now, moment, this.#found);
    const isComplete = deleted?.body.collect(request, this.#found) ?? true;
    const refs = this.#found.take();
    return isComplete ? refs : undefined;
  }

  release(): void {
    const moment = this.#moment;
    if (moment === undefined) return;
    this.#moment = undefined;
    for (const { bytes } of this.#deleted.values()) this.#ledger.take(-bytes);
    for (const { bytes } of this.#deletedDerived.values()) this.#ledger.take(-bytes);
    this.#deleted.clear();
    this.#deletedDerived.clear();
    this.#held.unpin(this, moment);
    if (this.isOfSnapshot) this.#ledger.loosen(this.#held);
    else this.#ledger.remove(this.#held);
  }

  revoke(reason: string): void {
    this.#revokedFor = reason;
    // A snapshot is of all tables or of none.
    this.#snapshot?.revoke(reason);
    this.release();
  }

  #valid(): Moment {
    if (this.#moment !== undefined) return this.#moment;
    assert(this.#revokedFor !== undefined, 'a pin is not read after its release');
    throw new PinRevokedError(
      `The statement was stopped during a pause, because ${this.#revokedFor}. Try again, ` +
        'or make it shorter: narrow its WHERE clause or add an index for it',
    );
  }

  /** The rows deleted since the moment, by key; `undefined` while there are none. */
  #deletedRows(index: Index, moment: Moment): DeletedRows | undefined {
    if (this.#held.end === moment.start) return undefined;
    let deleted = this.#deleted.get(index);
    if (deleted === undefined) {
      deleted = new DeletedRows(this.table, index, moment.start);
      this.#deleted.set(index, deleted);
    }
    this.#extend(deleted, moment);
    return deleted;
  }

  /** Like `#deletedRows`, of a derived index. */
  #deletedOf(index: DerivedIndex, moment: Moment): DeletedDerived | undefined {
    if (this.#held.end === moment.start) return undefined;
    let deleted = this.#deletedDerived.get(index);
    if (deleted === undefined) {
      deleted = new DeletedDerived(index.emptyBody(), moment.start);
      this.#deletedDerived.set(index, deleted);
    }
    this.#extend(deleted, moment);
    return deleted;
  }

  #extend(deleted: DeletedBody, moment: Moment): void {
    const before = deleted.bytes;
    deleted.addUpTo(this.#held, moment);
    this.#ledger.take(deleted.bytes - before);
  }
}

/** Rows that left since a moment; among them are some that came after it. */
export interface DeletedSince {
  readonly start: number;
  readonly end: number;
  at(position: number): RowRef;
}

const noRefs: RowRefs = new Int32Array(0);

/** Rows that were deleted since the moment of a pin, in a structure of their own. */
class DeletedBody {
  bytes = 0;
  readonly #rows: Pick<DerivedBody, 'add' | 'bytes'>;
  /** Position in the queue of the first row that is not in the structure. */
  #next: number;

  constructor(rows: Pick<DerivedBody, 'add' | 'bytes'>, start: number) {
    this.#rows = rows;
    this.#next = start;
  }

  /** Adds the rows deleted meanwhile, except rows inserted after the moment. */
  addUpTo(held: HeldRows, moment: Moment): void {
    const { end } = held;
    if (this.#next === end) return;
    for (; this.#next < end; this.#next++) {
      const ref = held.at(this.#next);
      if (isOlder(ref, moment)) this.#rows.add(ref);
    }
    this.bytes = this.#rows.bytes;
  }
}

/** These rows as a derived index has them. */
class DeletedDerived extends DeletedBody {
  readonly body: DerivedBody;

  constructor(body: DerivedBody, start: number) {
    super(body, start);
    this.body = body;
  }
}

/** These rows ordered as in an index. */
class DeletedRows extends DeletedBody {
  readonly #tree: TreeIndex;
  readonly #shape: RowShape;
  readonly #columns: readonly number[];

  constructor({ heap, shape }: Table, { spec }: Index, start: number) {
    const tree = new TreeIndex(heap, shape, spec.columns, 'shared');
    super(tree, start);
    this.#shape = shape;
    this.#columns = spec.columns;
    this.#tree = tree;
  }

  collect(key: Uint8Array, keyLength: number, into: RefList): void {
    this.#tree.collectPoint(key, 0, keyLength, into);
  }

  collectRange(request: RangeRequest, into: RefList): void {
    this.#tree.collectRange(parseRange(request, this.#shape, this.#columns), into);
  }
}

function pushOlder(refs: RowRefs, moment: Moment, into: RefList): void {
  for (let at = 0; at < refs.length; at++) {
    const ref = refs[at] as RowRef;
    if (isOlder(ref, moment)) into.push(ref);
  }
}

function areOlder(refs: RowRefs, moment: Moment): boolean {
  for (let at = 0; at < refs.length; at++) {
    if (!isOlder(refs[at] as RowRef, moment)) return false;
  }
  return true;
}

import { assert, present } from '../assert.ts';
import { limits } from '../limits.ts';
import { RefQueue } from './ref-queue.ts';
import {
  type RowHeap,
  type Sight,
  slotCommitted,
  slotDeleted,
  slotHeld,
  slotHeldCount,
  slotStateCount,
} from './row-heap.ts';
import { noRow, offsetMask, pageShift, type RowRef } from './row-ref.ts';

/**
 * The rows that one table keeps for its pins. The place of a row tells whether it was inserted
 * after a pinned moment; a row deleted since that moment stays in its slot, in a queue:
 *
 * ```
 *  deleted:   before A │ between A and B │ after B
 *             ┌────────┼─────────────────┼─────────┐
 *  queue      │ loose  │     state 6     │ state 7 │ ◀── the next deleted row
 *             └────────┴─────────────────┴─────────┘
 *  moments             A                 B             A sees both parts, B the last one
 * ```
 *
 * Each part has a slot state of its own, so the state of a slot tells which moments see its row.
 * Rows before the oldest moment are *loose*: no pin sees them, and they are freed a few at a time,
 * so that releasing many of them never causes a long pause.
 */
export class HeldRows {
  readonly heap: RowHeap;
  /** True while rows before the oldest moment wait to be freed. */
  hasLoose = false;
  readonly #queue = new RefQueue();
  /** Oldest first. */
  readonly #moments: Moment[] = [];
  /** Parts of the queue, in order; deleted rows are added to the last one. */
  readonly #parts: Part[] = [];
  readonly #freeStates: number[] = [];
  /** Refs below it can belong to rows that a moment saw. */
  #boundary = 0;
  #state = slotHeld;
  /** Bytes of all rows that were ever queued, and of those that were freed since. */
  #queuedBytes = 0;
  #freedBytes = 0;

  constructor(heap: RowHeap) {
    this.heap = heap;
    for (let state = slotStateCount - 1; state >= slotHeld; state--) this.#freeStates.push(state);
  }

  /** True when no row is held and no page closed. */
  get isIdle(): boolean {
    return this.#moments.length === 0 && !this.hasLoose;
  }

  /** Bytes kept for pins, not counting loose rows. */
  get bytes(): number {
    return this.#bytesFrom(this.#moments[0]);
  }

  /** What of `bytes` counts for reads: while a snapshot is taken, closed pages count for it. */
  get readBytes(): number {
    const oldest = this.#moments.find(({ readCount }) => readCount > 0);
    if (this.#snapshotMoment() === undefined) return this.#bytesFrom(oldest);
    return oldest === undefined ? 0 : this.bytesSince(oldest);
  }

  /** What of `bytes` counts for the snapshot. */
  get snapshotBytes(): number {
    return this.#bytesFrom(this.#snapshotMoment());
  }

  /** Bytes of rows that are not visible and not freed yet. */
  get waitingBytes(): number {
    return this.#queuedBytes - this.#freedBytes;
  }

  #bytesFrom(moment: Moment | undefined): number {
    if (moment === undefined) return 0;
    return this.bytesSince(moment) + this.heap.closedBytes + this.#queue.bytes;
  }

  #snapshotMoment(): Moment | undefined {
    return this.#moments.find(({ pins, readCount }) => pins.size > readCount);
  }

  /** Bytes of the rows deleted since the moment. */
  bytesSince(moment: Moment): number {
    return this.#queuedBytes - moment.bytesBefore;
  }

  /** Position that the next queued row gets. */
  get end(): number {
    return this.#queue.end;
  }

  /** The row at a position that is not before the oldest moment. */
  at(position: number): RowRef {
    return this.#queue.at(position);
  }

  /** The oldest pin of a read. */
  get oldestRead(): Revocable | undefined {
    const moment = this.#moments.find(({ readCount }) => readCount > 0);
    for (const pin of moment?.pins ?? []) if (!pin.isOfSnapshot) return pin;
    return undefined;
  }

  /** The current moment, with `pin` among its pins. `rowCount` rows are visible. */
  pin(pin: Revocable, rowCount: number): Moment {
    const newest = this.#moments.at(-1);
    if (newest !== undefined && this.isStill(newest)) {
      newest.pins.add(pin);
      if (!pin.isOfSnapshot) newest.readCount++;
      return newest;
    }
    const state = this.#beginPart();
    this.heap.closePages();
    const moment: Moment = {
      pins: new Set([pin]),
      readCount: pin.isOfSnapshot ? 0 : 1,
      rowCount,
      pageEnd: this.heap.pageEnd,
      tails: this.heap.tails(),
      boundary: boundaryOf(this.heap.pageEnd),
      start: this.#queue.end,
      bytesBefore: this.#queuedBytes,
      seen: new Uint8Array(slotStateCount),
    };
    this.#moments.push(moment);
    for (const earlier of this.#moments) earlier.seen[state] = 1;
    moment.seen[slotCommitted] = 1;
    moment.seen[slotDeleted] = 1;
    this.#boundary = moment.boundary;
    return moment;
  }

  unpin(pin: Revocable, moment: Moment): void {
    assert(moment.pins.delete(pin), 'a pin is released once');
    if (!pin.isOfSnapshot) moment.readCount--;
    if (moment.pins.size > 0) return;
    const at = this.#moments.indexOf(moment);
    this.#moments.splice(at, 1);
    const newest = this.#moments.at(-1);
    if (at === this.#moments.length) {
      this.#boundary = newest?.boundary ?? 0;
      this.heap.openPages(newest?.pageEnd ?? 0);
    }
    this.hasLoose = this.#queue.start < this.#looseEnd();
  }

  /** Removes a row that is no longer visible: frees it, or keeps it for the pins. */
  dismiss(ref: RowRef): void {
    if (ref >= this.#boundary) {
      this.heap.free(ref);
      return;
    }
    this.#queuedBytes += this.heap.slotBytesOf(ref);
    this.heap.setState(ref, this.#state);
    this.#queue.push(ref);
    // Frees two rows for each new one, so that the backlog cannot grow.
    if (this.hasLoose) this.freeLoose(2);
  }

  /** Frees up to `countMax` rows that no pin sees any more, and returns how many it freed. */
  freeLoose(countMax: number): number {
    const { start } = this.#queue;
    const end = this.#looseEnd();
    while (this.#queue.start < end && this.#queue.start - start < countMax) {
      const ref = this.#queue.take();
      this.#freedBytes += this.heap.slotBytesOf(ref);
      this.heap.free(ref);
    }
    this.#endParts();
    this.hasLoose = this.#queue.start < end;
    return this.#queue.start - start;
  }

  /** True if no row was added or removed since the moment. */
  isStill({ start, pageEnd, tails }: Moment): boolean {
    const { heap } = this;
    return this.#queue.end === start && heap.pageEnd === pageEnd && heap.areTails(tails);
  }

  /** Revokes all pins and frees everything. */
  letGo(reason: string): void {
    for (const { pins } of [...this.#moments]) for (const pin of [...pins]) pin.revoke(reason);
    this.freeLoose(Number.POSITIVE_INFINITY);
  }

  /** Where the first moment begins that still has pins. */
  #looseEnd(): number {
    return this.#moments[0]?.start ?? this.#queue.end;
  }

  /** Returns the state of rows deleted from now on. */
  #beginPart(): number {
    const last = this.#parts.at(-1);
    if (last !== undefined && last.start === this.#queue.end) return last.state;
    if (this.#freeStates.length === 0) this.#joinParts();
    this.#state = present(this.#freeStates.pop(), 'a state for each moment that has pins');
    this.#parts.push({ state: this.#state, start: this.#queue.end });
    return this.#state;
  }

  /** Releases the states of emptied parts. */
  #endParts(): void {
    for (let next = this.#parts[1]; next !== undefined; next = this.#parts[1]) {
      if (next.start > this.#queue.start) return;
      this.#freeStates.push(present(this.#parts.shift(), 'the first part').state);
    }
  }

  /** Joins parts that no moment separates any more, which costs a step per row. */
  #joinParts(): void {
    this.freeLoose(Number.POSITIVE_INFINITY);
    for (const { state } of this.#parts.splice(0)) this.#freeStates.push(state);
    this.#moments.forEach((moment, at) => {
      const state = present(this.#freeStates.pop(), 'a state for each moment that has pins');
      this.#parts.push({ state, start: moment.start });
      const end = this.#moments[at + 1]?.start ?? this.#queue.end;
      for (let position = moment.start; position < end; position++) {
        this.heap.setState(this.#queue.at(position), state);
      }
      moment.seen.fill(0, slotHeld);
      for (const earlier of this.#moments.slice(0, at + 1)) earlier.seen[state] = 1;
    });
  }
}

/** A moment at which pins were taken. Only its pins change it. */
export interface Moment extends Sight {
  readonly pins: Set<Revocable>;
  /** How many of them are of reads. */
  readCount: number;
  readonly rowCount: number;
  /** The refs of its rows are below this. */
  readonly boundary: number;
  /** Position in the queue of the first row deleted since. */
  readonly start: number;
  /** Bytes queued before this moment. */
  readonly bytesBefore: number;
}

/** True if the row was inserted before the moment, even if it was gone by then. */
export function isOlder(ref: RowRef, { boundary, tails }: Moment): boolean {
  if (ref >= boundary) return false;
  const tail = tails.get(ref >>> pageShift);
  return tail === undefined || (ref & offsetMask) << 3 < tail;
}

/** A pin, as seen by code that may have to revoke it. */
export interface Revocable {
  /** True if it is one of the pins of a snapshot, which have a bound of their own. */
  readonly isOfSnapshot: boolean;
  revoke(reason: string): void;
}

/** A part of the queue; it ends where the next one starts. */
interface Part {
  readonly state: number;
  readonly start: number;
}

/** The first ref of a page. Not a shift: the result may exceed 31 bits. */
function boundaryOf(page: number): number {
  return page * 2 ** pageShift;
}

assert(boundaryOf(1) > noRow, 'no ref is below the boundary 0');
assert(
  limits.longReadsMax + 1 + limits.pausedSetsMax + 1 + limits.exportsMax < slotHeldCount,
  'every read that pauses, one write, a snapshot and exports may have a moment of their own',
);

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
 * What one table keeps for its pins. A row that came after a pinned moment is told by its place
 * from one that was there; a row that was deleted since stays in its slot, in a queue:
 *
 * ```
 *  deleted:   before A │ between A and B │ after B
 *             ┌────────┼─────────────────┼─────────┐
 *  queue      │ loose  │     state 6     │ state 7 │ ◀── the next row that is deleted
 *             └────────┴─────────────────┴─────────┘
 *  moments             A                 B             A sees both parts, B the last one
 * ```
 *
 * All rows of one part are in one state of their own, so the state of a slot says which moments saw
 * its row. Rows before the oldest moment are *loose*: no pin sees them, and they are freed piece by
 * piece, so that letting go of many never takes long.
 */
export class HeldRows {
  readonly heap: RowHeap;
  /** Rows before the oldest moment wait to be freed. */
  hasLoose = false;
  readonly #queue = new RefQueue();
  /** Oldest first. */
  readonly #moments: Moment[] = [];
  /** Parts of the queue, in its order; the last one is where rows go now. */
  readonly #parts: Part[] = [];
  readonly #freeStates: number[] = [];
  /** Refs below it may be of rows that a moment saw. */
  #boundary = 0;
  #state = slotHeld;
  /** Bytes of all rows that ever went into the queue. */
  #queuedBytes = 0;

  constructor(heap: RowHeap) {
    this.heap = heap;
    for (let state = slotStateCount - 1; state >= slotHeld; state--) this.#freeStates.push(state);
  }

  /** True when no row is held and no page closed. */
  get isIdle(): boolean {
    return this.#moments.length === 0 && !this.hasLoose;
  }

  /** Bytes that are kept for pins; loose rows are not. */
  get bytes(): number {
    const [oldest] = this.#moments;
    if (oldest === undefined) return 0;
    return this.bytesSince(oldest) + this.heap.closedBytes + this.#queue.bytes;
  }

  /** Bytes of the rows that were deleted since the moment. */
  bytesSince(moment: Moment): number {
    return this.#queuedBytes - moment.bytesBefore;
  }

  /** Position in the queue that the next row gets. */
  get end(): number {
    return this.#queue.end;
  }

  /** The row at a position that is not before any moment. */
  at(position: number): RowRef {
    return this.#queue.at(position);
  }

  /** The pin that came first. */
  get oldestPin(): Revocable | undefined {
    const [first] = this.#moments[0]?.pins ?? [];
    return first;
  }

  /** The present moment, with `pin` among its pins. `rowCount` rows are visible. */
  pin(pin: Revocable, rowCount: number): Moment {
    const newest = this.#moments.at(-1);
    if (newest !== undefined && this.isStill(newest)) {
      newest.pins.add(pin);
      return newest;
    }
    const state = this.#beginPart();
    this.heap.closePages();
    const moment: Moment = {
      pins: new Set([pin]),
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

  /** Takes a row out that is not visible any more: frees it, or keeps it for the pins. */
  dismiss(ref: RowRef): void {
    if (ref >= this.#boundary) {
      this.heap.free(ref);
      return;
    }
    this.#queuedBytes += this.heap.slotBytesOf(ref);
    this.heap.setState(ref, this.#state);
    this.#queue.push(ref);
    // Twice as fast as rows come, so what waits cannot pile up.
    if (this.hasLoose) this.freeLoose(2);
  }

  /** Frees rows that no pin sees any more, up to so many, and returns how many it could free. */
  freeLoose(countMax: number): number {
    const { start } = this.#queue;
    const end = this.#looseEnd();
    while (this.#queue.start < end && this.#queue.start - start < countMax) {
      this.heap.free(this.#queue.take());
    }
    this.#endParts();
    this.hasLoose = this.#queue.start < end;
    return this.#queue.start - start;
  }

  /** True when nothing came or went since the moment. */
  isStill({ start, pageEnd, tails }: Moment): boolean {
    const { heap } = this;
    return this.#queue.end === start && heap.pageEnd === pageEnd && heap.areTails(tails);
  }

  /** Revokes all pins and frees everything. */
  letGo(reason: string): void {
    for (let pin = this.oldestPin; pin !== undefined; pin = this.oldestPin) pin.revoke(reason);
    this.freeLoose(Number.POSITIVE_INFINITY);
  }

  /** Where the first moment begins that still has pins. */
  #looseEnd(): number {
    return this.#moments[0]?.start ?? this.#queue.end;
  }

  /** The state of rows that are deleted from now on. */
  #beginPart(): number {
    const last = this.#parts.at(-1);
    if (last !== undefined && last.start === this.#queue.end) return last.state;
    if (this.#freeStates.length === 0) this.#joinParts();
    this.#state = present(this.#freeStates.pop(), 'a state for each moment that has pins');
    this.#parts.push({ state: this.#state, start: this.#queue.end });
    return this.#state;
  }

  /** Gives the states of emptied parts back. */
  #endParts(): void {
    for (let next = this.#parts[1]; next !== undefined; next = this.#parts[1]) {
      if (next.start > this.#queue.start) return;
      this.#freeStates.push(present(this.#parts.shift(), 'the first part').state);
    }
  }

  /** Makes one part of those that no moment parts any more, which costs a step for each row. */
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

/** When pins were taken. Nothing changes it but its pins. */
export interface Moment extends Sight {
  readonly pins: Set<Revocable>;
  readonly rowCount: number;
  /** The refs of its rows are smaller. */
  readonly boundary: number;
  /** Position in the queue of the first row that was deleted since. */
  readonly start: number;
  /** Bytes that had gone into the queue before. */
  readonly bytesBefore: number;
}

/** True when the row came before the moment, whether it was still there or not. */
export function isOlder(ref: RowRef, { boundary, tails }: Moment): boolean {
  if (ref >= boundary) return false;
  const tail = tails.get(ref >>> pageShift);
  return tail === undefined || (ref & offsetMask) << 3 < tail;
}

/** A pin, for those who may have to take it away. */
export interface Revocable {
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
  limits.longReadsMax + 1 + limits.pausedSetsMax < slotHeldCount,
  'every read that pauses, and one write, may have a moment of its own',
);

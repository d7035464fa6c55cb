import type { Progress } from '../../database/progress.ts';
import type { ScheduledMark } from '../../database/schedules/scheduled-mark.ts';
import { noTicket, type Ticket } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { tableId } from '../../schema/ids.ts';

/** What a worker is doing, as seen by the thread that watches it. */
export type Phase = 'resting' | 'calling' | 'loading' | 'writing' | 'viewing' | 'lending';

const phases: readonly Phase[] = ['resting', 'calling', 'loading', 'writing', 'viewing', 'lending'];

/**
 * A few words of memory that an actor writes and its watcher reads, even while the actor is busy
 * and after it has died. Threads share the memory; a process has `board-file.ts`. Each word is 32
 * bits:
 *
 * ```
 * 0  phase
 * 1  ticket of the request that runs (phases `calling` and `viewing`), modulo 2^32
 * 2  counts every change of phase: the same value twice means the same thing is still going on; a
 *    view belongs to the call that needs it, so its beginning and its end do not count
 * 3  requests up to this ticket were, or are being, written
 * 4  messages taken from the gateway
 * 5  mebibytes of rows and indexes, reported now and then
 * 6  mebibytes that the actor held in all, reported now and then while it runs no call
 * 7  number of the actor's thread for the operating system; 0 = unknown
 * 8  1 while a scheduled run is under way, whose mark follows (phases `calling` and `viewing`)
 * 9  id of its table
 * 10 its key, the lower half first
 * 12 the time it was due, likewise
 * 14 lanes that run a procedure
 * 15 messages sent by the gateway, where it shares the memory
 * 16 tickets of the last four updates of which the gateway wants no result any more; only it writes
 *    here
 * ```
 */
export class Board implements Progress {
  readonly buffer: ArrayBufferLike;
  readonly #words: Int32Array;
  /** Where the next one of the gateway goes. */
  #abandoned = 0;

  constructor(buffer: ArrayBufferLike = new SharedArrayBuffer(boardBytes)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** Before the worker starts: requests up to `ticket` belong to an earlier one. */
  startAfter(ticket: Ticket): void {
    Atomics.store(this.#words, 3, ticket | 0);
  }

  calling(ticket: Ticket): void {
    Atomics.store(this.#words, 1, ticket | 0);
    Atomics.store(this.#words, 8, 0);
    this.#enter(1);
  }

  scheduled(mark: ScheduledMark): void {
    // No mark is read while it is half of another one.
    Atomics.store(this.#words, 8, 0);
    Atomics.store(this.#words, 9, mark.tableId | 0);
    this.#storeWide(10, mark.key);
    this.#storeWide(12, mark.dueMicros);
    Atomics.store(this.#words, 1, noTicket | 0);
    Atomics.store(this.#words, 8, 1);
    this.#enter(1);
  }

  /** Marks the start of a view within a call, whose ticket stays. */
  viewing(): void {
    Atomics.store(this.#words, 0, 4);
  }

  viewed(): void {
    Atomics.store(this.#words, 0, 1);
  }

  lending(): void {
    this.#enter(5);
  }

  loading(): void {
    this.#enter(2);
  }

  writing(ticket: Ticket): void {
    Atomics.store(this.#words, 3, ticket | 0);
    this.#enter(3);
  }

  resting(): void {
    this.#enter(0);
  }

  tookMessage(): void {
    Atomics.add(this.#words, 4, 1);
  }

  sentMessage(): void {
    Atomics.add(this.#words, 15, 1);
  }

  isAwaited(): boolean {
    return Atomics.load(this.#words, 15) !== Atomics.load(this.#words, 4);
  }

  abandon(ticket: Ticket): void {
    Atomics.store(this.#words, firstAbandoned + this.#abandoned, ticket | 0);
    this.#abandoned = (this.#abandoned + 1) % abandonedCount;
  }

  isAbandoned(ticket: Ticket): boolean {
    for (let at = 0; at < abandonedCount; at++) {
      if (Atomics.load(this.#words, firstAbandoned + at) === (ticket | 0)) return true;
    }
    return false;
  }

  holds(bytes: number): void {
    Atomics.store(this.#words, 5, Math.round(bytes / mebibyte));
  }

  keeps(bytes: number): void {
    Atomics.store(this.#words, 6, Math.round(bytes / mebibyte));
  }

  runsOn(systemThreadId: number): void {
    Atomics.store(this.#words, 7, systemThreadId);
  }

  runsProcedures(count: number): void {
    Atomics.store(this.#words, 14, count);
  }

  get phase(): Phase {
    return phases[Atomics.load(this.#words, 0)] ?? 'resting';
  }

  /** The lower 32 bits of a ticket, as `ticket | 0` gives them. */
  get running(): number {
    return Atomics.load(this.#words, 1);
  }

  /** The scheduled run that is under way. */
  get mark(): ScheduledMark | undefined {
    const { phase } = this;
    if (phase !== 'calling' && phase !== 'viewing') return undefined;
    if (Atomics.load(this.#words, 8) !== 1) return undefined;
    return {
      tableId: tableId(Atomics.load(this.#words, 9) >>> 0),
      key: BigInt.asUintN(64, this.#loadWide(10)),
      dueMicros: BigInt.asIntN(64, this.#loadWide(12)),
    };
  }

  get changes(): number {
    return Atomics.load(this.#words, 2);
  }

  /** True when requests up to `ticket` were being written, or were written. */
  reached(ticket: Ticket): boolean {
    return ((Atomics.load(this.#words, 3) - ticket) | 0) >= 0;
  }

  get messagesTaken(): number {
    return Atomics.load(this.#words, 4);
  }

  get heldBytes(): number {
    return Atomics.load(this.#words, 5) * mebibyte;
  }

  get keptBytes(): number {
    return Atomics.load(this.#words, 6) * mebibyte;
  }

  get systemThreadId(): number {
    return Atomics.load(this.#words, 7);
  }

  /** How many lanes run a procedure. */
  get procedures(): number {
    const count = Atomics.load(this.#words, 14);
    return Math.min(Math.max(count, 0), limits.databaseLanesMax);
  }

  /** 64 bits in two words. */
  #storeWide(at: number, value: bigint): void {
    Atomics.store(this.#words, at, Number(BigInt.asIntN(32, value)));
    Atomics.store(this.#words, at + 1, Number(BigInt.asIntN(32, value >> 32n)));
  }

  #loadWide(at: number): bigint {
    const low = BigInt(Atomics.load(this.#words, at) >>> 0);
    return (BigInt(Atomics.load(this.#words, at + 1)) << 32n) | low;
  }

  #enter(phase: number): void {
    Atomics.store(this.#words, 0, phase);
    Atomics.add(this.#words, 2, 1);
  }
}

const firstAbandoned = 16;
const abandonedCount = 4;

/** Bytes that an actor writes, before those that the gateway writes. */
export const actorBoardBytes = 4 * firstAbandoned;
/** Bytes of a board. */
export const boardBytes = actorBoardBytes + 4 * abandonedCount;

const mebibyte = 1024 * 1024;

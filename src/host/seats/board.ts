import type { Progress } from '../../database/progress.ts';
import type { Ticket } from '../../database/ticket.ts';

/** What a worker is doing, as seen by the thread that watches it. */
export type Phase = 'resting' | 'calling' | 'loading' | 'writing' | 'viewing';

const phases: readonly Phase[] = ['resting', 'calling', 'loading', 'writing', 'viewing'];

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
 * ```
 */
export class Board implements Progress {
  readonly buffer: ArrayBufferLike;
  readonly #words: Int32Array;

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
    this.#enter(1);
  }

  /** Marks the start of a view within a call, whose ticket stays. */
  viewing(): void {
    Atomics.store(this.#words, 0, 4);
  }

  viewed(): void {
    Atomics.store(this.#words, 0, 1);
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

  holds(bytes: number): void {
    Atomics.store(this.#words, 5, Math.round(bytes / mebibyte));
  }

  keeps(bytes: number): void {
    Atomics.store(this.#words, 6, Math.round(bytes / mebibyte));
  }

  runsOn(systemThreadId: number): void {
    Atomics.store(this.#words, 7, systemThreadId);
  }

  get phase(): Phase {
    return phases[Atomics.load(this.#words, 0)] ?? 'resting';
  }

  /** The lower 32 bits of a ticket, as `ticket | 0` gives them. */
  get running(): number {
    return Atomics.load(this.#words, 1);
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

  #enter(phase: number): void {
    Atomics.store(this.#words, 0, phase);
    Atomics.add(this.#words, 2, 1);
  }
}

/** Bytes of a board. */
export const boardBytes = 32;

const mebibyte = 1024 * 1024;

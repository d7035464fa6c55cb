import type { CommitOffset } from '../../database/outcome.ts';
import { type WriteNumber, writeNumber } from '../../database/write-number.ts';

/** A reply or event that may rest on records which are not durable yet. */
interface Held {
  /** Write of the actor that it rests on. */
  readonly write: WriteNumber;
  /** Offset that a reopened database must have reached for it to be true. */
  readonly offset: CommitOffset;
  readonly release: () => void;
  readonly fail: () => void;
  /** When its request was accepted, by the monotonic clock. Absent: it waits without an end. */
  readonly acceptedAt?: number;
  /** Answers those who wait for it, before anybody knows what comes of it. */
  readonly expire?: () => void;
}

/**
 * Holds replies back until all that they may rest on is durable. It lives on the gateway's side of
 * the handle, so that the end of a worker loses no outcome that was handed over.
 *
 * Each actor counts its writes from one: `reopened` settles what an earlier actor left.
 */
export class Outbox {
  #held: Held[] = [];
  #durableWrite = writeNumber(0);

  get size(): number {
    return this.#held.length;
  }

  /** Calls `release` at once or when `write` is durable, or `fail` when it is lost. */
  hold(held: Held): void {
    if (held.write <= this.#durableWrite) held.release();
    else this.#held.push(held);
  }

  durable(write: WriteNumber): void {
    this.#durableWrite = write;
    const held = this.#held;
    let count = 0;
    while (count < held.length && (held[count]?.write ?? Number.POSITIVE_INFINITY) <= write) {
      count += 1;
    }
    if (count === 0) return;
    this.#held = held.slice(count);
    for (let at = 0; at < count; at++) held[at]?.release();
  }

  /**
   * A new actor recovered the log up to `offset`, all of it durable: what was handed over before
   * the crash and is in the log is released, the rest is lost.
   */
  reopened(offset: CommitOffset): void {
    const held = this.#held;
    this.#held = [];
    this.#durableWrite = writeNumber(0);
    for (const one of held) {
      if (one.offset <= offset) one.release();
      else one.fail();
    }
  }

  /** Answers those whose requests were accepted before a time; returns how many that were. */
  expire(acceptedBefore: number): number {
    let count = 0;
    for (const { acceptedAt, expire } of this.#held) {
      if (acceptedAt === undefined || acceptedAt >= acceptedBefore) continue;
      expire?.();
      count += 1;
    }
    return count;
  }

  /** Fails everything held, because there will be no other actor. */
  failAll(): void {
    const held = this.#held;
    this.#held = [];
    for (const one of held) one.fail();
  }
}

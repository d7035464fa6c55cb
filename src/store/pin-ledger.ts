import { limits } from '../limits.ts';
import type { HeldRows } from './held-rows.ts';

/** The pins of all tables of a store. Those of reads share one bound on what they hold. */
export class PinLedger {
  readonly #bytesMax: number;
  /** The number of pins of reads, by table. */
  readonly #pinned = new Map<HeldRows, number>();
  /** Tables where rows wait to be freed. */
  readonly #loose = new Set<HeldRows>();
  /** Bytes in addition to the rows: structures built by pins to look rows up. */
  #besideBytes = 0;
  /** True once somebody calls `freeLoose` now and then. */
  #hasOwner = false;

  constructor(bytesMax: number = limits.sqlHeldBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes kept for pins of reads. */
  get heldBytes(): number {
    let total = this.#besideBytes;
    for (const held of this.#pinned.keys()) total += held.readBytes;
    return total;
  }

  add(held: HeldRows): void {
    this.#pinned.set(held, (this.#pinned.get(held) ?? 0) + 1);
  }

  remove(held: HeldRows): void {
    const count = this.#pinned.get(held) ?? 0;
    if (count > 1) this.#pinned.set(held, count - 1);
    else this.#pinned.delete(held);
    this.loosen(held);
    this.#free(looseRowsAtOnce);
  }

  /** Called after a pin of the table was released. */
  loosen(held: HeldRows): void {
    if (held.hasLoose) this.#loose.add(held);
  }

  /** True while rows wait to be freed. */
  get hasLoose(): boolean {
    return this.#loose.size > 0;
  }

  /** Frees some of the rows that no pin sees any more, which takes about half a millisecond. */
  freeLoose(): void {
    this.#hasOwner = true;
    this.#free(looseRowsAtOnce);
  }

  #free(countMax: number): void {
    let left = countMax;
    for (const held of this.#loose) {
      left -= held.freeLoose(left);
      if (!held.hasLoose) this.#loose.delete(held);
      if (left === 0) return;
    }
  }

  /** Called after a commit. A turn can have many, and its owner frees rows, too. */
  settle(): void {
    this.keepWithin();
    if (this.hasLoose) this.#free(this.#hasOwner ? looseRowsOfCommit : looseRowsAtOnce);
  }

  /** Counts bytes that a pin takes, or gives back, in addition to the rows. */
  take(bytes: number): void {
    this.#besideBytes += bytes;
  }

  /**
   * Revokes pins of reads until the held bytes are within the limit: always the oldest pin of the
   * table that holds most.
   */
  keepWithin(): void {
    while (this.#pinned.size > 0 && this.heldBytes > this.#bytesMax) {
      this.#largest()?.oldestRead?.revoke(
        `more than ${this.#bytesMax} bytes of rows that changed meanwhile were kept for reads`,
      );
    }
  }

  #largest(): HeldRows | undefined {
    let largest: HeldRows | undefined;
    for (const held of this.#pinned.keys()) {
      if (largest === undefined || held.readBytes > largest.readBytes) largest = held;
    }
    return largest;
  }
}

const looseRowsAtOnce = 4_096;
const looseRowsOfCommit = 16;

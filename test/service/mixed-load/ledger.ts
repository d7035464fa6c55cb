import { entryCount, zoneCount } from './sizes.ts';

/** What the service has acknowledged, so that it can be compared with what is there. */
export class Ledger {
  /** Changes of each item. */
  readonly changes: Uint32Array;
  /** Changes of all items of a zone. */
  readonly changesOfZone = new Uint32Array(zoneCount);
  /** Entries that were added and that nobody was asked to remove: a queue from `#oldest` on. */
  #entries: number[] = [];
  #oldest = 0;
  #lastEntry = 0;

  constructor(itemCount: number) {
    this.changes = new Uint32Array(itemCount);
  }

  get itemCount(): number {
    return this.changes.length;
  }

  get entries(): readonly number[] {
    return this.#entries.slice(this.#oldest);
  }

  changed(id: number): void {
    const zone = id % zoneCount;
    this.changes[id] = (this.changes[id] ?? 0) + 1;
    this.changesOfZone[zone] = (this.changesOfZone[zone] ?? 0) + 1;
  }

  /** An id that no entry has had. */
  newEntry(): number {
    this.#lastEntry += 1;
    return this.#lastEntry;
  }

  added(id: number): void {
    this.#entries.push(id);
  }

  /** The entry to remove next; `undefined`: one more may be added. */
  takeEntry(): number | undefined {
    if (this.#entries.length - this.#oldest < entryCount) return undefined;
    const id = this.#entries[this.#oldest];
    this.#oldest += 1;
    if (this.#oldest > entryCount) {
      this.#entries = this.#entries.slice(this.#oldest);
      this.#oldest = 0;
    }
    return id;
  }
}

import { limits } from '../limits.ts';
import type { StoredEntry } from './shared-log.ts';

/**
 * The newest entries that a leader stored, as many as it may keep: what an engine lost is among
 * them.
 */
export class KeptEntries {
  readonly #entries: StoredEntry[] = [];
  #bytes = 0;

  add(entry: StoredEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes.length;
    const { keptEntriesMax, keptEntryBytesMax } = limits;
    while (this.#entries.length > keptEntriesMax || this.#bytes > keptEntryBytesMax) {
      if (this.#entries.length <= 1) return;
      this.#bytes -= this.#entries.shift()?.bytes.length ?? 0;
    }
  }

  at(seq: number): StoredEntry | undefined {
    const first = this.#entries[0];
    return first === undefined ? undefined : this.#entries[seq - first.seq];
  }
}

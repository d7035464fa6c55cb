import { limits } from '../limits.ts';
import { TableImages } from './derived-images.ts';
import { PinnedRows } from './pinned-rows.ts';
import type { Table } from './table.ts';
import type { TablePin } from './table-pin.ts';

/**
 * The rows of all tables at one moment, for a snapshot. Like any pins they do not disturb a write;
 * what they hold has a bound of its own, which their owner keeps: it looks at `heldBytes` after
 * writes, and releases the pins when that is beyond `heldBytesMax`.
 *
 * They are *revoked*, all of them, when the schema changes, or when a full table needs the space.
 */
export class SnapshotPins {
  /** Tables with rows, those with the most bytes last. */
  readonly tables: readonly TablePin[];
  /** Those of them that have derived indexes; their pins are needed until these are written. */
  readonly images: readonly TableImages[];
  /** Bytes of the rows, in their slots. */
  readonly rowBytes: number;
  readonly heldBytesMax: number;
  #revokedFor: string | undefined;

  /** Created by `Store.pinAll`. */
  constructor(tables: Iterable<Table>, heldBytesMin: number = limits.snapshotHeldBytesMin) {
    // What large tables keep counts longest, so the small ones are read, and let go, first.
    const withRows = [...tables].filter(({ rowCount }) => rowCount > 0);
    withRows.sort((a, b) => a.heap.usedBytes - b.heap.usedBytes);
    this.rowBytes = withRows.reduce((sum, { heap }) => sum + heap.usedBytes, 0);
    this.heldBytesMax = Math.max(heldBytesMin, this.rowBytes * limits.snapshotHeldShareMax);
    const pins = withRows.map((table) => new PinnedRows(table, this));
    this.tables = pins;
    const indexed = pins.filter(({ table }) => table.derivedIndexes.length > 0);
    this.images = indexed.map((pin) => new TableImages(pin));
  }

  /** Why they were revoked; `undefined` while they are not. */
  get revokedFor(): string | undefined {
    return this.#revokedFor;
  }

  /** Bytes kept for those that are not released. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { isValid, table } of this.tables) if (isValid) bytes += table.held.snapshotBytes;
    for (const { pin, bytes: beside } of this.images) if (pin.isValid) bytes += beside;
    return bytes;
  }

  /** Releases all; calling it again does nothing. */
  release(): void {
    for (const images of this.images) images.end();
    for (const pin of this.tables) pin.release();
  }

  /** Called by a pin that is revoked. */
  revoke(reason: string): void {
    this.#revokedFor ??= reason;
    this.release();
  }
}

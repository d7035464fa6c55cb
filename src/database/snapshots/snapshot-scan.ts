import { limits } from '../../limits.ts';
import type { SnapshotBlock } from '../../log/snapshot.ts';
import { noRow, pageShift, type RowRef } from '../../store/row-ref.ts';
import type { SnapshotPins } from '../../store/snapshot-pins.ts';
import type { TablePin } from '../../store/table-pin.ts';

export interface ScanTarget {
  /** True while there is room for another block. */
  readonly hasRoom: boolean;
  /** The buffer is handed over. */
  add(block: SnapshotBlock): void;
  /** A buffer of `limits.snapshotBlockBytes` to fill, if one came back. */
  takeBuffer(): ArrayBuffer | undefined;
}

/**
 * Reads the pinned rows of all tables into blocks, a slice at a time. The pins of a table are
 * released when its last row is read.
 */
export class SnapshotScan {
  readonly #pins: SnapshotPins;
  readonly #target: ScanTarget;
  readonly #now: () => number;
  #at = 0;
  #ref: RowRef = noRow;
  #block: Uint8Array<ArrayBuffer> | undefined;
  #end = 0;
  #rowsInBlock = 0;
  #rowCount = 0;

  constructor(pins: SnapshotPins, target: ScanTarget, now: () => number) {
    this.#pins = pins;
    this.#target = target;
    this.#now = now;
  }

  /** Rows that were read. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /**
   * Reads until this time; looks at the clock every few rows, and at each page, which can be nearly
   * empty. `waiting`: there is no room for another block. `done`: all blocks were added.
   */
  readUntil(end: number): 'paused' | 'waiting' | 'done' {
    for (;;) {
      const pin = this.#pins.tables[this.#at];
      if (pin === undefined) return 'done';
      if (!this.#target.hasRoom) return 'waiting';
      if (this.#readSome(pin)) this.#endTable(pin);
      if (this.#now() >= end) return this.#at < this.#pins.tables.length ? 'paused' : 'done';
    }
  }

  /** Until the next look at the clock; true at the end of the table. */
  #readSome(pin: TablePin): boolean {
    const { table } = pin;
    const page = this.#ref >>> pageShift;
    for (let left = limits.snapshotLookRows; left > 0; left--) {
      const next = pin.nextRow(this.#ref);
      if (next === noRow) return true;
      const length = table.lengthOf(next);
      let block = this.#block;
      if (block !== undefined && this.#end + length > block.length) {
        this.#flush(pin);
        // The row is read again when there is room.
        if (!this.#target.hasRoom) return false;
        block = undefined;
      }
      block ??= this.#begin(length);
      this.#end += table.copyRow(next, block, this.#end);
      this.#rowsInBlock++;
      this.#rowCount++;
      this.#ref = next;
      if (next >>> pageShift !== page) return false;
    }
    return false;
  }

  #begin(length: number): Uint8Array<ArrayBuffer> {
    const { snapshotBlockBytes } = limits;
    const buffer =
      length > snapshotBlockBytes
        ? new ArrayBuffer(length)
        : (this.#target.takeBuffer() ?? new ArrayBuffer(snapshotBlockBytes));
    this.#block = new Uint8Array(buffer);
    return this.#block;
  }

  #flush({ table }: TablePin): void {
    const block = this.#block;
    if (block === undefined) return;
    const bytes = block.subarray(0, this.#end);
    const rows = { bytes, count: this.#rowsInBlock };
    this.#target.add({ kind: 'rows', tableId: table.id, rows });
    this.#block = undefined;
    this.#end = 0;
    this.#rowsInBlock = 0;
  }

  #endTable(pin: TablePin): void {
    this.#flush(pin);
    pin.release();
    this.#ref = noRow;
    this.#at++;
  }
}

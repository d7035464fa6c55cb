import { limits } from '../../limits.ts';
import type { TableImages } from '../../store/derived-images.ts';
import { noRow, pageShift, type RowRef } from '../../store/row-ref.ts';
import type { SnapshotPins } from '../../store/snapshot-pins.ts';
import type { TablePin } from '../../store/table-pin.ts';
import { ImageScan } from './image-scan.ts';
import type { ScanTarget } from './scan-target.ts';

/**
 * Reads the pinned rows of all tables into blocks, a slice at a time, and then writes the images of
 * their derived indexes. The pin of a table is released when its last row is read, or its last
 * image was written.
 */
export class SnapshotScan {
  readonly #pins: SnapshotPins;
  readonly #target: ScanTarget;
  readonly #now: () => number;
  readonly #images: ImageScan;
  /** Of the table that is read. */
  #noted: TableImages | undefined;
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
    this.#images = new ImageScan(pins.images, target);
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
    while (!this.#isDone) {
      const pin = this.#pins.tables[this.#at];
      if (!this.#target.hasRoom) return 'waiting';
      if (pin === undefined) this.#images.writeSome();
      else if (this.#readSome(pin)) this.#endTable(pin);
      if (this.#now() >= end) return this.#isDone ? 'done' : 'paused';
    }
    return 'done';
  }

  /** Writes no more images, and releases what is kept for them alone. */
  dropImages(): void {
    if (this.#images.isDone) return;
    this.#images.drop();
    this.#noted = undefined;
    for (const pin of this.#pins.tables.slice(0, this.#at)) pin.release();
  }

  get #isDone(): boolean {
    return this.#at === this.#pins.tables.length && this.#images.isDone;
  }

  /** Until the next look at the clock; true at the end of the table. */
  #readSome(pin: TablePin): boolean {
    const { table } = pin;
    if (this.#ref === noRow) this.#noted = this.#images.of(pin);
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
      this.#noted?.note(next);
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
    if (this.#images.of(pin) === undefined) pin.release();
    this.#ref = noRow;
    this.#at++;
  }
}

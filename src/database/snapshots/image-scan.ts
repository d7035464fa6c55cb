import { limits } from '../../limits.ts';
import type { IndexImage, TableImages } from '../../store/derived-images.ts';
import { ImageWriter } from '../../store/image-bytes.ts';
import type { TablePin } from '../../store/table-pin.ts';
import type { ScanTarget } from './scan-target.ts';

/**
 * Writes the images of derived indexes into blocks, behind all rows, a few entries at a time. The
 * pin of a table is released with its last image.
 */
export class ImageScan {
  readonly #target: ScanTarget;
  /** The first one is written; its table was read. */
  #tables: readonly TableImages[];
  #at = 0;
  #into: ImageWriter | undefined;

  constructor(tables: readonly TableImages[], target: ScanTarget) {
    this.#tables = tables;
    this.#target = target;
  }

  get isDone(): boolean {
    return this.#tables.length === 0;
  }

  /** The images of a table that are to be written. */
  of(pin: TablePin): TableImages | undefined {
    return this.#tables.find((table) => table.pin === pin);
  }

  /** Writes no more; the pins are left to the caller. */
  drop(): void {
    for (const table of this.#tables) table.end();
    this.#tables = [];
    this.#into = undefined;
  }

  /** Until the next look at the clock; the target has room. */
  writeSome(): void {
    const [table] = this.#tables;
    const image = table?.images[this.#at];
    if (table === undefined) return;
    if (image === undefined) {
      table.pin.release();
      this.#tables = this.#tables.slice(1);
      this.#at = 0;
    } else if (image.isOfNow) {
      this.#write(image);
    } else {
      // The table was emptied: what was written has no end, and is not used.
      this.#next();
    }
  }

  #write(image: IndexImage): void {
    const { snapshotBlockBytes, snapshotLookEntries } = limits;
    const buffer = () => this.#target.takeBuffer() ?? new ArrayBuffer(snapshotBlockBytes);
    this.#into ??= new ImageWriter(buffer());
    const part = image.write(this.#into, snapshotLookEntries);
    if (part === 'more') return;
    const { tableId, indexId } = image;
    const bytes = this.#into.bytes();
    this.#into = undefined;
    this.#target.add({ kind: 'derived', tableId, piece: { indexId, part, bytes } });
    if (part === 'end') this.#next();
  }

  #next(): void {
    this.#at++;
    this.#into = undefined;
  }
}

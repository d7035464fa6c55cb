import { present } from '../../../src/assert.ts';
import type { TableId } from '../../../src/schema/ids.ts';
import type { ImagePart, IndexImage, TableImages } from '../../../src/store/derived-images.ts';
import type { ImagePiece } from '../../../src/store/derived-loads.ts';
import { HashPairs } from '../../../src/store/hash-pairs.ts';
import { ImageWriter } from '../../../src/store/image-bytes.ts';
import { InvertedIndex } from '../../../src/store/inverted-index.ts';
import { noRow, type RowRef } from '../../../src/store/row-ref.ts';
import type { SnapshotPins } from '../../../src/store/snapshot-pins.ts';
import { Store } from '../../../src/store/store.ts';
import type { Table } from '../../../src/store/table.ts';
import { TextBody } from '../../../src/store/text-body.ts';
import { readRow } from './tables.ts';

/** A snapshot of one table with derived indexes, as a scan takes it: rows first, then images. */
export class ImageReading {
  readonly pins: SnapshotPins;
  /** The rows of the moment, in their order. */
  readonly rows: Uint8Array[] = [];
  readonly pieces: ImagePiece[] = [];
  readonly #images: TableImages;
  readonly #pieceBytes: number;
  #ref: RowRef = noRow;
  #image = 0;
  #into: ImageWriter | undefined;
  #hasRows = false;

  constructor(store: Store, pieceBytes: number) {
    this.pins = store.pinAll();
    const [images] = this.pins.images;
    this.#images = images as TableImages;
    this.#pieceBytes = pieceBytes;
  }

  /** False once there is nothing left. */
  step(countMax: number): boolean {
    if (!this.#hasRows) {
      for (let left = countMax; left > 0 && !this.#hasRows; left--) this.#readRow();
      return true;
    }
    const image = this.#images.images[this.#image];
    if (image === undefined) {
      this.pins.release();
      return false;
    }
    this.#write(image, countMax);
    return true;
  }

  #readRow(): void {
    const { pin } = this.#images;
    this.#ref = pin.nextRow(this.#ref);
    this.#hasRows = this.#ref === noRow;
    if (this.#hasRows) return;
    this.#images.note(this.#ref);
    const bytes = new Uint8Array(pin.table.lengthOf(this.#ref));
    pin.table.copyRow(this.#ref, bytes, 0);
    this.rows.push(bytes);
  }

  #write(image: IndexImage, countMax: number): void {
    if (!image.isOfNow) {
      this.#into = undefined;
      this.#image++;
      return;
    }
    this.#into ??= new ImageWriter(new ArrayBuffer(this.#pieceBytes));
    const part: ImagePart | 'more' = image.write(this.#into, countMax);
    if (part === 'more') return;
    this.pieces.push({ indexId: image.indexId, part, bytes: this.#into.bytes() });
    this.#into = undefined;
    if (part === 'end') this.#image++;
  }
}

/** The table of a reading in a store of its own, from these images. */
export function loadReading(
  { catalog, offset }: Store,
  id: TableId,
  { rows }: Pick<ImageReading, 'rows'>,
  pieces: readonly ImagePiece[],
): { readonly table: Table; readonly store: Store; readonly faults: readonly string[] } {
  const store = new Store(catalog);
  const load = store.beginLoad(catalog);
  for (const bytes of rows) load.addRows(id, { bytes, count: 1 });
  load.finishTable(id, rows.length);
  for (const piece of pieces) load.addImage(id, piece);
  load.commit(offset, []);
  const table = present(store.table(id), 'the table');
  return { table, store, faults: load.faults };
}

/** What the derived indexes hold, by the first columns of rows, as one text. */
export function contentOf(table: Table): string {
  const ids = new Map([...table.scan()].map((ref) => [ref, Number(readRow(table, ref)[0])]));
  const contents = table.derivedIndexes.map(({ body }) => {
    if (body instanceof TextBody) return wordsOf(ids, body);
    return body instanceof InvertedIndex ? pairsOf(ids, body) : [];
  });
  return JSON.stringify(contents);
}

type Ids = ReadonlyMap<number, number>;

function wordsOf(ids: Ids, { index }: TextBody): unknown[] {
  const words: [string, number[]][] = [];
  const refs = new Int32Array(ids.size + 1);
  for (const word of index.words()) {
    const found = refs.subarray(0, index.rowsAfter(word, 0, refs));
    words.push([word, [...found].map((ref) => ids.get(ref) ?? -1).sort((a, b) => a - b)]);
  }
  return [index.length, ...words.sort(([a], [b]) => (a < b ? -1 : 1))];
}

function pairsOf(ids: Ids, body: InvertedIndex): unknown[] {
  const pairs = new HashPairs(16);
  body.pairsAfter(0, noRow, pairs, Number.POSITIVE_INFINITY);
  const all: [number, number][] = [];
  for (let at = 0; at < pairs.length; at++) {
    all.push([pairs.hashAt(at), ids.get(pairs.refAt(at)) ?? -1]);
  }
  return all.sort(([a, one], [b, other]) => a - b || one - other);
}

import { assert, present } from '../assert.ts';
import type { IndexId, TableId } from '../schema/ids.ts';
import {
  type BodyImage,
  type DerivedBody,
  type ImageStep,
  imageHeadBytesMax,
} from './derived-body.ts';
import type { DerivedIndex } from './derived-index.ts';
import { type ImageWriter, varintBytesMax } from './image-bytes.ts';
import type { DeletedSince, PinnedRows } from './pinned-rows.ts';
import { RowRanks } from './row-ranks.ts';
import type { RowRef } from './row-ref.ts';

/**
 * The parts of an image in a snapshot, in their order, each in pieces:
 *
 * ```
 * begin    version, number of rows, what the kind wrote as its head
 * entries  as the kind has them
 * missed   numbers of rows that were deleted meanwhile: some of their entries can be missing
 * end      number of the pieces before
 * ```
 */
export type ImagePart = 'begin' | 'entries' | 'missed' | 'end';

/** Version of the parts, and of the entries of all kinds. */
export const imageVersion = 1;

/** The derived indexes of a pinned table, on their way into a snapshot behind its rows. */
export class TableImages {
  readonly pin: PinnedRows;
  readonly images: readonly IndexImage[];
  readonly #ranks: RowRanks;

  /** At the moment of the pin. */
  constructor(pin: PinnedRows) {
    this.pin = pin;
    const { derivedIndexes, heap } = pin.table;
    const ranks = new RowRanks(heap);
    this.#ranks = ranks;
    this.images = derivedIndexes.flatMap((index) => {
      const image = index.body.image?.();
      return image === undefined ? [] : [new IndexImage(pin, index, image, ranks)];
    });
  }

  /** Bytes held beside the rows. */
  get bytes(): number {
    return this.#ranks.bytes;
  }

  /** None of them is written on. */
  end(): void {
    for (const image of this.images) image.end();
  }

  /** A row of the pin was written; all of them are noted in their order, before any image. */
  note(ref: RowRef): void {
    this.#ranks.note(ref);
  }
}

/**
 * One of them. It is written from the index as it is at each step, for which nothing is kept: rows
 * of the moment that are still there are in all that is written, rows that came later have no
 * number, and those that left are named at the end.
 */
export class IndexImage {
  readonly tableId: TableId;
  readonly indexId: IndexId;
  readonly #pin: PinnedRows;
  readonly #index: DerivedIndex;
  readonly #body: DerivedBody;
  readonly #image: BodyImage;
  readonly #ranks: RowRanks;
  #part: ImagePart = 'begin';
  #pieces = 0;
  #missed: DeletedSince | undefined;
  #missedAt = 0;

  constructor(pin: PinnedRows, index: DerivedIndex, image: BodyImage, ranks: RowRanks) {
    this.tableId = pin.table.id;
    this.indexId = index.spec.id;
    this.#pin = pin;
    this.#index = index;
    this.#body = index.body;
    this.#image = image;
    this.#ranks = ranks;
  }

  end(): void {
    this.#image.end?.();
  }

  /** False once the table was emptied: the structure of the moment is gone. */
  get isOfNow(): boolean {
    return this.#pin.isValid && this.#index.body === this.#body;
  }

  /**
   * Goes on between transactions: looks at about `countMax` entries. Returns the part of which a
   * piece is complete in `into`, if one is; the next one needs another writer. After `end`, it is
   * not called again.
   */
  write(into: ImageWriter, countMax: number): ImagePart | 'more' {
    assert(!this.#pin.table.changes.isTouched, 'an image is written between transactions');
    const part = this.#part;
    if (this.#writePart(into, countMax) === 'more') return 'more';
    this.#pieces++;
    return part;
  }

  #writePart(into: ImageWriter, countMax: number): ImageStep {
    switch (this.#part) {
      case 'begin':
        assert(into.room >= beginBytesMax, 'there is room for the head of an image');
        into.varint(imageVersion);
        into.varint(this.#ranks.count);
        this.#image.writeHead(into);
        this.#part = 'entries';
        return 'done';
      case 'entries': {
        const step = this.#image.write(into, this.#ranks, countMax);
        if (step !== 'done') return step;
        // Rows that leave from now on were there to the end.
        this.#missed = this.#pin.deletedSince;
        this.#missedAt = this.#missed.start;
        this.#part = 'missed';
        return 'done';
      }
      case 'missed': {
        const missed = present(this.#missed, 'the rows that left');
        const step = this.#writeMissed(into, missed, countMax);
        if (step === 'done') this.#part = 'end';
        return step;
      }
      case 'end':
        into.varint(this.#pieces);
        return 'done';
    }
  }

  #writeMissed(into: ImageWriter, { end, at }: DeletedSince, countMax: number): ImageStep {
    for (let left = countMax; left > 0; left--) {
      if (this.#missedAt === end) return 'done';
      if (into.room < varintBytesMax) return 'full';
      const rank = this.#ranks.rankOf(at(this.#missedAt++));
      if (rank >= 0) into.varint(rank);
    }
    return 'more';
  }
}

const beginBytesMax = imageHeadBytesMax + 2 * varintBytesMax;

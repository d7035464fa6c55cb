import { unreachable } from '../assert.ts';
import type { IndexId } from '../schema/ids.ts';
import type { BodyLoad } from './derived-body.ts';
import { type ImagePart, imageVersion } from './derived-images.ts';
import type { DerivedIndex } from './derived-index.ts';
import { ImageError, ImageReader } from './image-bytes.ts';
import { readRow } from './image-refs.ts';
import { RefQueue } from './ref-queue.ts';
import type { RowRef } from './row-ref.ts';

/** A piece of the image of a derived index, as a snapshot has it. */
export interface ImagePiece {
  readonly indexId: IndexId;
  readonly part: ImagePart;
  readonly bytes: Uint8Array;
}

/**
 * Fills the derived indexes of one loaded table: from images, and from the rows where there is
 * none, or one that makes no sense. Rows come first, then pieces, then `finish`.
 */
export class DerivedLoads {
  readonly #indexes: readonly DerivedIndex[];
  readonly #rows = new RefQueue();
  readonly #states = new Map<IndexId, State>();

  constructor(indexes: readonly DerivedIndex[]) {
    this.#indexes = indexes;
  }

  /** The next row in the order of the snapshot. */
  note(ref: RowRef): void {
    this.#rows.push(ref);
  }

  /** Returns what is wrong with the image; other pieces of it are then passed over. */
  take({ indexId, part, bytes }: ImagePiece): string | undefined {
    const index = this.#indexes.find(({ spec }) => spec.id === indexId);
    if (index === undefined) return `there is no derived index ${indexId}`;
    const state = this.#states.get(indexId);
    if (state?.kind === 'useless') return undefined;
    try {
      this.#states.set(indexId, this.#next(index, state, part, new ImageReader(bytes)));
      return undefined;
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      this.#states.set(indexId, drop(index));
      return `the image of index ${index.spec.name} is not used: ${error.message}`;
    }
  }

  /** Fills the others. An image without an end was given up when it was written. */
  finish(): void {
    for (const index of this.#indexes) {
      const state = this.#states.get(index.spec.id);
      if (state?.kind === 'whole') continue;
      if (state?.kind === 'open') drop(index);
      index.fill();
    }
  }

  #next(index: DerivedIndex, state: State | undefined, part: ImagePart, from: ImageReader): State {
    if (part === 'begin') return this.#begin(index, state, from);
    if (state?.kind !== 'open') throw new ImageError('a piece has no beginning');
    if (order.indexOf(part) < order.indexOf(state.part)) throw new ImageError('it has no order');
    const { load } = state;
    switch (part) {
      case 'entries':
        load.read(from);
        break;
      case 'missed':
        while (!from.isAtEnd) load.complete(readRow(from, this.#rows));
        break;
      case 'end':
        from.same(state.pieces, 'the number of pieces');
        load.finish();
        break;
      default:
        unreachable(part);
    }
    from.finish();
    return part === 'end' ? { kind: 'whole' } : { ...state, part, pieces: state.pieces + 1 };
  }

  #begin(index: DerivedIndex, state: State | undefined, from: ImageReader): State {
    if (state !== undefined) throw new ImageError('it begins twice');
    const load = index.body.load?.(this.#rows);
    if (load === undefined || from.varint() !== imageVersion) return { kind: 'useless' };
    from.same(this.#rows.end, 'the number of rows');
    if (!load.readHead(from)) return drop(index);
    from.finish();
    return { kind: 'open', load, part: 'begin', pieces: 1 };
  }
}

type State =
  /** Its pieces are passed over, and the index is built from the rows. */
  | { readonly kind: 'useless' }
  | {
      readonly kind: 'open';
      readonly load: BodyLoad;
      readonly part: ImagePart;
      readonly pieces: number;
    }
  | { readonly kind: 'whole' };

const order: readonly ImagePart[] = ['begin', 'entries', 'missed', 'end'];

/** What was filled in is released. */
function drop(index: DerivedIndex): State {
  index.empty();
  return { kind: 'useless' };
}

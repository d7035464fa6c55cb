import { assert, present, unreachable } from '../assert.ts';
import type { DerivedIndexSpec } from '../schema/catalog.ts';
import type { DerivedBody, DerivedRequest } from './derived-body.ts';
import { InvertedIndex } from './inverted-index.ts';
import { RefList } from './ref-list.ts';
import type { RowHeap } from './row-heap.ts';
import { noRow, type RowRef, type RowRefs } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import { TextBody } from './text-body.ts';
import { isVectorMetric } from './vector-distance.ts';
import { VectorIndex, type VectorIndexOptions } from './vector-index.ts';

/** An index of what a kind derives from one column: its definition and the structure behind it. */
export class DerivedIndex {
  readonly spec: DerivedIndexSpec;
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #found = new RefList();
  #body: DerivedBody;

  /** `body`: the structure of an index that differs in its names only. */
  constructor(spec: DerivedIndexSpec, heap: RowHeap, shape: RowShape, body?: DerivedBody) {
    this.spec = spec;
    this.#heap = heap;
    this.#shape = shape;
    this.#body = body ?? this.emptyBody();
  }

  /** Bytes held. */
  get bytes(): number {
    return this.#body.bytes;
  }

  /** For the store room, and for readers that know the kind. */
  get body(): DerivedBody {
    return this.#body;
  }

  /** Rows among which are all that fulfil the request; `undefined`: all rows of the table. */
  search(request: DerivedRequest): RowRefs | undefined {
    const isComplete = this.#body.collect(request, this.#found);
    const refs = this.#found.take();
    return isComplete ? refs : undefined;
  }

  add(ref: RowRef): void {
    this.#body.add(ref);
  }

  remove(ref: RowRef): void {
    this.#body.remove(ref);
  }

  replace(old: RowRef, ref: RowRef): void {
    this.#body.replace(old, ref);
  }

  /** Adds all rows of the table to an empty index. */
  fill(): void {
    const heap = this.#heap;
    const body = this.#body;
    if (body.fill !== undefined) {
      body.fill();
      return;
    }
    for (let ref = heap.nextVisible(noRow); ref !== noRow; ref = heap.nextVisible(ref)) {
      body.add(ref);
    }
  }

  /** Whether it holds what one holds that is built from the rows, for kinds that have images. */
  isOfRows(): boolean {
    const built = new DerivedIndex(this.spec, this.#heap, this.#shape);
    built.fill();
    return this.#body.holdsSame?.(built.body) !== false;
  }

  /** Removes all rows at once and returns the structure that holds them, for `restore`. */
  empty(): DerivedBody {
    const body = this.#body;
    this.#body = this.emptyBody();
    return body;
  }

  restore(body: DerivedBody): void {
    this.#body = body;
  }

  /** Another structure of the kind, over rows of the same table. */
  emptyBody(): DerivedBody {
    const { kind, column, options } = this.spec;
    present(this.#shape.columnTypes[column], 'column of a derived index');
    switch (kind) {
      case 'inverted':
        return new InvertedIndex(this.#heap, this.#shape, column);
      case 'text':
        return new TextBody({ heap: this.#heap, shape: this.#shape, column, options });
      case 'vector':
        return new VectorIndex(this.#heap, this.#shape, column, vectorOptionsOf(this.spec));
      default:
        return unreachable(kind);
    }
  }
}

function vectorOptionsOf({ options }: DerivedIndexSpec): VectorIndexOptions {
  const textOf = (wanted: string) => options.find(({ name }) => name === wanted)?.value ?? '';
  const metric = textOf('metric');
  assert(isVectorMetric(metric), 'an index of vectors has a metric');
  return { metric, length: Number(textOf('length')) };
}

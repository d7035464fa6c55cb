import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { BodyImage, BodyLoad, DerivedBody, DerivedRequest } from './derived-body.ts';
import type { GraphLinks } from './graph-links.ts';
import { NearestGraph } from './nearest-graph.ts';
import type { RefList } from './ref-list.ts';
import { RefQueue } from './ref-queue.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import type { RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import { elementBytes, type VectorMetric } from './vector-distance.ts';
import { type LoadedGraph, VectorImage, VectorLoad } from './vector-image.ts';

export interface VectorIndexOptions {
  readonly metric: VectorMetric;
  readonly length: number;
}

/**
 * Finds rows whose vectors are near: by a graph, and among new rows that wait for their place in
 * it by looking at each. Writers never wait for the graph: every search takes some rows into it.
 * While very many wait, after a start or a large load, it cannot say which rows are near.
 */
export class VectorIndex implements DerivedBody, LoadedGraph {
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #column: number;
  readonly #length: number;
  readonly #graph: NearestGraph;
  #waiting = new RefQueue();
  /** Rows that left before their turn: how often to pass over each in the queue. */
  readonly #gone = new Map<RowRef, number>();
  #goneCount = 0;
  /** The one that was begun last. */
  #image: VectorImage | undefined;

  constructor(heap: RowHeap, shape: RowShape, column: number, options: VectorIndexOptions) {
    this.#heap = heap;
    this.#shape = shape;
    this.#column = column;
    this.#length = options.length;
    this.#graph = new NearestGraph(options.metric, options.length, {
      pageOf: (ref) => heap.pageOf(ref),
      startOf: (ref) => this.#startOf(ref),
    });
  }

  get bytes(): number {
    return this.#graph.bytes + this.#waiting.bytes + this.#gone.size * goneBytes;
  }

  /** Rows that have no place in the graph yet. */
  get waitingCount(): number {
    return this.#waiting.end - this.#waiting.start - this.#goneCount;
  }

  add(ref: RowRef): void {
    this.#waiting.push(ref);
  }

  remove(ref: RowRef): void {
    if (this.#graph.has(ref)) {
      this.#graph.remove(ref);
      return;
    }
    this.#gone.set(ref, (this.#gone.get(ref) ?? 0) + 1);
    this.#goneCount++;
  }

  /** A row that keeps its vector keeps its place. */
  replace(old: RowRef, ref: RowRef): void {
    if (this.#graph.has(old) && this.#haveOneVector(old, ref)) {
      this.#graph.move(old, ref);
      return;
    }
    this.remove(old);
    this.add(ref);
  }

  requestFor(): undefined {
    return undefined;
  }

  image(): BodyImage {
    this.#image = new VectorImage(this.#graph);
    return this.#image;
  }

  load(rows: RefQueue): BodyLoad {
    return new VectorLoad(this, rows);
  }

  adopt(links: GraphLinks, refs: RowRef[]): void {
    this.#graph.adopt(links, refs);
  }

  collect(request: DerivedRequest, into: RefList): boolean {
    assert(request.kind === 'nearest', 'a vector index is asked for near rows');
    const isBehind = this.waitingCount > limits.vectorWaitingMax;
    this.#takeIn(isBehind ? limits.vectorCatchUpRows : limits.vectorSearchRows);
    if (this.waitingCount > limits.vectorWaitingMax) return false;
    for (const ref of this.#graph.search(request.ruler, request.width)) into.push(ref);
    this.#eachWaiting((ref) => into.push(ref));
    return true;
  }

  #takeIn(countMax: number): void {
    if (this.#image?.isOpen === true) return;
    for (let left = countMax; left > 0 && this.#waiting.start < this.#waiting.end; ) {
      const ref = this.#waiting.take();
      const gone = this.#gone.get(ref);
      if (gone === undefined) {
        this.#graph.insert(ref);
        left--;
        continue;
      }
      this.#goneCount--;
      if (gone > 1) this.#gone.set(ref, gone - 1);
      else this.#gone.delete(ref);
    }
  }

  #eachWaiting(visit: (ref: RowRef) => void): void {
    const gone = this.#gone.size === 0 ? undefined : new Map(this.#gone);
    const { start, end } = this.#waiting;
    for (let at = start; at < end; at++) {
      const ref = this.#waiting.at(at);
      const passed = gone?.get(ref) ?? 0;
      if (passed === 0) visit(ref);
      else gone?.set(ref, passed - 1);
    }
  }

  #startOf(ref: RowRef): number {
    return this.#shape.startOf(this.#heap.pageOf(ref), offsetOf(ref), this.#column) + 4;
  }

  #haveOneVector(ref: RowRef, other: RowRef): boolean {
    const [bytes, others] = [this.#heap.pageOf(ref), this.#heap.pageOf(other)];
    const [start, otherStart] = [this.#startOf(ref), this.#startOf(other)];
    for (let at = this.#length * elementBytes - 1; at >= 0; at--) {
      if (bytes[start + at] !== others[otherStart + at]) return false;
    }
    return true;
  }
}

/** About what an entry of a map takes. */
const goneBytes = 48;

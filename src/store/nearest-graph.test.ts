import { describe, expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import { Random } from '../testing/random.ts';
import { NearestGraph } from './nearest-graph.ts';
import { pageShift, type RowRef, rowRef } from './row-ref.ts';
import { readVector, type VectorMetric, VectorRuler } from './vector-distance.ts';

/** Vectors in pages of their own, as rows are. */
class Vectors {
  readonly length: number;
  readonly #pages: Uint8Array[] = [];
  readonly #perPage = 500;

  constructor(length: number) {
    this.length = length;
  }

  refOf(id: number): RowRef {
    return rowRef(
      ((1 + Math.floor(id / this.#perPage)) << pageShift) | ((id % this.#perPage) * this.#units),
    );
  }

  set(id: number, vector: ArrayLike<number>): void {
    const page = Math.floor(id / this.#perPage);
    this.#pages[page] ??= new Uint8Array(this.#perPage * this.#units * 8);
    const bytes = new Uint8Array(Float32Array.from(vector).buffer);
    (this.#pages[page] as Uint8Array).set(bytes, (id % this.#perPage) * this.#units * 8 + 4);
  }

  get #units(): number {
    return Math.ceil((this.length * 4 + 4) / 8);
  }

  pageOf(ref: RowRef): Uint8Array {
    return this.#pages[(ref >>> pageShift) - 1] as Uint8Array;
  }

  startOf(ref: RowRef): number {
    return (ref & ((1 << pageShift) - 1)) * 8 + 4;
  }

  distance(ruler: VectorRuler, ref: RowRef): number {
    const distance = ruler.distanceOf(this.pageOf(ref), this.startOf(ref));
    return ruler.metric === 'innerProduct' ? -distance : distance;
  }

  vectorOf(ref: RowRef): Float64Array {
    return readVector(this.pageOf(ref), this.startOf(ref), this.length);
  }
}

/** Points around a few hundred centres, as texts about so many subjects would have. */
function clustered(random: Random, length: number): () => number[] {
  const gauss = () => random.below(1000) + random.below(1000) + random.below(1000) - 1500;
  const centres = Array.from({ length: 50 }, () => Array.from({ length }, () => gauss() / 500));
  return () => {
    const centre = centres[random.below(centres.length)] as number[];
    return centre.map((element) => element + gauss() / 1000);
  };
}

/** Share of the ten nearest that the graph finds. */
function recall(
  graph: NearestGraph,
  vectors: Vectors,
  refs: Iterable<RowRef>,
  rulers: readonly VectorRuler[],
): number {
  const all = [...refs];
  let [hits, total] = [0, 0];
  for (const ruler of rulers) {
    const byDistance = all
      .map((ref) => vectors.distance(ruler, ref))
      .sort((a, b) => a - b)
      .slice(0, 10);
    const limit = byDistance.at(-1) as number;
    const found = graph.search(ruler, 100).slice(0, 10);
    expect(new Set(found).size).toBe(found.length);
    hits += found.filter((ref) => vectors.distance(ruler, ref) <= limit).length;
    total += byDistance.length;
  }
  return hits / total;
}

describe('[ease 3.12] the graph of vectors', () => {
  it.each<[VectorMetric]>([['l2'], ['cosine'], ['innerProduct']])(
    'finds 95 of 100 of the nearest, after inserts and removals: %s',
    (metric) => {
      const random = new Random(17);
      const vectors = new Vectors(32);
      const graph = new NearestGraph(metric, 32, vectors);
      const make = clustered(random, 32);
      const refs = new Set<RowRef>();
      const add = (id: number) => {
        vectors.set(id, make());
        graph.insert(vectors.refOf(id));
        refs.add(vectors.refOf(id));
      };
      const rulers = () =>
        Array.from({ length: 30 }, () => new VectorRuler(metric, Float64Array.from(make())));
      for (let id = 0; id < 1_500; id++) add(id);
      expect(recall(graph, vectors, refs, rulers())).toBeGreaterThanOrEqual(0.95);
      for (let id = 0; id < 1_500; id++) {
        if (random.below(2) === 0) continue;
        graph.remove(vectors.refOf(id));
        refs.delete(vectors.refOf(id));
      }
      expect(graph.size).toBe(refs.size);
      expect(recall(graph, vectors, refs, rulers())).toBeGreaterThanOrEqual(0.95);
      for (let id = 0; id < 1_500; id++) if (!refs.has(vectors.refOf(id))) add(id);
      expect(recall(graph, vectors, refs, rulers())).toBeGreaterThanOrEqual(0.95);
    },
    60_000,
  );

  it('is the same for the same work', () => {
    const answers = [0, 1].map(() => {
      const random = new Random(4);
      const vectors = new Vectors(8);
      const graph = new NearestGraph('l2', 8, vectors);
      const make = clustered(random, 8);
      for (let id = 0; id < 400; id++) {
        vectors.set(id, make());
        graph.insert(vectors.refOf(id));
        if (id % 3 === 2) graph.remove(vectors.refOf(id - 1));
      }
      return graph.search(new VectorRuler('l2', Float64Array.from(make())), 20);
    });
    expect(answers[0]).toEqual(answers[1]);
  });
});

describe('[ease 3.12] a small graph finds every row, whatever was removed', () => {
  it.each(someSeeds(1, 12))('seed %i', (seed) => {
    const random = new Random(seed);
    const length = 1 + random.below(5);
    const vectors = new Vectors(length);
    const metric = (['l2', 'cosine', 'innerProduct'] as const)[random.below(3)] as VectorMetric;
    const graph = new NearestGraph(metric, length, vectors);
    const refs = new Set<RowRef>();
    for (let step = 0; step < 600; step++) {
      const id = random.below(40);
      const ref = vectors.refOf(id);
      if (refs.delete(ref)) graph.remove(ref);
      else {
        // Zeros have no cosine, and equal vectors no order.
        vectors.set(
          id,
          Array.from({ length }, () => random.below(4) - 1),
        );
        graph.insert(ref);
        refs.add(ref);
      }
      if (step % 10 > 0) continue;
      const wanted = Float64Array.from({ length }, () => random.below(5) - 2);
      const found = graph.search(new VectorRuler(metric, wanted), 64);
      expect([...found].sort()).toEqual([...refs].sort());
    }
  });
});

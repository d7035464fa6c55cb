/**
 * The graph of vectors beside a look at all of them, over the same pages: rows taken in, searches
 * that find 95 of 100 of the ten nearest, and memory. `scale` 1 uses 100,000 vectors of 384
 * elements around 1,000 centres.
 */
import { assert } from '../assert.ts';
import { Random } from '../testing/random.ts';
import { NearestGraph } from './nearest-graph.ts';
import { pageShift, type RowRef, rowRef } from './row-ref.ts';
import { VectorRuler } from './vector-distance.ts';
import { measureVectors, vectorBatchMax } from './vector-kernel.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly bar?: string;
}

const length = 384;
const perPage = 600;
const rowBytes = 1_544;
const nearest = 10;
const width = 128;

export function benchmarks(scale: number): Figure[] {
  const count = Math.max(300, Math.round(100_000 * scale));
  const random = new Random(9);
  const gauss = () => (random.below(1_000) + random.below(1_000) - 1_000) / 1_000;
  const centres = Array.from({ length: Math.max(10, count / 100) }, () =>
    Float32Array.from({ length }, gauss),
  );
  const made = () =>
    (centres[random.below(centres.length)] as Float32Array).map((element) => element + gauss() / 2);
  const pages: Uint8Array[] = [];
  const refs: RowRef[] = [];
  for (let id = 0; id < count; id++) {
    const page = Math.floor(id / perPage);
    pages[page] ??= new Uint8Array(perPage * rowBytes);
    const start = (id % perPage) * rowBytes;
    (pages[page] as Uint8Array).set(new Uint8Array(made().buffer), start + 8);
    refs.push(rowRef(((page + 1) << pageShift) | (start / 8)));
  }
  const source = {
    pageOf: (ref: RowRef) => pages[(ref >>> pageShift) - 1] as Uint8Array,
    startOf: (ref: RowRef) => (ref & ((1 << pageShift) - 1)) * 8 + 8,
  };
  const graph = new NearestGraph('l2', length, source);
  const begin = performance.now();
  for (const ref of refs) graph.insert(ref);
  const insertMicros = ((performance.now() - begin) * 1_000) / count;
  const rulers = Array.from({ length: 40 }, () => new VectorRuler('l2', Float64Array.from(made())));
  const searching = performance.now();
  const found = rulers.map((ruler) => graph.search(ruler, width).slice(0, nearest));
  const searchMillis = (performance.now() - searching) / rulers.length;
  const scanning = performance.now();
  const expected = rulers.map((ruler) => nearestOf(ruler, refs, source));
  const scanMillis = (performance.now() - scanning) / rulers.length;
  let hits = 0;
  found.forEach((list, at) => {
    hits += list.filter((ref) => expected[at]?.has(ref)).length;
  });
  const recall = hits / (rulers.length * nearest);
  assert(recall >= 0.95, `recall ${recall}`);
  const of = `${count} vectors of ${length}`;
  return [
    { name: `taking a vector into a graph of ${of}`, unit: 'µs', value: insertMicros },
    {
      name: `${nearest} nearest of ${of}, recall ${recall.toFixed(3)}`,
      unit: 'ms',
      value: searchMillis,
      baseline: scanMillis,
      ratio: searchMillis / scanMillis,
      bar: 'at most 0.05 of a look at all, recall at least 0.95',
    },
    { name: `memory of the graph, ${of}`, unit: 'bytes a row', value: graph.bytes / count },
  ];
}

function nearestOf(
  ruler: VectorRuler,
  refs: readonly RowRef[],
  source: { pageOf(ref: RowRef): Uint8Array; startOf(ref: RowRef): number },
): ReadonlySet<RowRef> {
  const distances = new Float64Array(refs.length);
  const batch = new Float64Array(vectorBatchMax);
  for (let from = 0; from < refs.length; from += vectorBatchMax) {
    const part = refs.slice(from, from + vectorBatchMax);
    const pages = part.map((ref) => source.pageOf(ref));
    const starts = part.map((ref) => source.startOf(ref));
    measureVectors(ruler, { pages, starts, count: part.length }, batch);
    distances.set(batch.subarray(0, part.length), from);
  }
  const limit = distances.slice().sort()[nearest - 1] as number;
  return new Set(refs.filter((_, at) => (distances[at] as number) <= limit));
}

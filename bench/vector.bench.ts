/**
 * The ten nearest of a million vectors of 384 elements, in SQL, by looking at all of them. The
 * baseline measures the same vectors in plain memory, one after another, by the loop that comes to
 * mind, and keeps the ten nearest. Both must name the same rows.
 */
import { assert } from '../src/assert.ts';
import { Random } from '../src/testing/random.ts';
import { Engine } from '../test/sql/engine.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline: number;
  readonly ratio: number;
  readonly bar: string;
}

const length = 384;
const nearestCount = 10;
const rounds = 5;

export function benchmarks(scale: number): Figure[] {
  const count = Math.max(500, Math.round(1_000_000 * scale));
  const random = new Random(384);
  // Rows share their elements, shifted: a million times 384 numbers take long to draw.
  const pool = Float32Array.from(
    { length: length + 9_973 },
    () => random.below(2_000_000) / 1e6 - 1,
  );
  const vectorOf = (id: number) => pool.subarray((id * 31) % 9_973, ((id * 31) % 9_973) + length);
  const engine = new Engine(
    [
      {
        name: 'item',
        columns: { id: { kind: 'u32' }, at: { kind: 'array', element: { kind: 'f32' } } },
        indexes: ['unique:hash:id'],
      },
    ],
    { useIndexes: true, optimise: true, pauses: false },
  );
  for (let from = 0; from < count; from += 10_000) {
    engine.load('item', rowsOf(from, Math.min(count, from + 10_000), vectorOf));
  }
  const memory = new Float32Array(count * length);
  for (let id = 0; id < count; id++) memory.set(vectorOf(id), id * length);
  return ['distance', 'cosine_distance'].map((name) => {
    const text = `SELECT id FROM item ORDER BY ${name}(at, $1), id LIMIT ${nearestCount}`;
    const query = engine.prepare(text, 1);
    return measured(name, {
      count,
      ours: (wanted) => query.rows([[...wanted].map(String)]).map(([id]) => Number(id)),
      loop: (wanted) => nearestOf(memory, wanted, name === 'distance' ? squares : cosine),
      wantedFor: (round) => vectorOf(round * 7 + 3).map((element) => Math.fround(element + 0.01)),
    });
  });
}

function* rowsOf(from: number, to: number, vectorOf: (id: number) => Float32Array) {
  for (let id = from; id < to; id++) yield [id, [...vectorOf(id)]];
}

interface Contest {
  readonly count: number;
  readonly ours: (wanted: Float32Array) => readonly number[];
  readonly loop: (wanted: Float32Array) => readonly number[];
  readonly wantedFor: (round: number) => Float32Array;
}

function measured(name: string, { count, ours, loop, wantedFor }: Contest): Figure {
  let [value, baseline] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < rounds; round++) {
    const wanted = wantedFor(round);
    const begin = performance.now();
    const found = ours(wanted);
    const middle = performance.now();
    const expected = loop(wanted);
    value = Math.min(value, middle - begin);
    baseline = Math.min(baseline, performance.now() - middle);
    assert(found.join() === expected.join(), `${name}: ${found} instead of ${expected}`);
  }
  return {
    name: `${nearestCount} nearest of ${count} vectors of ${length} by ${name}`,
    unit: 'ms',
    value,
    baseline,
    ratio: value / baseline,
    bar: 'at most 400 ms for a million',
  };
}

type Measure = (memory: Float32Array, at: number, wanted: Float64Array) => number;

function squares(memory: Float32Array, at: number, wanted: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < length; index++) {
    const apart = (memory[at + index] as number) - (wanted[index] as number);
    sum += apart * apart;
  }
  return sum;
}

/** Grows with the cosine distance from one vector. */
function cosine(memory: Float32Array, at: number, wanted: Float64Array): number {
  let [sum, norm] = [0, 0];
  for (let index = 0; index < length; index++) {
    const element = memory[at + index] as number;
    sum += element * (wanted[index] as number);
    norm += element * element;
  }
  return -sum / Math.sqrt(norm);
}

/** Of rows that are equally far the first ones, as they come: `id` counts up. */
function nearestOf(memory: Float32Array, wanted: Float32Array, measure: Measure): number[] {
  const doubles = Float64Array.from(wanted);
  const nearest: { readonly id: number; readonly far: number }[] = [];
  for (let id = 0; id * length < memory.length; id++) {
    const far = measure(memory, id * length, doubles);
    const last = nearest[nearestCount - 1];
    if (last !== undefined && far >= last.far) continue;
    if (last !== undefined) nearest.pop();
    const place = nearest.findIndex((other) => other.far > far);
    nearest.splice(place < 0 ? nearest.length : place, 0, { id, far });
  }
  return nearest.map(({ id }) => id);
}

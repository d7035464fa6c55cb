import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import { readVector, type VectorMetric, VectorRuler } from './vector-distance.ts';
import { measureVectors, vectorBatchMax } from './vector-kernel.ts';

const metrics: readonly VectorMetric[] = ['l2', 'cosine', 'innerProduct'];

function encoded(vector: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(vector).buffer);
}

function distance(metric: VectorMetric, wanted: readonly number[], of: readonly number[]): number {
  return new VectorRuler(metric, Float64Array.from(wanted)).distanceOf(encoded(of), 0);
}

describe('[ease 3.12] distances', () => {
  it('are what the field calls by their names', () => {
    expect(distance('l2', [0, 0], [3, 4])).toBe(5);
    expect(distance('innerProduct', [1, 2, 3], [4, 5, 6])).toBe(32);
    expect(distance('cosine', [1, 0], [0, 2])).toBe(1);
    expect(distance('cosine', [1, 0], [-3, 0])).toBe(2);
    expect(distance('cosine', [0.1, 0.2, 0.3], [0.1, 0.2, 0.3])).toBe(0);
    expect(distance('cosine', [1, 0], [0, 0])).toBeNaN();
    expect(distance('l2', [], [])).toBe(0);
  });

  it('reads vectors at any address', () => {
    const bytes = new Uint8Array(13);
    bytes.set(encoded([1.5, -2]), 5);
    expect([...readVector(bytes, 5, 2)]).toEqual([1.5, -2]);
  });
});

/** Vectors in two pages, near and far from one another, in an order that goes back as well. */
function placed(random: Random, length: number, count: number) {
  const size = length * 4;
  const pages = [new Uint8Array(size * count * 3 + 64), new Uint8Array(size * count * 3 + 64)];
  let next = 1;
  const places = Array.from({ length: count }, () => {
    const page = pages[random.below(3) === 0 ? 1 : 0] as Uint8Array;
    const start = next;
    next += size + random.below(size * 2 + 1);
    const elements = Array.from({ length }, () => random.below(2_000) / 997 - 1);
    page.set(encoded(elements), start);
    return { page, start };
  });
  for (let at = 0; at < 3; at++) {
    const [one, other] = [random.below(count), random.below(count)];
    [places[one], places[other]] = [
      places[other] as (typeof places)[0],
      places[one] as (typeof places)[0],
    ];
  }
  return { pages: places.map(({ page }) => page), starts: places.map(({ start }) => start) };
}

describe.each(metrics)('[ease 3.12] many vectors at once, %s', (metric) => {
  it.each([0, 1, 7, 8, 9, 16, 23, 384, 1_001, limits.vectorLengthMax])(
    'have the distances, bit by bit, that they have one by one: length %i',
    (length) => {
      const random = new Random(length + 5);
      for (let run = 0; run < 4; run++) {
        const count = 1 + random.below(vectorBatchMax);
        const { pages, starts } = placed(random, length, count);
        const wanted = Float64Array.from({ length }, () =>
          Math.fround(random.below(999) / 500 - 1),
        );
        const ruler = new VectorRuler(metric, wanted);
        const found = new Float64Array(vectorBatchMax);
        measureVectors(ruler, { pages, starts, count }, found);
        for (let at = 0; at < count; at++) {
          const alone = ruler.distanceOf(pages[at] as Uint8Array, starts[at] as number);
          expect(found[at]).toBe(alone);
        }
      }
    },
  );
});

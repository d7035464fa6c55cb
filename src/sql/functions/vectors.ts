/**
 * Distances of vectors. A vector is an array of `F32`, as its encoding: the count of its elements
 * in four bytes, then the elements.
 */
import { readVector, type VectorMetric, VectorRuler } from '../../store/vector-distance.ts';
import { readCount } from '../../values/layout.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import { arrayOf } from './arrays.ts';
import { alias, isAccepted, resolved } from './family.ts';
import type { FunctionFamily } from './function.ts';
import { scalarTypes } from './value-kind.ts';

export const vectorType: AlgebraicType = arrayOf(scalarTypes.f32);

/** Bytes of the count before the elements. */
export const vectorHeadBytes = 4;

/** Measures against an encoded vector. */
export function rulerOf(metric: VectorMetric, encoded: Uint8Array): VectorRuler {
  return new VectorRuler(metric, readVector(encoded, vectorHeadBytes, readCount(encoded, 0)));
}

/** What two vectors of different lengths are answered with. */
export function unequalLengths(length: number, other: number): SqlFailure {
  return invalid(
    `Vectors of ${length} and ${other} elements have no distance: both need the same length`,
  );
}

function measuring(name: string, metric: VectorMetric): FunctionFamily {
  return {
    name,
    signatures: [`${name}(vector Array<F32>, vector Array<F32>) → F64`],
    areArraysOpen: true,
    resolve: (types) => {
      if (types.length !== 2) return undefined;
      if (!types.every((type) => isAccepted(type, vectorType))) return undefined;
      const made = resolved(name, {
        parameters: [vectorType, vectorType],
        result: scalarTypes.f64,
        canRaise: true,
        evaluate: distances(metric),
      });
      return { ...made, function: { ...made.function, metric } };
    },
  };
}

function distances(metric: VectorMetric): (values: readonly unknown[]) => number {
  let known: Uint8Array | undefined;
  let ruler: VectorRuler | undefined;
  return ([left, right]) => {
    const vector = left as Uint8Array;
    // The second is the same for all rows, mostly.
    if (ruler === undefined || right !== known) {
      known = right as Uint8Array;
      ruler = rulerOf(metric, known);
    }
    const [length, other] = [readCount(vector, 0), ruler.wanted.length];
    if (length !== other) throw unequalLengths(length, other);
    return ruler.distanceOf(vector, vectorHeadBytes);
  };
}

const euclidean = measuring('distance', 'l2');

export const vectorFunctions: readonly FunctionFamily[] = [
  euclidean,
  alias('l2_distance', euclidean),
  measuring('cosine_distance', 'cosine'),
  measuring('inner_product', 'innerProduct'),
];

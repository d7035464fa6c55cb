/**
 * Distances of vectors of 32-bit floats, computed in 64 bits.
 *
 * The order of additions is fixed, so that `vector-kernel.ts` gives the same bits: eight sums, for
 * the elements whose positions are equal modulo 8; the even ones are added to each other, then the
 * odd ones, then both; elements behind the last whole eight follow one by one.
 */
import { unreachable } from '../assert.ts';

/** Euclidean distance, one minus the cosine of the angle, or the scalar product. */
export type VectorMetric = 'l2' | 'cosine' | 'innerProduct';

export function isVectorMetric(text: string): text is VectorMetric {
  return text === 'l2' || text === 'cosine' || text === 'innerProduct';
}

/** Bytes of one element. */
export const elementBytes = 4;
/** Elements that are added side by side. */
export const laneCount = 8;

/** The elements that begin at `at`, little-endian, as 64-bit floats. */
export function readVector(bytes: Uint8Array, at: number, length: number): Float64Array {
  const from = bytes.byteOffset + at;
  if (from % elementBytes === 0 && isLittleEndian) {
    return new Float64Array(new Float32Array(bytes.buffer, from, length));
  }
  const view = viewOf(bytes);
  const vector = new Float64Array(length);
  for (let index = 0; index < length; index++) {
    vector[index] = view.getFloat32(at + index * elementBytes, true);
  }
  return vector;
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Measures vectors against one of the same length. */
export class VectorRuler {
  readonly metric: VectorMetric;
  readonly wanted: Float64Array;
  readonly #norm: number;

  constructor(metric: VectorMetric, wanted: Float64Array) {
    this.metric = metric;
    this.wanted = wanted;
    this.#norm = metric === 'cosine' ? normOf(wanted) : 0;
  }

  /** The distance of the vector that begins at `at`. */
  distanceOf(bytes: Uint8Array, at: number): number {
    const { metric, wanted } = this;
    const whole = wanted.length - (wanted.length % laneCount);
    const view = viewOf(bytes);
    const first = (metric === 'l2' ? squares : products)(view, at, wanted, whole);
    const second = metric === 'cosine' ? ownSquares(view, at, whole) : 0;
    return this.finish(first, second, bytes, at);
  }

  /**
   * The distance, from the sums over the whole eights: of squares of differences for `l2`, else of
   * products, and for `cosine` that of the squares of the vector's own elements.
   */
  finish(first: number, second: number, bytes: Uint8Array, at: number): number {
    const { wanted } = this;
    const whole = wanted.length - (wanted.length % laneCount);
    let [sum, norm] = [first, second];
    if (whole < wanted.length) {
      const view = viewOf(bytes);
      for (let index = whole; index < wanted.length; index++) {
        const element = view.getFloat32(at + index * elementBytes, true);
        const other = wanted[index] as number;
        const apart = element - other;
        sum += this.metric === 'l2' ? apart * apart : element * other;
        norm += element * element;
      }
    }
    switch (this.metric) {
      case 'l2':
        return Math.sqrt(sum);
      case 'innerProduct':
        return sum;
      case 'cosine':
        // Rounding must not make a vector nearer to another than to itself.
        return 1 - Math.max(-1, Math.min(1, sum / Math.sqrt(norm * this.#norm)));
      default:
        return unreachable(this.metric);
    }
  }
}

function normOf(vector: Float64Array): number {
  const bytes = new Uint8Array(Float32Array.from(vector).buffer);
  const whole = vector.length - (vector.length % laneCount);
  let sum = ownSquares(viewOf(bytes), 0, whole);
  for (let index = whole; index < vector.length; index++) {
    const element = vector[index] as number;
    sum += element * element;
  }
  return sum;
}

let viewedBytes: Uint8Array = new Uint8Array(0);
let view = new DataView(viewedBytes.buffer);

/** Consecutive vectors are in one page, mostly. */
function viewOf(bytes: Uint8Array): DataView {
  if (bytes === viewedBytes) return view;
  viewedBytes = bytes;
  view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view;
}

function squares(source: DataView, start: number, wanted: Float64Array, whole: number): number {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
  let at = start;
  for (let index = 0; index < whole; index += laneCount, at += laneCount * elementBytes) {
    const p = source.getFloat32(at, true) - (wanted[index] as number);
    const q = source.getFloat32(at + 4, true) - (wanted[index + 1] as number);
    const r = source.getFloat32(at + 8, true) - (wanted[index + 2] as number);
    const s = source.getFloat32(at + 12, true) - (wanted[index + 3] as number);
    const t = source.getFloat32(at + 16, true) - (wanted[index + 4] as number);
    const u = source.getFloat32(at + 20, true) - (wanted[index + 5] as number);
    const v = source.getFloat32(at + 24, true) - (wanted[index + 6] as number);
    const w = source.getFloat32(at + 28, true) - (wanted[index + 7] as number);
    a += p * p;
    b += q * q;
    c += r * r;
    d += s * s;
    e += t * t;
    f += u * u;
    g += v * v;
    h += w * w;
  }
  return a + c + e + g + (b + d + f + h);
}

function products(source: DataView, start: number, wanted: Float64Array, whole: number): number {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
  let at = start;
  for (let index = 0; index < whole; index += laneCount, at += laneCount * elementBytes) {
    a += source.getFloat32(at, true) * (wanted[index] as number);
    b += source.getFloat32(at + 4, true) * (wanted[index + 1] as number);
    c += source.getFloat32(at + 8, true) * (wanted[index + 2] as number);
    d += source.getFloat32(at + 12, true) * (wanted[index + 3] as number);
    e += source.getFloat32(at + 16, true) * (wanted[index + 4] as number);
    f += source.getFloat32(at + 20, true) * (wanted[index + 5] as number);
    g += source.getFloat32(at + 24, true) * (wanted[index + 6] as number);
    h += source.getFloat32(at + 28, true) * (wanted[index + 7] as number);
  }
  return a + c + e + g + (b + d + f + h);
}

function ownSquares(source: DataView, start: number, whole: number): number {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0];
  let at = start;
  for (let index = 0; index < whole; index += laneCount, at += laneCount * elementBytes) {
    const p = source.getFloat32(at, true);
    const q = source.getFloat32(at + 4, true);
    const r = source.getFloat32(at + 8, true);
    const s = source.getFloat32(at + 12, true);
    const t = source.getFloat32(at + 16, true);
    const u = source.getFloat32(at + 20, true);
    const v = source.getFloat32(at + 24, true);
    const w = source.getFloat32(at + 28, true);
    a += p * p;
    b += q * q;
    c += r * r;
    d += s * s;
    e += t * t;
    f += u * u;
    g += v * v;
    h += w * w;
  }
  return a + c + e + g + (b + d + f + h);
}

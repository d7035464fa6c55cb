/**
 * Measures many vectors at once, where the engine has WebAssembly with vector instructions; else
 * one by one. Both give the same bits.
 */
import { limits } from '../limits.ts';
import { elementBytes, laneCount, type VectorMetric, type VectorRuler } from './vector-distance.ts';
import { vectorProgram } from './vector-program.ts';

/** Vectors that are measured together. */
export const vectorBatchMax = 64;

/**
 * Writes the distance of each of the first `count` vectors, at most `vectorBatchMax`, to `into`.
 * Vector `n` begins at `starts[n]` of `pages[n]` and is as long as that of the ruler. Quickest for
 * vectors that follow one another in one page.
 */
export function measureVectors(
  ruler: VectorRuler,
  { pages, starts, count }: VectorPlaces,
  into: Float64Array,
): void {
  const kernel = fits(ruler) ? kernelOf(ruler.metric) : undefined;
  if (kernel !== undefined) {
    kernel.measure(ruler, { pages, starts, count }, into);
    return;
  }
  for (let at = 0; at < count; at++) {
    into[at] = ruler.distanceOf(pages[at] as Uint8Array, starts[at] as number);
  }
}

export interface VectorPlaces {
  readonly pages: readonly Uint8Array[];
  readonly starts: readonly number[];
  readonly count: number;
}

function fits({ wanted }: VectorRuler): boolean {
  return wanted.length >= laneCount && wanted.length <= limits.vectorLengthMax;
}

/** Where things are in the memory of a kernel. */
const pageBytes = 65_536;
const listAt = 0;
const outAt = 512;
const wantedAt = 2_048;
const windowAt = wantedAt + limits.vectorLengthMax * Float64Array.BYTES_PER_ELEMENT;
const windowBytes = 4 * pageBytes;
const memoryPages = Math.ceil((windowAt + windowBytes) / pageBytes);

interface Exports {
  readonly m: { readonly buffer: ArrayBuffer };
  readonly f: (list: number, count: number, wanted: number, length: number, out: number) => void;
}

/** One for each metric and thread: it holds nothing between two calls. */
const kernels = new Map<VectorMetric, Kernel | undefined>();

function kernelOf(metric: VectorMetric): Kernel | undefined {
  if (!kernels.has(metric)) kernels.set(metric, openKernel(metric));
  return kernels.get(metric);
}

function openKernel(metric: VectorMetric): Kernel | undefined {
  const { WebAssembly: engine } = globalThis as { readonly WebAssembly?: WebAssemblyEngine };
  if (engine === undefined) return undefined;
  try {
    const module = new engine.Module(vectorProgram(metric, memoryPages));
    return new Kernel(new engine.Instance(module).exports);
  } catch {
    // An engine without vector instructions, or one that compiles nothing.
    return undefined;
  }
}

interface WebAssemblyEngine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
}

class Kernel {
  readonly #run: Exports['f'];
  readonly #bytes: Uint8Array;
  readonly #list: Uint32Array;
  readonly #out: Float64Array;
  readonly #wanted: Float64Array;

  constructor({ m, f }: Exports) {
    this.#run = f;
    this.#bytes = new Uint8Array(m.buffer);
    this.#list = new Uint32Array(m.buffer, listAt, vectorBatchMax);
    this.#out = new Float64Array(m.buffer, outAt, vectorBatchMax * 2);
    this.#wanted = new Float64Array(m.buffer, wantedAt, limits.vectorLengthMax);
  }

  measure(ruler: VectorRuler, places: VectorPlaces, into: Float64Array): void {
    const { wanted } = ruler;
    this.#wanted.set(wanted);
    const whole = wanted.length - (wanted.length % laneCount);
    for (let from = 0; from < places.count; ) {
      const end = this.#load(places, from, wanted.length * elementBytes);
      this.#run(listAt, end - from, wantedAt, whole, outAt);
      for (let at = from; at < end; at++) {
        const sum = this.#out[(at - from) * 2] as number;
        const norm = this.#out[(at - from) * 2 + 1] as number;
        into[at] = ruler.finish(
          sum,
          norm,
          places.pages[at] as Uint8Array,
          places.starts[at] as number,
        );
      }
      from = end;
    }
  }

  /**
   * Copies vectors from `from` on while the window has room for them, and returns the first that it
   * has none for. Neighbours in a page are copied in one go, with what is between them.
   */
  #load({ pages, starts, count }: VectorPlaces, from: number, length: number): number {
    let runPage = pages[from] as Uint8Array;
    let runStart = starts[from] as number;
    let runEnd = runStart;
    let target = windowAt;
    let at = from;
    for (; at < count; at++) {
      const page = pages[at] as Uint8Array;
      const start = starts[at] as number;
      const isNear = page === runPage && start >= runStart && start - runEnd <= length;
      if (!isNear) {
        const next = target + runEnd - runStart;
        if (next + length > windowAt + windowBytes) break;
        this.#bytes.set(runPage.subarray(runStart, runEnd), target);
        [runPage, runStart, target] = [page, start, next];
      } else if (target + start + length - runStart > windowAt + windowBytes) break;
      runEnd = Math.max(isNear ? runEnd : 0, start + length);
      this.#list[at - from] = target + start - runStart;
    }
    this.#bytes.set(runPage.subarray(runStart, runEnd), target);
    return at;
  }
}

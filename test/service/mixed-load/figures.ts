import type { Arrivals } from './drive.ts';

/** One look at what the service holds, after everything that nobody refers to was freed. */
export interface MemorySample {
  /** Since the beginning of the load. */
  readonly second: number;
  /** Heap of the gateway and what its objects hold outside of it. */
  readonly gatewayBytes: number;
  /** The same of the threads of databases; `undefined` where these are processes. */
  readonly databaseBytes: number | undefined;
  /** Array buffers of all of them, which are part of both. */
  readonly bufferBytes: number;
  readonly rowBytes: number;
  readonly indexBytes: number;
  readonly logBytes: number;
  /** Resident, of the service and its processes: information, since no allocator gives all back. */
  readonly residentBytes: number;
  readonly connections: number;
}

/** What was answered in a stretch of time. */
export interface Slice {
  readonly second: number;
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  /** By how much the clients themselves were late: the machine's doing. */
  readonly late99: number;
}

/** A tenth of the run: a minute of ten. */
export interface Part {
  readonly count: number;
  /** Medians of its slices. */
  readonly p50: number;
  readonly p99: number;
  readonly late99: number;
  /** Medians of its samples. */
  readonly memory: Omit<MemorySample, 'second'> | undefined;
}

export interface Verdict {
  /** p99 in the first and in the last fifth of the run: medians of slices. */
  readonly p99Start: number;
  readonly p99End: number;
  /**
   * By how much memory after the first fifth was most different from its beginning: medians of
   * parts, by what holds it.
   */
  readonly drift: Readonly<Record<string, number>>;
}

export const partCount = 10;
/** The first fifth of a run, two minutes of ten, and the last one. */
const warmParts = 2;
/** A slice with fewer has no 99th percentile. */
const sliceArrivalsMin = 100;

export interface Slicing {
  readonly sliceSeconds: number;
  /** Seconds in which the service was made to collect its garbage: what was due then is left out. */
  readonly blindSeconds: ReadonlySet<number>;
}

/** Percentiles of stretches of so many seconds. */
export function slicesOf(arrivals: Arrivals, slicing: Slicing): Slice[] {
  const { sliceSeconds, blindSeconds } = slicing;
  const waits: number[][] = [];
  const lates: number[][] = [];
  for (const [at, second] of arrivals.seconds.entries()) {
    if (blindSeconds.has(second)) continue;
    const slice = Math.floor(second / sliceSeconds);
    waits[slice] ??= [];
    lates[slice] ??= [];
    waits[slice].push(arrivals.millis[at] ?? 0);
    lates[slice].push(arrivals.lateMillis[at] ?? 0);
  }
  return waits.flatMap((millis, slice) => {
    if (millis.length < sliceArrivalsMin) return [];
    const sorted = Float64Array.from(millis).sort();
    const late99 = percentile(Float64Array.from(lates[slice] ?? []).sort(), 0.99);
    const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
    return [{ second: slice * sliceSeconds, count: millis.length, p50, p99, late99 }];
  });
}

export function partsOf(
  slices: readonly Slice[],
  samples: readonly MemorySample[],
  seconds: number,
): Part[] {
  const isIn = (part: number) => (one: { readonly second: number }) =>
    Math.min(partCount - 1, Math.floor((one.second * partCount) / seconds)) === part;
  return Array.from({ length: partCount }, (_, part) => {
    const own = slices.filter(isIn(part));
    return {
      count: own.reduce((sum, { count }) => sum + count, 0),
      p50: median(own.map(({ p50 }) => p50)),
      p99: median(own.map(({ p99 }) => p99)),
      late99: median(own.map(({ late99 }) => late99)),
      memory: medianMemory(samples.filter(isIn(part))),
    };
  });
}

export function verdictOf(
  slices: readonly Slice[],
  parts: readonly Part[],
  seconds: number,
): Verdict {
  const fifth = (seconds * warmParts) / partCount;
  const p99Of = (isWanted: (second: number) => boolean) =>
    median(slices.filter(({ second }) => isWanted(second)).map(({ p99 }) => p99));
  const drift: Record<string, number> = {};
  const steady = parts.slice(warmParts).flatMap(({ memory }) => memory ?? []);
  for (const [name, of] of Object.entries(holders)) {
    const bytes = steady.map(of).filter((value) => value !== undefined);
    const [first = 0] = bytes;
    const furthest = bytes.map((value) => value - first).toSorted(byDistance);
    drift[name] = furthest[0] ?? 0;
  }
  return {
    p99Start: p99Of((second) => second < fifth),
    p99End: p99Of((second) => second >= seconds - fifth),
    drift,
  };
}

/** What has to stay as it is, by name. */
const holders: Readonly<Record<string, (memory: Memory) => number | undefined>> = {
  gateway: ({ gatewayBytes }) => gatewayBytes,
  databases: ({ databaseBytes }) => databaseBytes,
  'array buffers': ({ bufferBytes }) => bufferBytes,
  rows: ({ rowBytes }) => rowBytes,
  indexes: ({ indexBytes }) => indexBytes,
  together: ({ gatewayBytes, databaseBytes }) => gatewayBytes + (databaseBytes ?? 0),
};

type Memory = Omit<MemorySample, 'second'>;

/** Of sorted values. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export function median(values: readonly number[]): number {
  return percentile(Float64Array.from(values).sort(), 0.5);
}

function medianMemory(samples: readonly MemorySample[]): Memory | undefined {
  const [first] = samples;
  if (first === undefined) return undefined;
  const of = (read: (sample: MemorySample) => number) => median(samples.map(read));
  const isKnown = first.databaseBytes !== undefined;
  return {
    gatewayBytes: of(({ gatewayBytes }) => gatewayBytes),
    databaseBytes: isKnown ? of(({ databaseBytes }) => databaseBytes ?? 0) : undefined,
    bufferBytes: of(({ bufferBytes }) => bufferBytes),
    rowBytes: of(({ rowBytes }) => rowBytes),
    indexBytes: of(({ indexBytes }) => indexBytes),
    logBytes: of(({ logBytes }) => logBytes),
    residentBytes: of(({ residentBytes }) => residentBytes),
    connections: of(({ connections }) => connections),
  };
}

function byDistance(one: number, other: number): number {
  return Math.abs(other) - Math.abs(one);
}

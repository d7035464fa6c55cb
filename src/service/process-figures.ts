import { statfs } from 'node:fs';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { Gauge, Histogram, Registry } from 'prom-client';
import { derived } from '../http/instruments.ts';
import { descriptorsMax, openDescriptors } from '../node/open-descriptors.ts';

/** The histogram records the time between ticks, of which this much is expected. */
const delayResolutionMillis = 10;
const quantiles = [0.5, 0.99, 0.999, 1];

/**
 * Measures the service's own process: event loop delay, garbage collection time, descriptors, and
 * free disk space of the data folder. Cleanup functions are pushed to `releases`.
 */
export function measureProcess(
  dataDirectory: string | undefined,
  releases: (() => void)[],
): Registry {
  const registry = new Registry();
  releases.push(measureDelays(registry), measureCollections(registry));
  measureDescriptors(registry);
  if (dataDirectory !== undefined) measureDisk(registry, dataDirectory);
  return registry;
}

function measureDelays(registry: Registry): () => void {
  const delays = monitorEventLoopDelay({ resolution: delayResolutionMillis });
  delays.enable();
  const what = {
    name: 'reducerdb_event_loop_delay_seconds',
    help: 'How late the event loop was since the last scrape, by quantile; 1 is the worst',
  };
  derived(registry, what, 'summary', () => {
    const samples = quantiles.map((quantile) => {
      const millis = delays.percentile(quantile * 100) / 1e6 - delayResolutionMillis;
      return { labels: { quantile: String(quantile) }, value: Math.max(0, millis) / 1_000 };
    });
    delays.reset();
    return samples;
  });
  return () => delays.disable();
}

/** By Node's numeric constants. */
const collectionKinds: Readonly<Record<number, string>> = {
  1: 'minor',
  2: 'minor',
  4: 'major',
  8: 'incremental',
  16: 'weak',
};

function measureCollections(registry: Registry): () => void {
  const times = new Histogram({
    name: 'reducerdb_garbage_collection_seconds',
    help: 'Time that the process paused to collect garbage',
    labelNames: ['kind'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [registry],
  });
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as { detail?: { kind?: number } }).detail ?? {};
      times.observe({ kind: collectionKinds[kind ?? 0] ?? 'other' }, entry.duration / 1_000);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}

function measureDescriptors(registry: Registry): void {
  if (openDescriptors() === undefined) return;
  const countMax = descriptorsMax();
  new Gauge({
    name: 'reducerdb_open_descriptors',
    help: 'Files and sockets that the process has open',
    registers: [registry],
    collect() {
      // If no descriptor is left for counting, all are in use.
      this.set(openDescriptors() ?? countMax ?? 0);
    },
  });
  if (countMax === undefined) return;
  new Gauge({
    name: 'reducerdb_descriptors_max',
    help: 'Files and sockets that the system lets the process have open',
    registers: [registry],
  }).set(countMax);
}

function measureDisk(registry: Registry, folder: string): void {
  const stat = promisify(statfs);
  new Gauge({
    name: 'reducerdb_disk_bytes',
    help: 'The disk of the data folder: its size, and what the service may still write',
    labelNames: ['part'],
    registers: [registry],
    async collect() {
      this.reset();
      // A failing disk must not hide all other figures.
      const found = await stat(folder).catch(() => undefined);
      if (found === undefined) return;
      this.set({ part: 'size' }, found.blocks * found.bsize);
      this.set({ part: 'free' }, found.bavail * found.bsize);
    },
  });
}

/**
 * What a process for each database costs over a thread for each, side by side in one run: durable
 * transfers, the time that one caller waits, the start of a database, and memory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Isolation } from '../src/host/workers/isolation.ts';
import { limits } from '../src/limits.ts';
import type { Service, startService } from '../src/service/start-service.ts';
import { identityToHex } from '../src/values/identity.ts';
import { oneWaitingCaller, openBank, throughHandle } from './load/bank.ts';
import { takenMebibytes } from './load/taken-memory.ts';
import { median } from './transfer/one-sync.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly ratio?: number;
}

interface Measured {
  readonly transfers: number;
  readonly waitingMillis: number;
  readonly startMillis: number;
  readonly mebibytes: number;
}

/** The service as it is shipped: from source, a worker is another file. */
const shipped = new URL('../dist/service/index.js', import.meta.url).href;

interface Shipped {
  readonly startService: typeof startService;
}

/** Rounds of threads and processes in turn; of each figure the median counts. */
const rounds = 5;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const threads: Measured[] = [];
  const processes: Measured[] = [];
  for (let round = 0; round < Math.ceil(rounds * Math.min(scale, 1)); round += 1) {
    threads.push(await measure('thread', scale));
    processes.push(await measure('process', scale));
  }
  const of = (all: readonly Measured[], what: keyof Measured) => median(all.map((m) => m[what]));
  const figure = (name: string, unit: string, what: keyof Measured): Figure[] => {
    const [thread, process] = [of(threads, what), of(processes, what)];
    const ratio = unit.endsWith('/s') ? thread / process : process / thread;
    return [
      { name: `${name}, threads`, unit, value: thread },
      { name: `${name}, processes`, unit, value: process, ratio },
    ];
  };
  return [
    ...figure('320 in flight, durable reply', 'transfers/s', 'transfers'),
    ...figure('one caller waiting, median of a durable reply', 'ms', 'waitingMillis'),
    ...figure('start of a database that is there, median', 'ms', 'startMillis'),
    ...figure('memory of a database that was started', 'MiB', 'mebibytes'),
  ];
}

async function measure(everywhere: Isolation, scale: number): Promise<Measured> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    const transfers = Math.ceil(100_000 * scale);
    const first = await start(folder, everywhere);
    const database = await openBank(first);
    await throughHandle(first, database, transfers);
    const busy = await throughHandle(first, database, transfers);
    const waitingMillis = await oneWaitingCaller(first, database, Math.ceil(500 * scale));
    await first.stop();
    const { startMillis, mebibytes } = await measureStarts(
      everywhere,
      Math.max(Math.ceil(8 * scale), 3),
    );
    return { transfers: busy, waitingMillis, startMillis, mebibytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Memory of many databases; the time until one that was closed answers its first request, in a
 * service that runs and has opened those that it opens by itself.
 */
async function measureStarts(everywhere: Isolation, count: number) {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-many-'));
  try {
    const names = Array.from({ length: count + limits.startDatabasesMax }, (_, at) => `bank-${at}`);
    const first = await start(folder, everywhere);
    const before = takenMebibytes();
    for (const name of names) await openBank(first, name);
    const mebibytes = (takenMebibytes() - before) / names.length;
    await first.stop();
    const again = await start(folder, everywhere);
    const opening: number[] = [];
    for (const handle of await closedDatabases(again, count)) {
      const started = performance.now();
      await handle.describe();
      opening.push(performance.now() - started);
    }
    await again.stop();
    return { startMillis: median(opening), mebibytes: Math.max(mebibytes, 0.1) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As many as are still closed once the service has opened the others. */
async function closedDatabases({ host }: Service, count: number) {
  for (;;) {
    const { databases } = host.statistics();
    const closed = databases.filter(({ state }) => state === 'closed');
    const serving = databases.filter(({ state }) => state === 'serving');
    if (closed.length === count && serving.length === databases.length - count) {
      return closed.map(({ identity }) => host.database(identityToHex(identity)).handle);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function start(dataDirectory: string, everywhere: Isolation): Promise<Service> {
  const { startService } = (await import(shipped)) as Shipped;
  return startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory,
    logLevel: 'silent',
    isolation: { everywhere },
  });
}

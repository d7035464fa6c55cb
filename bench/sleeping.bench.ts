/**
 * A service with 10,000 databases that sleep, of which 100 are woken, one after the other: its memory
 * before and after, how long they take to wake, and what is kept for one that falls asleep again.
 * Bars: with 100 awake 4 GiB on threads and 10 GiB in processes; 500 ms to wake one with 10,000
 * rows; 64 KiB for one that sleeps.
 */
import {
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { copyLog } from '../src/host/backups/copy-log.ts';
import { DatabaseFiles } from '../src/host/registry/database-files.ts';
import { openRegistry } from '../src/host/registry/open-registry.ts';
import { type Registry, registryOwner } from '../src/host/registry/registry.ts';
import { registryReducers } from '../src/host/registry/registry-module.ts';
import type { RegisteredDatabase } from '../src/host/registry/registry-rows.ts';
import { temporaryConnection } from '../src/host/supervision/temporary-connection.ts';
import type { Isolation } from '../src/host/workers/isolation.ts';
import { MachineClock } from '../src/node/clock.ts';
import { MachineEntropy } from '../src/node/entropy.ts';
import type { Service, startService } from '../src/service/start-service.ts';
import { ownerRights } from '../src/sql/rights.ts';
import { connectionNumber } from '../src/values/connection-number.ts';
import { encodeValue } from '../src/values/encode.ts';
import { identityToHex } from '../src/values/identity.ts';
import { asCaller, databaseIdentity } from '../src/values/identity-roles.ts';
import { openBank } from './load/bank.ts';
import { takenMebibytes } from './load/taken-memory.ts';
import { median } from './transfer/one-sync.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly bar?: string;
}

/** The service as it is shipped: from source, a worker is another file. */
const shipped = new URL('../dist/service/index.js', import.meta.url).href;

interface Shipped {
  readonly startService: typeof startService;
}

/** Databases that exist, and those that are woken. */
const manyCount = 10_000;
const awakeCount = 100;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const count = Math.max(Math.ceil(manyCount * scale), 4);
  const awake = Math.max(Math.ceil(awakeCount * scale), 2);
  const root = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-sleeping-'));
  try {
    const folder = path.join(root, 'data');
    const identities = await prepare(folder, count, 3 * awake);
    return [
      ...(await measure(folder, 'thread', identities.slice(0, awake))),
      ...(await measure(folder, 'process', identities.slice(awake, 2 * awake))),
      ...(await measureSleep(
        folder,
        { count, scale },
        { warm: identities.slice(0, awake), woken: identities.slice(2 * awake) },
      )),
    ];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function measure(folder: string, everywhere: Isolation, woken: readonly string[]) {
  const startedAt = performance.now();
  const service = await start(folder, everywhere, 600_000);
  const startMillis = performance.now() - startedAt;
  const asleepMebibytes = takenMebibytes();
  const wakeMillis: number[] = [];
  for (const identity of woken) wakeMillis.push(await wake(service, identity));
  const mebibytes = takenMebibytes();
  // A start also opens a few that were awake at the last end.
  const count = awakeIn(service);
  if (count < woken.length) throw new Error(`${count} serve`);
  await service.stop();
  const sorted = [...wakeMillis].sort((one, other) => one - other);
  const gibibytes = everywhere === 'thread' ? 4 : 10;
  const figure = (name: string, unit: string, value: number, bar?: string): Figure => {
    return { name: `${name} (${everywhere})`, unit, value, ...(bar !== undefined && { bar }) };
  };
  return [
    figure('start with all of them asleep', 'ms', startMillis),
    figure('memory with all of them asleep', 'MiB', asleepMebibytes),
    figure(
      `memory with ${woken.length} awake`,
      'MiB',
      mebibytes,
      `at most ${gibibytes} GiB with ${awakeCount} of ${manyCount}`,
    ),
    figure('waking one, p50', 'ms', median(wakeMillis), 'at most 500'),
    figure('waking one, p99', 'ms', sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0),
  ];
}

/** What a database costs that was never awake, and what more if it has been. */
async function measureSleep(
  folder: string,
  { count, scale }: { readonly count: number; readonly scale: number },
  { warm, woken }: { readonly warm: readonly string[]; readonly woken: readonly string[] },
) {
  const none = heapBytes();
  const service = await start(folder, 'thread', 1_000);
  const never = Math.max((heapBytes() - none) / count, 1);
  const wakeAndSleep = async (identities: readonly string[]): Promise<number> => {
    for (const identity of identities) await wake(service, identity);
    const started = performance.now();
    while (awakeIn(service) > 0) {
      if (performance.now() - started > 600_000) throw new Error('they do not fall asleep');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // Timers of the last openings hold a little for 30 s.
    await new Promise((resolve) => setTimeout(resolve, 31_000 * Math.min(scale, 1)));
    return heapBytes();
  };
  const before = await wakeAndSleep(warm);
  const more = ((await wakeAndSleep(woken)) - before) / woken.length;
  await service.stop();
  return [
    { name: 'kept for one that has not been awake', unit: 'KiB', value: never / 1_024 },
    {
      name: 'kept for one that fell asleep',
      unit: 'KiB',
      value: (never + Math.max(more, 0)) / 1_024,
      bar: 'at most 64',
    },
  ];
}

function awakeIn({ host }: Service): number {
  const awake = ['opening', 'serving'];
  return host.statistics().databases.filter(({ state }) => awake.includes(state)).length;
}

async function wake({ host }: Service, identity: string): Promise<number> {
  const startedAt = performance.now();
  await host.database(identity).handle.describe();
  return performance.now() - startedAt;
}

/** Heap of this thread, and buffers outside of it, after a collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * A data folder with one database that sleeps, and copies of it that the registry names, too. The
 * first `wholeCount` can be opened. Returns their identities.
 */
async function prepare(folder: string, count: number, wholeCount: number): Promise<string[]> {
  const first = await start(folder, 'thread', 1_000);
  const { identity, owner, hostType, initialProgram, createdMicros } = await openBank(first);
  const handle = first.host.database('bank').handle;
  await handle.disconnect(connectionNumber(1n));
  while (handle.statistics().state !== 'asleep') {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await first.stop();
  // A log is of one database; a copy of it says where it comes from.
  const original = path.join(folder, 'databases', identityToHex(identity));
  const template = path.join(folder, '..', 'template');
  copyFolder(original, template, true);
  rmSync(path.join(template, 'log-1'), { recursive: true });
  await copyLog(path.join(original, 'log-1'), path.join(template, 'log-1'));
  const copies = Array.from({ length: count - 1 }, (_, at) => databaseIdentity(BigInt(at + 1_000)));
  for (const [at, copy] of copies.entries()) {
    const home = path.join(folder, 'databases', identityToHex(copy));
    copyFolder(template, home, at < wholeCount);
  }
  const clock = new MachineClock();
  const entropy = new MachineEntropy();
  const registry = await openRegistry(
    { clock, entropy, report: () => undefined },
    new DatabaseFiles(folder),
  );
  const record: Omit<RegisteredDatabase, 'identity'> = {
    ...{ owner, hostType, initialProgram, createdMicros },
    ...{ isLocked: false, generation: 1 },
  };
  await Promise.all(copies.map((copy) => register(registry, { ...record, identity: copy })));
  await registry.close();
  return copies.slice(0, wholeCount).map(identityToHex);
}

/** Without reading all others again after each. */
async function register({ handle }: Registry, record: RegisteredDatabase): Promise<void> {
  const { identity, owner, hostType, initialProgram, createdMicros, generation } = record;
  const values = [identity, owner, hostType, initialProgram, createdMicros, false, generation];
  const { schemaVersion } = await handle.describe();
  const outcome = await handle.call({
    caller: { identity: asCaller(registryOwner), rights: ownerRights, jwtPayload: '' },
    connection: temporaryConnection(),
    reducer: 'put_database',
    args: encodeValue(registryReducers.put_database, values),
    schemaVersion,
    confirmed: true,
  });
  if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
}

/** Copies a folder; one that is not whole has the same files, and must not be opened. */
function copyFolder(from: string, to: string, isWhole: boolean): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target, isWhole);
    else if (isWhole) copyFile(source, target);
    else linkSync(source, target);
  }
}

/** The space that is reserved at the end of a segment stays a hole. */
function copyFile(source: string, target: string): void {
  const bytes = readFileSync(source);
  const { mode, size } = statSync(source);
  const file = openSync(target, 'wx', mode);
  writeSync(file, bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1));
  ftruncateSync(file, size);
  closeSync(file);
}

async function start(
  dataDirectory: string,
  everywhere: Isolation,
  sleepAfterMillis: number,
): Promise<Service> {
  const { startService } = (await import(shipped)) as Shipped;
  return startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory,
    logLevel: 'silent',
    isolation: { everywhere },
    sleepAfterMillis,
  });
}

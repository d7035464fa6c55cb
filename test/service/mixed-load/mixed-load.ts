import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LoadProcess } from '../../../bench/load/load-process.ts';
import { buildModule } from '../../../src/bundle/build-module.ts';
import type { Isolation } from '../../../src/host/workers/isolation.ts';
import { descendantsOf, processorSeconds, residentBytes } from '../descendants.ts';
import { figureIn } from '../figure.ts';
import { type RunningService, Sandbox } from '../harness.ts';
import type { Person } from '../running.ts';
import { Inspector } from '../soak/inspector.ts';
import type { Arrivals } from './drive.ts';
import {
  type MemorySample,
  type Part,
  partsOf,
  type Slice,
  slicesOf,
  type Verdict,
  verdictOf,
} from './figures.ts';
import type { MixedLoad, Settled } from './load.ts';

export interface MixedLoadOptions {
  readonly seed: number;
  readonly isolation: Isolation;
  /** How long the load is held. */
  readonly seconds: number;
  /** A stretch with percentiles of its own, which begins with a look at memory. */
  readonly sliceSeconds: number;
  /** Requests in flight while the capacity is measured, one number after another, each so long. */
  readonly levels: readonly number[];
  readonly levelSeconds: number;
  /** The part of the capacity that is held. */
  readonly share: number;
  /** Arrivals a second; given, no capacity is measured before. */
  readonly perSecond?: number | undefined;
  readonly itemCount: number;
  readonly watcherCount: number;
  /** Told of what is under way. */
  readonly log: (line: string) => void;
}

export interface MixedLoadReport {
  /** Answers a second, by requests in flight; the capacity is the largest. */
  readonly levels: readonly (readonly [number, number])[];
  readonly perSecond: number;
  readonly seconds: number;
  readonly arrivals: Arrivals;
  readonly samples: readonly MemorySample[];
  readonly slices: readonly Slice[];
  readonly parts: readonly Part[];
  readonly verdict: Verdict;
  /** Processor time of the service while the load was held. */
  readonly cpuSeconds: number;
  readonly settled: Settled;
  /** What SQL showed otherwise than acknowledged, and after the service was killed. */
  readonly missing: readonly string[];
  readonly missingAfterKill: readonly string[];
}

const database = 'market';
const personCount = 6;
const fillCount = 5_000;
/** For how long the service is given to be as it was after its garbage was collected. */
const calmMillis = 1_000;

/**
 * Runs a service in a process of its own under clients of all kinds, which are another process:
 * measures how much of this mix it answers, then holds a part of that by the clock, and looks at
 * its memory all the time. At the end everything that was acknowledged is looked for: by those who
 * watch, by SQL, and once more after the service was killed.
 */
export async function mixedLoad(options: MixedLoadOptions): Promise<MixedLoadReport> {
  const sandbox = await Sandbox.make();
  const flags = ['--log-level', 'error', '--isolation', options.isolation];
  let service = await sandbox.startInspected(flags);
  const file = fileURLToPath(new URL('./load.ts', import.meta.url));
  const load = await LoadProcess.start<MixedLoad>(file);
  try {
    const { url, port } = sandbox;
    const tokens = await prepare(url, options.itemCount);
    const { itemCount, watcherCount, seed } = options;
    await load.ask('open', { url, port, database, tokens, itemCount, watcherCount, seed });
    const levels = await levelsOf(load, options);
    const capacity = Math.max(...levels.map(([, perSecond]) => perSecond));
    const perSecond = options.perSecond ?? capacity * options.share;
    options.log(`held from here on: ${Math.round(perSecond)} arrivals/s`);
    const held = await hold(service, load, { ...options, perSecond });
    const settled = await load.ask('settle', {});
    const missing = await missingIn(url, settled);
    await load.stop();
    service.child.kill('SIGKILL');
    await service.ended;
    service = await sandbox.start(['--isolation', options.isolation]);
    const missingAfterKill = await missingIn(url, settled);
    const { seconds } = options;
    return { levels, perSecond, seconds, ...held, settled, missing, missingAfterKill };
  } finally {
    await load.stop();
    service.child.kill('SIGKILL');
    await service.ended;
    sandbox.remove();
  }
}

/** The tokens of those who call. */
async function prepare(url: string, itemCount: number): Promise<string[]> {
  const must = async (path: string, init: RequestInit): Promise<string> => {
    const answer = await fetch(`${url}${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  };
  const people: Person[] = [];
  while (people.length < personCount) {
    people.push(JSON.parse(await must('/v1/identity', { method: 'POST' })));
  }
  const headers = { authorization: `Bearer ${people[0]?.token}` };
  const module = fileURLToPath(new URL('./market.ts', import.meta.url));
  const body = new Uint8Array((await buildModule(module)).program);
  await must(`/v1/database/${database}?host_type=Js`, { method: 'PUT', headers, body });
  for (let from = 0; from < itemCount; from += fillCount) {
    const args = JSON.stringify([from, Math.min(itemCount, from + fillCount)]);
    const asJson = { ...headers, 'content-type': 'application/json' };
    const where = `/v1/database/${database}/call/fill`;
    await must(where, { method: 'POST', headers: asJson, body: args });
  }
  return people.map(({ token }) => token);
}

/** How many requests a second are answered, by how many are in flight. */
async function levelsOf(
  load: LoadProcess<MixedLoad>,
  { levels, levelSeconds, perSecond, log }: MixedLoadOptions,
): Promise<[number, number][]> {
  // What the compilers have to learn is not measured, neither here nor later.
  await load.ask('flood', { inFlight: levels[0] ?? 1, seconds: 2 * levelSeconds });
  if (perSecond !== undefined) return [];
  const measured: [number, number][] = [];
  for (const inFlight of levels) {
    const answered = await load.ask('flood', { inFlight, seconds: levelSeconds });
    measured.push([inFlight, answered]);
    log(`${inFlight} requests in flight: ${Math.round(answered)} answers/s`);
  }
  return measured;
}

type Held = Pick<
  MixedLoadReport,
  'arrivals' | 'samples' | 'slices' | 'parts' | 'verdict' | 'cpuSeconds'
>;

async function hold(
  service: RunningService,
  load: LoadProcess<MixedLoad>,
  { perSecond, seconds, sliceSeconds, isolation, log }: MixedLoadOptions & { perSecond: number },
): Promise<Held> {
  const inspector = await Inspector.open(service.output);
  const samples: MemorySample[] = [];
  const collections: [number, number][] = [];
  const cpuBefore = sum(processesOf(service).map(processorSeconds));
  const begin = Date.now();
  let isOver = false;
  const paced = load.ask('pace', { perSecond, seconds }).finally(() => {
    isOver = true;
  });
  const look = async (): Promise<void> => {
    for (let slice = 0; slice * sliceSeconds < seconds; slice += 1) {
      await pause(Math.max(0, begin + slice * sliceSeconds * 1_000 - Date.now()));
      if (isOver) return;
      const from = Date.now();
      const second = (from - begin) / 1_000;
      const sample = await sampleOf(service, inspector, { second, isolation });
      const to = Date.now();
      collections.push([from, to + calmMillis]);
      samples.push(sample);
      log(JSON.stringify({ ...sample, lookMillis: to - from }));
    }
  };
  try {
    const [arrivals] = await Promise.all([paced, look()]);
    const cpuSeconds = sum(processesOf(service).map(processorSeconds)) - cpuBefore;
    const blindSeconds = secondsOf(collections, arrivals.beginMillis);
    const slices = slicesOf(arrivals, { sliceSeconds, blindSeconds });
    const parts = partsOf(slices, samples, seconds);
    const verdict = verdictOf(slices, parts, seconds);
    return { arrivals, samples, slices, parts, verdict, cpuSeconds };
  } finally {
    inspector.close();
  }
}

/** Every second that has a part in one of the spans. */
function secondsOf(spans: readonly (readonly [number, number])[], beginMillis: number) {
  const seconds = new Set<number>();
  for (const [from, to] of spans) {
    const first = Math.floor((from - beginMillis) / 1_000);
    const last = Math.floor((to - beginMillis) / 1_000);
    for (let second = first; second <= last; second += 1) seconds.add(second);
  }
  return seconds;
}

async function sampleOf(
  service: RunningService,
  inspector: Inspector,
  { second, isolation }: { readonly second: number; readonly isolation: Isolation },
): Promise<MemorySample> {
  const threads = [inspector.main, ...inspector.workers];
  const memories = [];
  for (const thread of threads) memories.push(await thread.workingMemory());
  const [gateway, ...workers] = memories.map(({ heldBytes }) => heldBytes);
  const answer = await fetch(`${service.url}/v1/metrics`, { headers: { connection: 'close' } });
  const text = await answer.text();
  return {
    second,
    gatewayBytes: gateway ?? 0,
    databaseBytes: isolation === 'thread' ? sum(workers) : undefined,
    bufferBytes: sum(memories.map(({ bufferBytes }) => bufferBytes)),
    rowBytes: figureIn(text, 'row_bytes'),
    indexBytes: figureIn(text, 'index_bytes'),
    logBytes: figureIn(text, 'log_bytes'),
    residentBytes: sum(processesOf(service).map(residentBytes)),
    connections: figureIn(text, 'connections'),
  };
}

function processesOf({ child: { pid } }: RunningService): number[] {
  return pid === undefined ? [] : [pid, ...descendantsOf(pid)];
}

/** What SQL shows otherwise than it was acknowledged. */
async function missingIn(url: string, { changes, entries }: Settled): Promise<string[]> {
  const rows = async (statement: string): Promise<number[][]> => {
    const where = `${url}/v1/database/${database}/sql`;
    const answer = await fetch(where, { method: 'POST', body: statement });
    if (answer.status !== 200) throw new Error(`${statement}: ${await answer.text()}`);
    return ((await answer.json()) as [{ rows: number[][] }])[0].rows;
  };
  const counts = new Map((await rows('SELECT id, changes FROM item')) as [number, number][]);
  const wrong = [...changes.entries()]
    .filter(([id, count]) => counts.get(id) !== count)
    .map(([id, count]) => `item ${id}: ${counts.get(id)} changes, acknowledged were ${count}`);
  const found = (await rows('SELECT id FROM entry')).flat().toSorted((one, other) => one - other);
  const expected = entries.toSorted((one, other) => one - other);
  if (found.join() === expected.join()) return wrong;
  return [...wrong, `entries: ${found.length} are there, acknowledged were ${expected.length}`];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

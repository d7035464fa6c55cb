/**
 * From a commit to those who watch, over WebSockets: many who watch one query, as many who watch a
 * query each, and what a commit costs while few or many other queries are watched. Callers and
 * watchers are processes of their own; the service is in this one, so its processor time and memory
 * are measured here. Every update was durable before it was told.
 */
import type { Caller } from './load/caller.ts';
import { LoadProcess } from './load/load-process.ts';
import { type BenchService, serviceWith } from './load/service.ts';
import type { Watch, Watchers } from './load/watchers.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const subscribers = 1_000;
const commitsPerSecond = 1_000;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const size = { watchers: Math.max(2, Math.round(subscribers * scale)), seconds: 10 * scale };
  return [
    ...(await fanOut('one query', { ...size, text: 'SELECT * FROM score WHERE id = 0', ids: 1 })),
    ...(await fanOut('a query each', {
      ...size,
      text: 'SELECT * FROM score WHERE id = #',
      ids: size.watchers,
    })),
    ...(await costs(scale)),
  ];
}

interface FanOut {
  readonly watchers: number;
  readonly seconds: number;
  readonly text: string;
  /** Rows that are put in turn. */
  readonly ids: number;
}

async function fanOut(what: string, { watchers, seconds, text, ids }: FanOut): Promise<Figure[]> {
  return withLoads(async ({ port }, caller, crowd) => {
    await caller.ask('call', { reducer: 'open', args: [ids] });
    const bytesBefore = await residentBytes();
    await crowd.ask('watch', {
      ...boardOf(port),
      connections: watchers,
      sets: 1,
      queries: 1,
      text,
    });
    const bytesEach = ((await residentBytes()) - bytesBefore) / watchers;
    const perCommit = ids === 1 ? watchers : 1;
    // What the compiler has to learn is not measured.
    await caller.ask('pace', { perSecond: commitsPerSecond, seconds: seconds / 5, ids });
    await crowd.ask('begin', {});
    const cpuBefore = process.cpuUsage();
    const started = performance.now();
    const replies = await caller.ask('pace', { perSecond: commitsPerSecond, seconds, ids });
    const updates = replies.count * perCommit;
    const told = await crowd.ask('report', { updates, millisMax: 60_000 });
    const elapsed = (performance.now() - started) / 1000;
    const cpu = cpuSeconds(cpuBefore);
    const name = `${watchers} watch ${what}, ${commitsPerSecond} commits/s`;
    if (told.count !== updates) throw new Error(`${name}: ${told.count} of ${updates} were told`);
    return [
      { name: `${name}: updates`, unit: 'updates/s', value: told.count / elapsed },
      { name: `${name}: call to update, median`, unit: 'ms', value: told.p50 },
      { name: `${name}: call to update, p99`, unit: 'ms', value: told.p99 },
      { name: `${name}: call to reply, p99`, unit: 'ms', value: replies.p99 },
      { name: `${name}: processor time of the service`, unit: 's/s', value: cpu / elapsed },
      {
        name: `${name}: processor time of the watchers`,
        unit: 's/s',
        value: told.cpuSeconds / elapsed,
      },
      {
        name: `${name}: processor time for an update`,
        unit: 'µs',
        value: (cpu * 1e6) / told.count,
      },
      { name: `${name}: memory a watcher`, unit: 'KiB', value: Math.max(1, bytesEach / 1024) },
    ];
  });
}

/** What a commit costs the service, by how many queries are watched and how many it concerns. */
async function costs(scale: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  const most = Math.max(20, Math.round(100_000 * scale));
  for (const watched of [10, Math.min(1_000, most), most]) {
    figures.push(await cost(watched, 1, scale));
  }
  for (const concerned of [10, 100]) figures.push(await cost(most, concerned, scale));
  return figures;
}

async function cost(watched: number, concerned: number, scale: number): Promise<Figure> {
  return withLoads(async ({ port }, caller, crowd) => {
    await caller.ask('call', { reducer: 'open', args: [1] });
    const board = boardOf(port);
    const concernedText = 'SELECT * FROM score WHERE id = 0 AND points <> 4000000#';
    const others = watched - concerned;
    await crowd.ask('watch', { ...board, ...spread(others, 100), text: otherText });
    await crowd.ask('watch', { ...board, ...spread(concerned, 1), text: concernedText });
    const calls = Math.max(64, Math.round(20_000 * scale));
    await caller.ask('flood', { inFlight: 64, calls, ids: 1 });
    await crowd.ask('begin', {});
    const cpuBefore = process.cpuUsage();
    await caller.ask('flood', { inFlight: 64, calls, ids: 1 });
    const updates = calls;
    const told = await crowd.ask('report', { updates, millisMax: 60_000 });
    if (told.count < updates) throw new Error(`${told.count} of ${updates} updates were told`);
    const name = `a commit, ${watched} queries watched, ${concerned} of them concerned`;
    return { name, unit: 'µs of processor', value: (cpuSeconds(cpuBefore) * 1e6) / calls };
  });
}

/** Rows that nobody puts. */
const otherText = 'SELECT * FROM score WHERE id = 1#';

/** So many queries over at most so many connections. */
function spread(
  queries: number,
  connectionsMax: number,
): Pick<Watch, 'connections' | 'sets' | 'queries'> {
  const connections = Math.min(queries, connectionsMax);
  return { connections, sets: 1, queries: Math.round(queries / connections) };
}

type Work<Result> = (
  service: BenchService,
  caller: LoadProcess<Caller>,
  crowd: LoadProcess<Watchers>,
) => Promise<Result>;

async function withLoads<Result>(work: Work<Result>): Promise<Result> {
  const service = await serviceWith('board');
  const caller = await LoadProcess.start<Caller>('caller.ts');
  const crowd = await LoadProcess.start<Watchers>('watchers.ts');
  try {
    await caller.ask('connect', boardOf(service.port));
    return await work(service, caller, crowd);
  } finally {
    await caller.stop();
    await crowd.stop();
    await service.stop();
  }
}

function boardOf(port: number) {
  return { port, database: 'board' };
}

function cpuSeconds(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** After a moment for what is being let go. */
async function residentBytes(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 200));
  return process.memoryUsage.rss();
}

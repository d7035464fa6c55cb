/**
 * From a commit to those who watch, over WebSockets: many who watch one query, as many who watch a
 * query each, and what a commit costs while few or many other queries are watched. Callers and
 * watchers are processes of their own; the service is in this one, so its processor time and memory
 * are measured here. Every update was durable before it was told. Last, what one who watches all
 * rows costs a load that is as fast as it can be, by how the load is spread over the rows.
 */
import { LoadProcess } from './load/load-process.ts';
import type { Payers, Payments } from './load/payers.ts';
import type { Watch } from './load/watchers.ts';
import { cpuSeconds, withLoads } from './load/with-loads.ts';
import { median } from './transfer/one-sync.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** Of the same run. */
  readonly baseline?: number;
  readonly bar?: string;
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
    ...(await besideTransfers(scale)),
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

const accounts = 100_000;

/** Transfers as fast as they are answered, by turns with nobody and with one who watches it all. */
async function besideTransfers(scale: number): Promise<Figure[]> {
  const payers = await LoadProcess.start<Payers>('payers.ts');
  try {
    return await withLoads(async ({ port }, caller, crowd) => {
      const bank = { port, database: 'bank' };
      await caller.ask('call', { reducer: 'open', args: [accounts, 1_000_000_000, 0] });
      const text = 'SELECT * FROM account';
      const watch = { ...bank, connections: 1, sets: 1, queries: 1, text };
      const rounds = Math.max(1, Math.round(5 * Math.min(1, 10 * scale)));
      const figures: Figure[] = [];
      for (const exponent of [0, 1.5]) {
        const payments = { ...bank, accounts, exponent, millis: Math.max(100, 4_000 * scale) };
        const alone: Transfers[] = [];
        const watched: Transfers[] = [];
        for (let round = 0; round < rounds; round += 1) {
          alone.push(await transfers(payers, payments));
          await crowd.ask('watch', watch);
          await crowd.ask('begin', {});
          watched.push(await transfers(payers, payments));
          const { count } = await crowd.ask('report', { updates: 1, millisMax: 60_000 });
          if (count === 0) throw new Error('no transfer was told');
          await crowd.ask('leave', {});
        }
        figures.push(...besideFigures(exponent, alone, watched));
      }
      return figures;
    }, 'bank');
  } finally {
    await payers.stop();
  }
}

interface Transfers {
  readonly perSecond: number;
  /** Processor time of the service for one transfer. */
  readonly micros: number;
}

async function transfers(payers: LoadProcess<Payers>, payments: Payments): Promise<Transfers> {
  const before = process.cpuUsage();
  const { perSecond, count } = await payers.ask('pay', payments);
  return { perSecond, micros: (cpuSeconds(before) * 1e6) / count };
}

function besideFigures(
  exponent: number,
  alone: readonly Transfers[],
  watched: readonly Transfers[],
): Figure[] {
  const spread = exponent === 0 ? 'uniform' : `Zipf's law, exponent ${exponent}`;
  const name = `transfers, ${spread}, one watches all accounts`;
  const of = (list: readonly Transfers[], key: keyof Transfers) =>
    median(list.map((one) => one[key]));
  return [
    {
      name,
      unit: 'transfers/s',
      value: of(watched, 'perSecond'),
      baseline: of(alone, 'perSecond'),
    },
    {
      name: `${name}: processor time for one`,
      unit: 'µs',
      value: of(watched, 'micros'),
      baseline: of(alone, 'micros'),
    },
  ];
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

function boardOf(port: number) {
  return { port, database: 'board' };
}

/** After a moment for what is being let go. */
async function residentBytes(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 200));
  return process.memoryUsage.rss();
}

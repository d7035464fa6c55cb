/**
 * The transfer reducer (2 reads, 2 updates) over real WebSockets, from call to durable reply, beside
 * a Node HTTP server that does the same on SQLite or PostgreSQL. Every system runs in processes of
 * its own, the load in this one; all share one machine. Replies are all checked, and so is the sum of
 * all balances at the end of each load.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { httpLoad } from './transfer/http-load.ts';
import type { Load } from './transfer/load.ts';
import { type Measured, Meter } from './transfer/meter.ts';
import { oneSyncMillis } from './transfer/one-sync.ts';
import { hasPostgres, startPostgres } from './transfer/postgres.ts';
import { type BankServer, startPeer, startProduct } from './transfer/servers.ts';
import { socketLoad } from './transfer/socket-load.ts';
import { skewed, uniform, type Workload } from './transfer/workload.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly p50Millis?: number;
  readonly p99Millis?: number;
  /** What a reply promised. */
  readonly durability?: string;
  /** How many times as long as the baseline it took. */
  readonly ratio?: number;
  readonly bar?: string;
}

const accounts = 100_000;
const balance = 1_000_000_000;
const inFlight = 40;

/** `peers`: also measure the peers, whose packages must be installed (`bench/peers`). */
export async function benchmarks(scale: number, { peers = false } = {}): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  // PostgreSQL, which runs as another user, has its folder in here.
  chmodSync(folder, 0o755);
  const banks: Bank[] = [];
  try {
    const systems = [product, ...(peers ? [sqlite, ...(hasPostgres() ? [postgres] : [])] : [])];
    for (const [at, system] of systems.entries()) {
      const server = await system.start(path.join(folder, `${at}`));
      banks.push({ system, server });
    }
    const figures = await oneWaiting(banks[0] as Bank, folder, scale);
    for (const load of loads()) {
      // One after another under the same load, so that what else the machine does hits all alike.
      for (const bank of banks) figures.push(await measure(bank, load, scale));
    }
    return [...figures, ...ratios(figures)];
  } finally {
    await Promise.all(banks.map(({ server }) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

interface System {
  readonly name: string;
  readonly durability: string;
  start(folder: string): Promise<BankServer>;
  /** The loads that stand for so many sockets with 40 calls in flight each; the best one counts. */
  shapes(sockets: number): readonly Pick<Load, 'sockets' | 'inFlight'>[];
  load(server: BankServer, load: Load): Promise<void>;
}

const product: System = {
  name: 'reducerdb',
  durability: 'on disk: one fdatasync for all calls of a turn, before their replies',
  start: (folder) => startProduct({ folder, accounts, balance }),
  shapes: (sockets) => [{ sockets, inFlight }],
  load: ({ url }, load) => socketLoad(url, 'bank', load),
};

/** HTTP/1.1 has one call in flight on a connection; as many as ours need more connections. */
const httpShapes = (sockets: number) => [
  { sockets, inFlight: 1 },
  { sockets: sockets * inFlight, inFlight: 1 },
];

const sqlite: System = {
  name: 'Node HTTP + SQLite',
  durability: 'written, not synced (WAL, synchronous NORMAL): the last ones may go with the power',
  start: (folder) => startPeer('sqlite-server.mjs', [`${folder}.db`, `${accounts}`, `${balance}`]),
  shapes: httpShapes,
  load: ({ url }, load) => httpLoad(url, load),
};

const postgres: System = {
  name: 'Node HTTP + PostgreSQL',
  durability: 'on disk (synchronous_commit on)',
  start: (folder) => startPostgres({ folder, accounts, balance }),
  shapes: httpShapes,
  load: ({ url }, load) => httpLoad(url, load),
};

interface Bank {
  readonly system: System;
  readonly server: BankServer;
}

interface NamedLoad {
  readonly sockets: number;
  readonly workload: Workload;
}

function loads(): NamedLoad[] {
  const workloads = [uniform(accounts), skewed(accounts)];
  return [8, 64].flatMap((sockets) => workloads.map((workload) => ({ sockets, workload })));
}

async function measure(bank: Bank, load: NamedLoad, scale: number): Promise<Figure> {
  let best: Figure | undefined;
  for (const shape of bank.system.shapes(load.sockets)) {
    const measured = await measureLoad(bank, { ...shape, workload: load.workload, scale });
    const figure = figureOf(bank.system, { load, shape, measured });
    if (best === undefined || figure.value > best.value) best = figure;
  }
  if (best === undefined) throw new Error('a system has a shape for every load');
  return best;
}

async function measureLoad(
  { system, server }: Bank,
  { scale, ...load }: Omit<Load, 'meter'> & { readonly scale: number },
): Promise<Measured> {
  const meter = new Meter(Math.max(2_000 * scale, 50), Math.max(5_000 * scale, 200));
  await system.load(server, { ...load, meter });
  const total = await server.total();
  const expected = BigInt(accounts) * BigInt(balance);
  if (total !== expected) throw new Error(`${system.name} made ${expected} to ${total}`);
  return meter.measured();
}

function figureOf(
  { name, durability }: System,
  given: {
    readonly load: NamedLoad;
    readonly shape: Pick<Load, 'sockets' | 'inFlight'>;
    readonly measured: Measured;
  },
): Figure {
  const { load, shape, measured } = given;
  const { perSecond: value, p50Millis, p99Millis } = measured;
  const connections = `${shape.sockets} connections x ${shape.inFlight} in flight`;
  return {
    name: `${name}, ${loadName(load.sockets, load.workload.name)} (${connections})`,
    unit: 'transfers/s',
    value,
    p50Millis,
    p99Millis,
    durability,
  };
}

function loadName(sockets: number, workload: Workload['name']): string {
  return `${sockets} sockets, ${workload}`;
}

/** How many times as many transfers the product does as each peer under the same load. */
function ratios(figures: readonly Figure[]): Figure[] {
  const peers = [
    { name: sqlite.name, bar: 'at least 20' },
    { name: postgres.name, bar: 'at least 30' },
  ];
  const found: Figure[] = [];
  for (const { name: peer, bar } of peers) {
    for (const sockets of [8, 64]) {
      for (const workload of ['uniform', 'skewed'] as const) {
        const load = loadName(sockets, workload);
        const named = (name: string) =>
          figures.find((figure) => figure.name.startsWith(`${name}, ${load} `))?.value;
        const [ours, theirs] = [named(product.name), named(peer)];
        if (ours === undefined || theirs === undefined) continue;
        const name = `${product.name} to ${peer}, ${load}`;
        found.push({ name, unit: 'times', value: ours / theirs, bar });
      }
    }
  }
  return found;
}

/** One caller that waits for each durable reply, beside one sync of the same disk. */
async function oneWaiting(bank: Bank, folder: string, scale: number): Promise<Figure[]> {
  const workload = uniform(accounts);
  const before = await oneSyncMillis(folder, Math.ceil(2_000 * scale));
  const load = { workload, sockets: 1, inFlight: 1, scale };
  const { perSecond, p50Millis, p99Millis } = await measureLoad(bank, load);
  const sync = (before + (await oneSyncMillis(folder, Math.ceil(2_000 * scale)))) / 2;
  const { durability } = product;
  return [
    { name: 'write and fdatasync of 4 KiB, median', unit: 'ms', value: sync },
    {
      name: 'reducerdb, one caller waiting',
      unit: 'transfers/s',
      value: perSecond,
      p50Millis,
      p99Millis,
      durability,
    },
    {
      name: 'reducerdb, one caller waiting, median of a durable reply',
      unit: 'ms',
      value: p50Millis,
      ratio: p50Millis / sync,
      bar: 'at most 2 times one fdatasync',
    },
  ];
}

/**
 * The transfer reducer (2 reads, 2 updates) over real WebSockets, from call to durable reply, beside
 * a Node HTTP server that does the same on SQLite or PostgreSQL. Every system runs in processes of
 * its own, the load in this one; all share one machine. Each load is made twice: written by hand, so
 * that it takes next to nothing of what it shares with the system, and as programs call it. Replies
 * are all checked, and so is the sum of all balances at the end of each load.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clientLoad } from './transfer/client-load.ts';
import { fetchLoad } from './transfer/fetch-load.ts';
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
    const figures: Figure[] = [];
    const loads = namedLoads();
    for (const load of loads) {
      // One after another under the same load, so that what else the machine does hits all alike.
      for (const means of allMeans) {
        for (const bank of banks) figures.push(await measure(bank, means, load, scale));
      }
    }
    // Last, when what a call goes through has run often enough to be compiled.
    const waiting = await oneWaiting(banks[0] as Bank, folder, scale);
    return [...figures, ...ratios(figures, loads), ...waiting];
  } finally {
    await Promise.all(banks.map(({ server }) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

interface System {
  readonly name: string;
  readonly durability: string;
  start(folder: string): Promise<BankServer>;
  readonly clients: Readonly<Record<Means, Client>>;
}

/** Who calls: a load that is written by hand, or the client that a program would take. */
type Means = 'by hand' | 'as programs do';
const allMeans: readonly Means[] = ['by hand', 'as programs do'];

interface Client {
  readonly name: string;
  /** The loads that stand for so many sockets with 40 calls in flight each; the best one counts. */
  shapes(sockets: number): readonly Pick<Load, 'sockets' | 'inFlight'>[];
  load(server: BankServer, load: Load): Promise<void>;
}

const productShapes = (sockets: number) => [{ sockets, inFlight }];

const product: System = {
  name: 'reducerdb',
  durability: 'on disk: one fdatasync for all calls of a turn, before their replies',
  start: (folder) => startProduct({ folder, accounts, balance }),
  clients: {
    'by hand': {
      name: 'frames by hand',
      shapes: productShapes,
      load: ({ url }, load) => socketLoad(url, 'bank', load),
    },
    'as programs do': {
      name: 'reducerdb/client',
      shapes: productShapes,
      load: ({ url }, load) => clientLoad(url, 'bank', load),
    },
  },
};

/** HTTP/1.1 has one call in flight on a connection; as many as ours need more connections. */
const httpShapes = (sockets: number) => [
  { sockets, inFlight: 1 },
  { sockets: sockets * inFlight, inFlight: 1 },
];

const httpClients: System['clients'] = {
  'by hand': {
    name: 'requests by hand',
    shapes: httpShapes,
    load: ({ url }, load) => httpLoad(url, load),
  },
  'as programs do': {
    name: 'fetch',
    shapes: httpShapes,
    load: ({ url }, load) => fetchLoad(url, load),
  },
};

const sqlite: System = {
  name: 'Node HTTP + SQLite',
  durability: 'written, not synced (WAL, synchronous NORMAL): the last ones may go with the power',
  start: (folder) => startPeer('sqlite-server.mjs', [`${folder}.db`, `${accounts}`, `${balance}`]),
  clients: httpClients,
};

const postgres: System = {
  name: 'Node HTTP + PostgreSQL',
  durability: 'on disk (synchronous_commit on)',
  start: (folder) => startPostgres({ folder, accounts, balance }),
  clients: httpClients,
};

interface Bank {
  readonly system: System;
  readonly server: BankServer;
}

interface NamedLoad {
  readonly sockets: number;
  readonly workload: Workload;
}

function namedLoads(): NamedLoad[] {
  const workloads = [uniform(accounts), skewed(accounts)];
  return [8, 64].flatMap((sockets) => workloads.map((workload) => ({ sockets, workload })));
}

async function measure(bank: Bank, means: Means, load: NamedLoad, scale: number): Promise<Figure> {
  const client = bank.system.clients[means];
  let best: Figure | undefined;
  for (const shape of client.shapes(load.sockets)) {
    const measured = await measureLoad(bank, client, { ...shape, workload: load.workload, scale });
    const figure = figureOf(bank.system, { means, load, shape, measured });
    if (best === undefined || figure.value > best.value) best = figure;
  }
  if (best === undefined) throw new Error('a client has a shape for every load');
  return best;
}

async function measureLoad(
  { system, server }: Bank,
  client: Client,
  { scale, ...load }: Omit<Load, 'meter'> & { readonly scale: number },
): Promise<Measured> {
  const meter = new Meter(Math.max(2_000 * scale, 50), Math.max(5_000 * scale, 200));
  await client.load(server, { ...load, meter });
  const total = await server.total();
  const expected = BigInt(accounts) * BigInt(balance);
  if (total !== expected) throw new Error(`${system.name} made ${expected} to ${total}`);
  return meter.measured();
}

function figureOf(
  system: System,
  given: {
    readonly means: Means;
    readonly load: NamedLoad;
    readonly shape: Pick<Load, 'sockets' | 'inFlight'>;
    readonly measured: Measured;
  },
): Figure {
  const { means, load, shape, measured } = given;
  const { perSecond: value, p50Millis, p99Millis } = measured;
  const connections = `${shape.sockets} connections x ${shape.inFlight} in flight`;
  return {
    name: `${calledName(system, means)}, ${loadName(load.sockets, load.workload.name)} (${connections})`,
    unit: 'transfers/s',
    value,
    p50Millis,
    p99Millis,
    durability: system.durability,
  };
}

function calledName({ name, clients }: System, means: Means): string {
  return `${name} (${clients[means].name})`;
}

function loadName(sockets: number, workload: Workload['name']): string {
  return `${sockets} sockets, ${workload}`;
}

/**
 * How many times as many transfers the product does as each peer under the same load, both called by
 * the same means.
 */
function ratios(figures: readonly Figure[], loads: readonly NamedLoad[]): Figure[] {
  const peers = [
    { peer: sqlite, bar: 'at least 20' },
    { peer: postgres, bar: 'at least 30' },
  ];
  return allMeans.flatMap((means) =>
    peers.flatMap(({ peer, bar }) =>
      loads.flatMap(({ sockets, workload }) => {
        const load = loadName(sockets, workload.name);
        const [ours, theirs] = [product, peer].map((system) => {
          const start = `${calledName(system, means)}, ${load} `;
          return figures.find(({ name }) => name.startsWith(start))?.value;
        });
        if (ours === undefined || theirs === undefined) return [];
        const name = `${calledName(product, means)} to ${calledName(peer, means)}, ${load}`;
        return [{ name, unit: 'times', value: ours / theirs, bar }];
      }),
    ),
  );
}

/** One caller that waits for each durable reply, beside one sync of the same disk. */
async function oneWaiting(bank: Bank, folder: string, scale: number): Promise<Figure[]> {
  const workload = uniform(accounts);
  const before = await oneSyncMillis(folder, Math.ceil(2_000 * scale));
  const load = { workload, sockets: 1, inFlight: 1, scale };
  const client = product.clients['by hand'];
  const { perSecond, p50Millis, p99Millis } = await measureLoad(bank, client, load);
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

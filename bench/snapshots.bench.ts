/**
 * What a snapshot of 5 million rows costs the calls beside it, and what it saves an opening, through
 * the service as it is shipped. Bars: at p99 a durable call waits at most 5 ms longer; throughput
 * with snapshots is at least 0.95 of that between them; the database opens in 3 s at most, and in
 * twice the time of reading and checking the file alone. `scale` 1 has 5 million rows, and a minute
 * of load.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../src/bundle/build-module.ts';
import type { HostedDatabase } from '../src/host/hosted-database.ts';
import { withReader } from '../src/log/segment-reader.ts';
import { readOutline, readSnapshot } from '../src/log/snapshot-reader.ts';
import { MachineDisk } from '../src/node/disk.ts';
import type { Service, startService } from '../src/service/start-service.ts';
import { connectionNumber } from '../src/values/connection-number.ts';
import { callerIdentity } from '../src/values/identity-roles.ts';
import { Delays } from './load/delays.ts';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly bar?: string;
}

/** From source, a worker is another file. */
const shipped = new URL('../dist/service/index.js', import.meta.url).href;

interface Shipped {
  readonly startService: typeof startService;
}

const callers = 64;
const rowsPerCall = 50_000;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.ceil(5_000_000 * scale);
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    let ledger = await Ledger.start(folder, rowCount);
    await ledger.open();
    await ledger.database.handle.snapshot();
    // Once before it counts: calls are compiled.
    await ledger.load(Math.ceil(3_000 * scale));
    const { alone, beside } = await ledger.load(Math.ceil(60_000 * scale), 40_000 * scale);
    await ledger.database.handle.snapshot();
    await ledger.service.stop();
    const bare = bareRead(ledger.directory, ledger.database);
    ledger = await Ledger.start(folder, rowCount);
    const began = performance.now();
    await ledger.database.handle.describe();
    const opening = performance.now() - began;
    await ledger.service.stop();
    return [...figuresOf(alone, beside), openingFigure(rowCount, opening, bare)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What was measured while a snapshot was taken, or while none was. */
interface Part {
  readonly delays: Delays;
  millis: number;
}

function figuresOf(alone: Part, beside: Part): Figure[] {
  const [without, during] = [alone.delays.summary, beside.delays.summary];
  const rate = ({ delays, millis }: Part) => (1_000 * delays.count) / Math.max(1, millis);
  const both = { millis: alone.millis + beside.millis, count: without.count + during.count };
  const overall = (1_000 * both.count) / Math.max(1, both.millis);
  return [
    {
      name: 'durable call beside a snapshot, p99, without one as baseline',
      unit: 'ms',
      value: during.p99,
      baseline: without.p99,
      bar: 'at most 5 ms more',
    },
    {
      name: 'the longest of them',
      unit: 'ms',
      value: during.longestMillis,
      baseline: without.longestMillis,
      bar: 'at most 15 ms more',
    },
    {
      name: 'durable transfers with snapshots, those between them as baseline',
      unit: 'transfers/s',
      value: overall,
      baseline: rate(alone),
      ratio: overall / rate(alone),
      bar: 'at least 0.95',
    },
    {
      name: 'durable transfers while one is taken',
      unit: 'transfers/s',
      value: rate(beside),
      baseline: rate(alone),
      ratio: rate(beside) / rate(alone),
      bar: 'at least 0.85',
    },
    { name: 'share of the time', unit: '%', value: (100 * beside.millis) / both.millis },
  ];
}

function openingFigure(rowCount: number, value: number, baseline: number): Figure {
  return {
    name: `opening ${rowCount} rows, reading and checking the file as baseline`,
    unit: 'ms',
    value,
    baseline,
    ratio: value / baseline,
    bar: 'at most 3 s, and 2 times',
  };
}

/** Milliseconds to read and check the newest snapshot, without doing anything with its rows. */
function bareRead(directory: string, { identity }: HostedDatabase): number {
  const name = readdirSync(directory)
    .filter((file) => file.endsWith('.rdbs'))
    .sort()
    .at(-1);
  const began = performance.now();
  withReader(new MachineDisk(directory), name ?? '', (reader) => {
    readSnapshot(reader, readOutline(reader, identity), () => undefined);
  });
  return performance.now() - began;
}

class Ledger {
  readonly service: Service;
  readonly database: HostedDatabase;
  readonly directory: string;
  readonly #rowCount: number;
  #turn = 0;

  private constructor(service: Service, folder: string, rowCount: number) {
    this.service = service;
    this.database = service.host.database('ledger');
    this.#rowCount = rowCount;
    const own = path.join(folder, 'databases');
    const [log = ''] = readdirSync(own, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /log-\d+$/.test(name),
    );
    this.directory = path.join(own, log);
  }

  static async start(dataDirectory: string, rowCount: number): Promise<Ledger> {
    const { startService: start } = (await import(shipped)) as Shipped;
    const listen = { host: '127.0.0.1', port: 0 };
    const service = await start({ listen, dataDirectory, logLevel: 'silent' });
    return new Ledger(await published(service), dataDirectory, rowCount);
  }

  async open(): Promise<void> {
    await this.database.handle.connect(this.#caller, connection.id);
    for (let first = 0; first < this.#rowCount; first += rowsPerCall) {
      const args = new DataView(new ArrayBuffer(8));
      args.setUint32(0, first, true);
      args.setUint32(4, Math.min(rowsPerCall, this.#rowCount - first), true);
      await this.#call('open', new Uint8Array(args.buffer));
    }
  }

  /**
   * Transfers for so many milliseconds, of callers that wait until each is durable. `every`: how
   * often a snapshot is asked for, beside those that are due by themselves.
   */
  async load(millis: number, every = Number.POSITIVE_INFINITY) {
    const parts = { alone: newPart(), beside: newPart() };
    const end = performance.now() + millis;
    let isAsked = false;
    let isDue = false;
    const look = setInterval(() => {
      isDue = this.database.handle.statistics().snapshots.rowCount > 0;
    }, 20);
    let seenAt = performance.now();
    const ask = async (): Promise<void> => {
      isAsked = true;
      await this.database.handle.snapshot();
      isAsked = false;
    };
    const asked = every < millis ? setInterval(() => void ask(), every) : undefined;
    const caller = async (): Promise<void> => {
      while (performance.now() < end || isAsked) {
        const began = performance.now();
        await this.#call('transfer', this.#transfer());
        const now = performance.now();
        const part = isAsked || isDue ? parts.beside : parts.alone;
        part.delays.add((now - began) * 1_000);
        part.millis += now - seenAt;
        seenAt = now;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    clearInterval(look);
    clearInterval(asked);
    return parts;
  }

  #transfer(): Uint8Array {
    const args = new DataView(new ArrayBuffer(16));
    this.#turn += 1;
    args.setUint32(0, (this.#turn * 7_919) % this.#rowCount, true);
    args.setUint32(4, (this.#turn * 104_729 + 1) % this.#rowCount, true);
    args.setBigInt64(8, 1n, true);
    return new Uint8Array(args.buffer);
  }

  get #caller() {
    return this.service.host.callerFor(caller, this.database);
  }

  async #call(reducer: string, args: Uint8Array): Promise<void> {
    const { handle } = this.database;
    const { schemaVersion } = await handle.describe();
    const call = { caller: this.#caller, connection, reducer, args, schemaVersion };
    const outcome = await handle.call({ ...call, confirmed: true });
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
  }
}

function newPart(): Part {
  return { delays: new Delays(), millis: 0 };
}

/** Publishes the ledger, unless it is there. */
async function published(service: Service): Promise<Service> {
  try {
    service.host.database('ledger');
  } catch {
    const module = fileURLToPath(new URL('modules/ledger', import.meta.url));
    const { program: bytes } = await buildModule(module, {});
    await service.host.publish({
      caller,
      target: 'ledger',
      program: { kind: 'js', bytes },
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
  }
  return service;
}

const caller = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
const connection = { kind: 'open', id: connectionNumber(1n) } as const;

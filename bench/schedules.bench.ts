/**
 * What a backlog of due rows costs a caller who waits for each durable reply, through the service
 * as it is shipped. The bar: at p99 a call beside it takes at most 10 times as long as alone. What
 * many armed rows cost is in `src/database/schedules/schedules.bench.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../src/bundle/build-module.ts';
import type { HostedDatabase } from '../src/host/hosted-database.ts';
import type { Service, startService } from '../src/service/start-service.ts';
import { connectionNumber } from '../src/values/connection-number.ts';
import { callerIdentity } from '../src/values/identity-roles.ts';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

/** From source, a worker is another file. */
const shipped = new URL('../dist/service/index.js', import.meta.url).href;

interface Shipped {
  readonly startService: typeof startService;
}

/** How often calls alone and calls beside a backlog are measured, by turns. */
const rounds = 4;
const callsAlone = 500;
const rowsPerCall = 20_000;

/** `scale` 1 has a backlog of a million rows in all. */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.ceil(1_000_000 * scale);
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    const jobs = await Jobs.start(folder);
    const alone: number[] = [];
    const beside: number[] = [];
    let backlogMillis = 0;
    for (let round = 0; round < rounds; round += 1) {
      const due = await jobs.plan(Math.ceil(rowCount / rounds));
      await jobs.calls(alone, Math.ceil(callsAlone * Math.min(scale, 1)));
      await jobs.isDue(due);
      backlogMillis += await jobs.callsBesideBacklog(beside);
    }
    await jobs.service.stop();
    return [
      {
        name: `call beside a backlog of ${rowCount} rows, durable reply, p99, alone as baseline`,
        unit: 'ms',
        value: shareOf(beside, 0.99),
        baseline: shareOf(alone, 0.99),
      },
      {
        name: 'the same call, median',
        unit: 'ms',
        value: shareOf(beside, 0.5),
        baseline: shareOf(alone, 0.5),
      },
      {
        name: 'runs of the backlog beside calls',
        unit: 'runs/s',
        value: (rounds * Math.ceil(rowCount / rounds)) / (backlogMillis / 1_000),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Jobs {
  readonly service: Service;
  readonly #database: HostedDatabase;
  #calls = 0;

  private constructor(service: Service, database: HostedDatabase) {
    this.service = service;
    this.#database = database;
  }

  static async start(dataDirectory: string): Promise<Jobs> {
    const { startService: start } = (await import(shipped)) as Shipped;
    const listen = { host: '127.0.0.1', port: 0 };
    const service = await start({ listen, dataDirectory, logLevel: 'silent' });
    const module = fileURLToPath(new URL('modules/jobs', import.meta.url));
    const { program: bytes } = await buildModule(module, {});
    await service.host.publish({
      caller,
      target: 'jobs',
      program: { kind: 'js', bytes },
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
    const database = service.host.database('jobs');
    await database.handle.connect(service.host.callerFor(caller, database), connection.id);
    return new Jobs(service, database);
  }

  /** Makes rows that are due when calls alone were measured; returns when that is. */
  async plan(rowCount: number): Promise<number> {
    const due = Date.now() + 1_000 + Math.min(rowCount / 25, 9_000) + rowCount / 10;
    for (let left = rowCount; left > 0; left -= rowsPerCall) {
      const args = new DataView(new ArrayBuffer(12));
      args.setUint32(0, Math.min(left, rowsPerCall), true);
      args.setBigInt64(4, BigInt(Math.ceil(due)) * 1_000n, true);
      await this.#call('plan', new Uint8Array(args.buffer));
    }
    return due;
  }

  async isDue(due: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, due - Date.now()));
  }

  async calls(waits: number[], count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) waits.push(await this.#count());
  }

  /** Until nothing is due any more; returns how long that took, in milliseconds. */
  async callsBesideBacklog(waits: number[]): Promise<number> {
    const begin = performance.now();
    do waits.push(await this.#count());
    while (this.#database.handle.statistics().nextDueMicros !== undefined);
    return performance.now() - begin;
  }

  async #count(): Promise<number> {
    const args = new DataView(new ArrayBuffer(4));
    args.setUint32(0, this.#calls++ % 1_000, true);
    const begin = performance.now();
    await this.#call('count', new Uint8Array(args.buffer));
    return performance.now() - begin;
  }

  async #call(reducer: string, args: Uint8Array): Promise<void> {
    const { handle } = this.#database;
    const { schemaVersion } = await handle.describe();
    const seen = this.service.host.callerFor(caller, this.#database);
    const call = { caller: seen, connection, reducer, args, schemaVersion, confirmed: true };
    const outcome = await handle.call(call);
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
  }
}

const caller = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
const connection = { kind: 'open', id: connectionNumber(1n) } as const;

function shareOf(waits: readonly number[], share: number): number {
  const sorted = [...waits].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

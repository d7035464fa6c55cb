/**
 * What a procedure gets done on one lane, through the service as it is shipped, and what a caller
 * beside it waits for.
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

type Procedure = 'transactions' | 'calls';

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    const errands = await Errands.start(folder);
    const times = Math.ceil(50_000 * scale);
    // Until everything that they run through has been compiled.
    for (const procedure of ['transactions', 'calls'] as const) {
      await errands.run(procedure, Math.ceil(times / 2));
    }
    const transactions = await errands.run('transactions', times);
    const calls = await errands.run('calls', times);
    const alone: number[] = [];
    const beside: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (let left = Math.ceil(500 * scale); left > 0; left -= 1)
        alone.push(await errands.count());
      let isRunning = true;
      const running = errands.run('transactions', times).finally(() => {
        isRunning = false;
      });
      while (isRunning) beside.push(await errands.count());
      await running;
    }
    await errands.service.stop();
    return [
      {
        name: '`withTx` of one read and one write, one lane',
        unit: 'tx/s',
        value: (times / transactions) * 1_000,
      },
      {
        name: '`ctx.call` of one read and one write, one lane',
        unit: 'calls/s',
        value: (times / calls) * 1_000,
      },
      {
        name: 'call beside a lane that never stops writing, durable reply, p99, alone as baseline',
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
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How often calls alone and calls beside a procedure are measured, by turns. */
const rounds = 4;

class Errands {
  readonly service: Service;
  readonly #database: HostedDatabase;
  #calls = 0;

  private constructor(service: Service, database: HostedDatabase) {
    this.service = service;
    this.#database = database;
  }

  static async start(dataDirectory: string): Promise<Errands> {
    const { startService: start } = (await import(shipped)) as Shipped;
    const listen = { host: '127.0.0.1', port: 0 };
    const service = await start({ listen, dataDirectory, logLevel: 'silent' });
    const module = fileURLToPath(new URL('modules/errands', import.meta.url));
    const { program: bytes } = await buildModule(module, {});
    await service.host.publish({
      caller,
      target: 'errands',
      program: { kind: 'js', bytes },
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
    const database = service.host.database('errands');
    await database.handle.connect(service.host.callerFor(caller, database), connection.id);
    return new Errands(service, database);
  }

  /** Returns how long the procedure took, in milliseconds. */
  async run(procedure: Procedure, times: number): Promise<number> {
    const begin = performance.now();
    const { handle } = this.#database;
    const outcome = await handle.procedure({ ...(await this.#request(times)), procedure });
    if (outcome.kind !== 'returned') throw new Error(JSON.stringify(outcome.error));
    return performance.now() - begin;
  }

  /** Returns how long a call took, in milliseconds. */
  async count(): Promise<number> {
    const begin = performance.now();
    const { handle } = this.#database;
    const request = await this.#request(this.#calls++ % 1_000);
    const outcome = await handle.call({ ...request, reducer: 'count' });
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
    return performance.now() - begin;
  }

  async #request(number: number) {
    const args = new Uint8Array(4);
    new DataView(args.buffer).setUint32(0, number, true);
    const { schemaVersion } = await this.#database.handle.describe();
    const seen = this.service.host.callerFor(caller, this.#database);
    return { caller: seen, connection, args, schemaVersion, confirmed: true };
  }
}

const caller = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
const connection = { kind: 'open', id: connectionNumber(1n) } as const;

function shareOf(waits: readonly number[], share: number): number {
  const sorted = [...waits].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

/**
 * What a procedure gets done on one lane, through the service as it is shipped, and what a caller
 * beside it waits for.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { buildModule } from '../src/bundle/build-module.ts';
import type { HostedDatabase } from '../src/host/hosted-database.ts';
import { parseAllowedPlace } from '../src/host/outbound/outbound-rules.ts';
import { limits } from '../src/limits.ts';
import type { dedicateProcess } from '../src/service/own-process.ts';
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
const shipped = (file: string) => new URL(`../dist/service/${file}`, import.meta.url).href;

interface Shipped {
  readonly startService: typeof startService;
}

interface ShippedProcess {
  readonly dedicateProcess: typeof dedicateProcess;
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
    const waits = await waitingBeside(errands, Math.ceil(1_000 * scale));
    const hostile = await hostileBeside(errands);
    await errands.stop();
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
      {
        name: '1,000 procedures that wait 1 s for an answer, until all have returned',
        unit: 'ms',
        value: waits.millis,
      },
      {
        name: 'call beside procedures that wait, durable reply, p99, alone as baseline',
        unit: 'ms',
        value: shareOf(waits.beside, 0.99),
        baseline: shareOf(waits.alone, 0.99),
      },
      {
        name: 'the same call, median, alone as baseline',
        unit: 'ms',
        value: shareOf(waits.beside, 0.5),
        baseline: shareOf(waits.alone, 0.5),
      },
      {
        name: 'call beside a procedure that loops and one that floods, p99, alone as baseline',
        unit: 'ms',
        value: shareOf(hostile.beside, 0.99),
        baseline: shareOf(hostile.alone, 0.99),
      },
      {
        name: 'the same call, median, alone as baseline',
        unit: 'ms',
        value: shareOf(hostile.beside, 0.5),
        baseline: shareOf(hostile.alone, 0.5),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Servers that answer after a second, or for another path at once, on a thread of their own; their
 * ports are posted. They stand for other machines, so they come after all that is measured.
 */
const slowServers = `
  const { readFileSync } = require('node:fs');
  const { createServer } = require('node:http');
  const { setPriority } = require('node:os');
  const { parentPort } = require('node:worker_threads');
  try {
    setPriority(Number.parseInt(readFileSync('/proc/thread-self/stat', 'utf8'), 10), 10);
  } catch {
    // Not Linux.
  }
  const answer = ({ url }, response) => setTimeout(() => response.end('hello'), url === '/' ? 1_000 : 0);
  const servers = Array.from({ length: ${serverCount()} }, () => createServer(answer));
  const listening = servers.map((server) => new Promise((done) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 2_048 }, () => done(server.address().port));
  }));
  Promise.all(listening).then((ports) => parentPort.postMessage(ports));
`;

/** Each is asked by so many at once as one host may be. */
function serverCount(): number {
  return Math.ceil(1_000 / limits.outboundHostRequestsMax);
}

/** The service takes the ports of servers before it starts. */
async function startServers(): Promise<{ readonly ports: readonly number[]; stop(): void }> {
  const thread = new Worker(slowServers, { eval: true });
  const [ports] = (await once(thread, 'message')) as [number[]];
  return { ports, stop: () => void thread.terminate() };
}

/** Calls of somebody else, alone and beside so many procedures that wait for an answer. */
async function waitingBeside(errands: Errands, count: number) {
  // Lanes start, connections open, and what both run through is compiled.
  for (let left = 3; left > 0; left -= 1) await errands.askAll(count);
  let millis = 0;
  const calls = await aloneAndBeside(errands, async () => {
    millis += (await errands.askAll(count)) / rounds;
  });
  return { ...calls, millis };
}

/** Calls of somebody else, alone and beside procedures that take what they can. */
function hostileBeside(errands: Errands) {
  const takeAll = () => Promise.all([errands.spin(), errands.flood(limits.callMillisMax)]);
  return aloneAndBeside(errands, takeAll, 1);
}

/** How long calls take, by turns alone for a second and while `work` is done. */
async function aloneAndBeside(errands: Errands, work: () => Promise<unknown>, times = rounds) {
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < times; round += 1) {
    const until = performance.now() + 1_000;
    while (performance.now() < until) alone.push(await errands.count());
    let isRunning = true;
    const working = work().finally(() => {
      isRunning = false;
    });
    while (isRunning) beside.push(await errands.count());
    await working;
  }
  return { alone, beside };
}

/** How often calls alone and calls beside procedures are measured, by turns. */
const rounds = 4;

class Errands {
  readonly service: Service;
  readonly #database: HostedDatabase;
  readonly #ports: readonly number[];
  readonly #stopServers: () => void;
  #calls = 0;

  private constructor(
    service: Service,
    database: HostedDatabase,
    servers: { readonly ports: readonly number[]; stop(): void },
  ) {
    this.service = service;
    this.#database = database;
    this.#ports = servers.ports;
    this.#stopServers = servers.stop;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    this.#stopServers();
  }

  /** Returns how long it took until all had their answers, in milliseconds. */
  async askAll(count: number): Promise<number> {
    const begin = performance.now();
    const asked = Array.from({ length: count }, (_, at) =>
      this.#returned('ask', this.#url(at, ''), at % callerCount),
    );
    await Promise.all(asked);
    return performance.now() - begin;
  }

  /** Computes until it is ended for that. */
  async spin(): Promise<void> {
    const outcome = await this.#procedure('spin', new Uint8Array(0), callerCount);
    if (outcome.kind === 'returned') throw new Error('it has no end');
  }

  /** Has requests sent for so long, which are answered at once. */
  flood(millis: number): Promise<void> {
    const args = Buffer.concat([this.#url(0, 'now'), u32(millis)]);
    return this.#returned('flood', new Uint8Array(args), callerCount);
  }

  /** As argument. */
  #url(at: number, path: string): Uint8Array {
    const url = Buffer.from(`http://127.0.0.1:${this.#ports[at % this.#ports.length]}/${path}`);
    return new Uint8Array(Buffer.concat([u32(url.length), url]));
  }

  async #returned(procedure: string, args: Uint8Array, asker: number): Promise<void> {
    const outcome = await this.#procedure(procedure, args, asker);
    if (outcome.kind !== 'returned') throw new Error(JSON.stringify(outcome.error));
  }

  async #procedure(procedure: string, args: Uint8Array, asker: number) {
    const { handle } = this.#database;
    const { schemaVersion } = await handle.describe();
    const own = { ...caller, identity: callerIdentity(BigInt(100 + asker)) };
    const seen = this.service.host.callerFor(own, this.#database);
    const request = { caller: seen, connection, args, schemaVersion, confirmed: true };
    return handle.procedure({ ...request, procedure });
  }

  static async start(dataDirectory: string): Promise<Errands> {
    const { startService: start } = (await import(shipped('index.js'))) as Shipped;
    ((await import(shipped('own-process.js'))) as ShippedProcess).dedicateProcess({});
    const listen = { host: '127.0.0.1', port: 0 };
    const servers = await startServers();
    const allow = servers.ports.map((port) => parseAllowedPlace(`errands=127.0.0.1:${port}`));
    const moduleHttp = { allow };
    const service = await start({ listen, dataDirectory, logLevel: 'silent', moduleHttp });
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
    return new Errands(service, database, servers);
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
    const args = u32(number);
    const { schemaVersion } = await this.#database.handle.describe();
    const seen = this.service.host.callerFor(caller, this.#database);
    return { caller: seen, connection, args, schemaVersion, confirmed: true };
  }
}

const caller = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
/** As many callers as 1,000 procedures need at least. */
const callerCount = Math.ceil(1_000 / limits.callerProceduresMax);
const connection = { kind: 'open', id: connectionNumber(1n) } as const;

function u32(number: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number, true);
  return bytes;
}

function shareOf(waits: readonly number[], share: number): number {
  const sorted = [...waits].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

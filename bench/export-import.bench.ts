/**
 * How fast rows leave a database as text and come in from it, and what calls beside both wait for,
 * through the service as it is shipped, without sockets. Bars: at p99 a durable call waits at most
 * 5 ms longer beside an export. `scale` 1 has a million rows, and 10 s of load each.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../src/bundle/build-module.ts';
import type { HostedDatabase } from '../src/host/hosted-database.ts';
import type { ImportWish } from '../src/host/transfer/transfer-control.ts';
import type { Service, startService } from '../src/service/start-service.ts';
import type { RowFormat } from '../src/transfer/row-table.ts';
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

const callers = 32;
const pieceRows = 2_000;
/** Parts of the load, by turns: a machine is not equally fast all the time. */
const rounds = 5;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.ceil(1_000_000 * scale);
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  const { startService: start } = (await import(shipped)) as Shipped;
  const listen = { host: '127.0.0.1', port: 0 };
  const service = await start({ listen, dataDirectory: folder, logLevel: 'silent' });
  try {
    const bench = new Bench(service, await publish(service), rowCount);
    const figures: Figure[] = [];
    for (const format of ['ndjson', 'csv'] as const) {
      figures.push(await bench.importRows(format), await bench.exportRows(format));
    }
    return [...figures, ...(await bench.beside(Math.ceil(10_000 * scale)))];
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Bench {
  readonly #service: Service;
  readonly #database: HostedDatabase;
  readonly #rowCount: number;
  #turn = 0;

  constructor(service: Service, database: HostedDatabase, rowCount: number) {
    this.#service = service;
    this.#database = database;
    this.#rowCount = rowCount;
  }

  async importRows(format: RowFormat): Promise<Figure> {
    const wish: ImportWish = {
      ...{ table: 'account', mode: 'upsert', importId: undefined, batch: 1, isAtomic: false },
      ...{ skips: false, ignoresUnknown: false, firstLine: undefined, format },
    };
    const began = performance.now();
    const { transfer } = this.#service.host;
    const answer = await transfer.import(this.#given, this.#database, wish, this.#lines(format));
    if (!('imported' in answer) || answer.imported !== this.#rowCount) {
      throw new Error(JSON.stringify(answer));
    }
    const value = (1_000 * this.#rowCount) / (performance.now() - began);
    return { name: `rows imported as ${format}, durable`, unit: 'rows/s', value };
  }

  async exportRows(format: RowFormat): Promise<Figure> {
    const began = performance.now();
    const bytes = await this.#exported(format, () => true);
    const millis = performance.now() - began;
    const value = (1_000 * this.#rowCount) / millis;
    const text = (bytes / 2 ** 20).toFixed(1);
    return { name: `rows exported as ${format} (${text} MiB)`, unit: 'rows/s', value };
  }

  /** Calls without anything else, beside exports, and beside imports, by turns. */
  async beside(millis: number): Promise<Figure[]> {
    await this.#database.handle.connect(this.#given.caller, connection.id);
    await this.#load(millis / 5, newLoad());
    const [alone, exporting, importing] = [newLoad(), newLoad(), newLoad()];
    for (let round = 0; round < rounds; round += 1) {
      const part = millis / rounds;
      await this.#load(part, alone);
      await this.#besides(part, exporting, (goesOn) => this.#exported('ndjson', goesOn));
      await this.#besides(part, importing, () => this.importRows('ndjson'));
    }
    return [
      ...besideFigures('an export', exporting, alone),
      ...besideFigures('an import', importing, alone),
    ];
  }

  /** Again and again, as long as there is load. */
  async #besides(
    millis: number,
    load: Load,
    work: (goesOn: () => boolean) => Promise<unknown>,
  ): Promise<void> {
    let isOver = false;
    const working = (async () => {
      while (!isOver) await work(() => !isOver);
    })();
    await this.#load(millis, load);
    isOver = true;
    await working;
  }

  async #exported(format: RowFormat, goesOn: () => boolean): Promise<number> {
    const { transfer } = this.#service.host;
    const wanted = { tables: ['account'], format };
    const answer = await transfer.export(this.#given, this.#database, wanted);
    if ('error' in answer) throw new Error(answer.error.message);
    let bytes = 0;
    for await (const chunk of answer.bytes) {
      bytes += chunk.length;
      if (!goesOn()) break;
    }
    return bytes;
  }

  async #load(millis: number, load: Load): Promise<void> {
    const began = performance.now();
    const caller = async (): Promise<void> => {
      while (performance.now() < began + millis) {
        const sentAt = performance.now();
        await this.#transfer();
        load.delays.add((performance.now() - sentAt) * 1_000);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    load.millis += performance.now() - began;
  }

  async #transfer(): Promise<void> {
    const args = new DataView(new ArrayBuffer(16));
    this.#turn += 1;
    args.setUint32(0, (this.#turn * 7_919) % this.#rowCount, true);
    args.setUint32(4, (this.#turn * 104_729 + 1) % this.#rowCount, true);
    args.setBigInt64(8, 1n, true);
    const { handle } = this.#database;
    const { schemaVersion } = await handle.describe();
    const call = { caller: this.#given.caller, connection, reducer: 'transfer', schemaVersion };
    const bytes = new Uint8Array(args.buffer);
    const outcome = await handle.call({ ...call, args: bytes, confirmed: true });
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
  }

  get #given() {
    const fault = () => undefined;
    return { by: owner, caller: this.#service.host.callerFor(owner, this.#database), fault };
  }

  *#texts(format: RowFormat): Generator<string, void> {
    if (format === 'csv') yield 'id,name,balance\n';
    for (let id = 0; id < this.#rowCount; id += 1) {
      const name = String(id).padStart(12, '0');
      const json = `{"id":${id},"name":"${name}","balance":"1000000"}\n`;
      yield format === 'csv' ? `${id},${name},1000000\n` : json;
    }
  }

  async *#lines(format: RowFormat): AsyncGenerator<Uint8Array, void> {
    let lines: string[] = [];
    for (const line of this.#texts(format)) {
      lines.push(line);
      if (lines.length < pieceRows) continue;
      yield Buffer.from(lines.join(''));
      lines = [];
    }
    yield Buffer.from(lines.join(''));
  }
}

interface Load {
  readonly delays: Delays;
  millis: number;
}

function newLoad(): Load {
  return { delays: new Delays(), millis: 0 };
}

function besideFigures(what: string, beside: Load, alone: Load): Figure[] {
  const [with_, without] = [beside.delays.summary, alone.delays.summary];
  const rate = ({ delays, millis }: Load) => (1_000 * delays.count) / Math.max(1, millis);
  const isBound = what === 'an export';
  return [
    {
      name: `durable call beside ${what}, p99, without one as baseline`,
      unit: 'ms',
      value: with_.p99,
      baseline: without.p99,
      ...(isBound && { bar: 'at most 5 ms more' }),
    },
    {
      name: `durable calls beside ${what}`,
      unit: 'calls/s',
      value: rate(beside),
      baseline: rate(alone),
      ratio: rate(beside) / rate(alone),
    },
  ];
}

async function publish(service: Service): Promise<HostedDatabase> {
  const module = fileURLToPath(new URL('modules/ledger', import.meta.url));
  const { program: bytes } = await buildModule(module, {});
  await service.host.publish({
    caller: owner,
    target: 'ledger',
    program: { kind: 'js', bytes },
    clear: false,
    policy: 'compatible',
    token: undefined,
    confirmMillis: 5_000,
  });
  return service.host.database('ledger');
}

const owner = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
const connection = { kind: 'open', id: connectionNumber(1n) } as const;

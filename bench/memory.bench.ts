/**
 * What rows and indexes take in memory, as the figures of the service say, and what opening a
 * database takes by its rows: from a snapshot, and from the log alone. Times are those of the
 * processor, of all threads: other work on the machine hardly changes them.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../src/bundle/build-module.ts';
import type { Service, startService } from '../src/service/start-service.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const shipped = new URL('../dist/service/index.js', import.meta.url).href;
const module = fileURLToPath(new URL('modules/shelves', import.meta.url));

/** Rows of each table at scale 1. */
const tables: Readonly<Record<string, number>> = {
  plain: 1_000_000,
  numbers: 1_000_000,
  hashed: 1_000_000,
  names: 1_000_000,
  lists: 300_000,
  texts: 100_000,
  vectors: 10_000,
};

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-memory-'));
  try {
    const { program } = await buildModule(module);
    const fillings = Object.entries(tables).map(([table, rows]) => {
      return { table, count: Math.ceil(rows * scale) };
    });
    const [plain, ...others] = fillings as [Filling, ...Filling[]];
    const figures = await opened(path.join(folder, 'plain'), program, plain);
    const running = await Running.start(path.join(folder, 'others'));
    await running.publish(program);
    for (const filling of others) figures.push(...(await filled(running, filling)));
    await running.stop();
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Filling {
  readonly table: string;
  readonly count: number;
}

async function filled(running: Running, filling: Filling): Promise<Figure[]> {
  const { table, count } = filling;
  const before = await running.memory();
  const began = processorMillis();
  await running.fill(filling);
  const millis = processorMillis() - began;
  const after = await running.memory();
  const perRow = (name: string, value: number): Figure => {
    return { name: `${table}: ${name}`, unit: 'bytes', value: Math.max(value / count, 0.1) };
  };
  return [
    perRow('a row', after.rows - before.rows),
    perRow('its indexes, for a row', after.indexes - before.indexes),
    { name: `${table}: an insert`, unit: 'µs', value: (millis * 1_000) / count },
  ];
}

/** A data folder with one database, which is filled and opened again. */
async function opened(folder: string, program: Uint8Array, filling: Filling): Promise<Figure[]> {
  let running = await Running.start(folder);
  await running.publish(program);
  await running.stop();
  const bare = await startMillis(folder);
  running = await Running.start(folder);
  const figures = await filled(running, filling);
  await running.stop();
  for (const source of ['the log', 'a snapshot']) {
    if (source === 'the log') dropSnapshots(folder);
    const millis = Math.max((await startMillis(folder)) - bare, 0.1);
    const name = `opening a million plain rows from ${source}`;
    figures.push({ name, unit: 'ms', value: millis * (1_000_000 / filling.count) });
  }
  return figures;
}

/** The service takes a snapshot when it stops: without it, the next start reads the log. */
function dropSnapshots(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.rdbs')) rmSync(path.join(folder, name));
  }
}

/** Processor time of a start, until the database answers; the service ends. */
async function startMillis(folder: string): Promise<number> {
  const began = processorMillis();
  const running = await Running.start(folder);
  await running.countRows();
  const millis = processorMillis() - began;
  await running.stop();
  return millis;
}

function processorMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The service as it is shipped. */
class Running {
  readonly #service: Service;
  #token = '';

  private constructor(service: Service) {
    this.#service = service;
  }

  static async start(folder: string): Promise<Running> {
    const started = (await import(shipped)) as { readonly startService: typeof startService };
    const service = await started.startService({
      listen: { host: '127.0.0.1', port: 0 },
      dataDirectory: folder,
      logLevel: 'silent',
    });
    return new Running(service);
  }

  async publish(program: Uint8Array): Promise<void> {
    this.#token = JSON.parse(await this.ask('POST', '/v1/identity')).token;
    await this.ask('PUT', '/v1/database/shelves?host_type=Js', program);
  }

  async fill({ table, count }: Filling): Promise<void> {
    // Far below the time that a call may take, also on a machine that does other work.
    const batch = table === 'vectors' || table === 'texts' ? 250 : 2_500;
    for (let from = 0; from < count; from += batch) {
      const args = JSON.stringify([table, from, Math.min(from + batch, count)]);
      await this.ask('POST', '/v1/database/shelves/call/fill', args);
    }
  }

  /** A database says what it takes with what it answers next. */
  async memory(): Promise<{ readonly rows: number; readonly indexes: number }> {
    await this.countRows();
    const text = await this.ask('GET', '/v1/metrics');
    return { rows: figureIn(text, 'stored_row_bytes'), indexes: figureIn(text, 'index_bytes') };
  }

  async countRows(): Promise<void> {
    await this.ask('POST', '/v1/database/shelves/sql', 'SELECT COUNT(*) AS c FROM plain');
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  async ask(method: string, where: string, body?: string | Uint8Array): Promise<string> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (this.#token !== '') headers.authorization = `Bearer ${this.#token}`;
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = typeof body === 'string' ? body : new Uint8Array(body);
    const answer = await fetch(`${this.#service.url}${where}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${where}: ${answer.status} ${text}`);
    return text;
  }
}

function figureIn(text: string, name: string): number {
  const lines = text.matchAll(new RegExp(`^reducerdb_${name}(?:\\{.*\\})? (\\d+)$`, 'gm'));
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
}

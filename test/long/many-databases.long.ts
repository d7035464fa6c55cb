import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { RunningService, Sandbox } from '../service/harness.ts';
import { Running } from '../service/running.ts';
import { written } from '../service/written-module.ts';

/**
 * How a service with many databases starts: prints when it answers, how long the first request to a
 * database that is closed takes, and what idle ones cost. `MANY_DATABASES` says how many there are,
 * `MANY_ASKED` how many are asked, `MANY_ALL=1` also opens all of them.
 */
const count = Number(process.env.MANY_DATABASES ?? 500);
const askedCount = Math.min(count, Number(process.env.MANY_ASKED ?? 60));
const isolations = ['thread', 'process'] as const;

/** Made together before the service that makes them is started again, for the sake of memory. */
const together = 40;

const note = '{ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() }';
const exports = `
  export const begin = db.init((ctx) => { ctx.db.note.insert({ id: 0, text: 'first' }); });`;

const names = Array.from({ length: count }, (_, at) => `many-${at}`);
let folder: string;
let sandbox: Sandbox;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-many-'));
  sandbox = await Sandbox.make();
  const program = await written({ tables: { note }, exports });
  let owner: Awaited<ReturnType<Running['person']>> | undefined;
  for (let from = 0; from < count; from += together) {
    const running = await Running.start({ dataDirectory: folder, placement: 'local' });
    owner ??= await running.person();
    for (const name of names.slice(from, from + together)) {
      expect((await running.upload(name, program, owner)).status).toBe(200);
    }
    await running.pause();
  }
  await keepLinked();
}, 3_600_000);
afterAll(() => {
  sandbox.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** What makes the databases links nothing; a service that has opened them before has done it. */
async function keepLinked(): Promise<void> {
  const { service } = await start([]);
  await ask(names[0] ?? '');
  expect(await service.stop()).toBe(0);
  const databases = path.join(folder, 'databases');
  const folders = readdirSync(databases).map((name) => path.join(databases, name, 'programs'));
  const linked = folders.find((programs) => existsSync(programs)) ?? '';
  for (const programs of folders) {
    if (!existsSync(programs)) cpSync(linked, programs, { recursive: true });
  }
}

/** Milliseconds from the start of the process until it takes requests. */
async function start(flags: readonly string[]) {
  const startedMillis = performance.now();
  const address = `127.0.0.1:${sandbox.port}`;
  const args = ['start', '--listen-addr', address, '--data-dir', folder, '--log-level', 'warn'];
  const child = sandbox.spawn([...args, ...flags]);
  const service = new RunningService(child, sandbox.url);
  await service.untilReady();
  return { service, millis: performance.now() - startedMillis };
}

/** A query of the rows of a database, and how long its answer takes. */
async function ask(name: string): Promise<number> {
  const startedMillis = performance.now();
  const where = `${sandbox.url}/v1/database/${name}/sql`;
  const answer = await fetch(where, { method: 'POST', body: 'SELECT text FROM note' });
  const text = await answer.text();
  expect([answer.status, JSON.parse(text)[0].rows]).toEqual([200, [['first']]]);
  return performance.now() - startedMillis;
}

async function statesOf(): Promise<Record<string, number>> {
  const text = await (await fetch(`${sandbox.url}/v1/metrics`)).text();
  const found = text.matchAll(/^reducerdb_databases\{state="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, state, number]) => [state, Number(number)]));
}

/** What the service takes, without the processes of databases. */
function takenBy({ child }: RunningService): string {
  if (process.platform !== 'linux') return 'unknown here';
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const read = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return `${Math.round(read('VmRSS') / 1024)} MiB resident, ${read('Threads')} threads`;
}

function quantiles(millis: readonly number[]): string {
  const sorted = [...millis].sort((one, other) => one - other);
  const at = (part: number) => Math.round(sorted[Math.ceil(part * sorted.length) - 1] ?? 0);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}

const serving = { timeout: 1_800_000, interval: 200 };

describe.each(isolations)(`a service with ${count} databases (%s)`, (isolation) => {
  const isolated = ['--isolation', isolation];

  it('answers at once, and opens what is asked for', async () => {
    const { service, millis } = await start(isolated);
    const chosen = names.map((_, at) => names[(at * 37) % count] ?? '').slice(0, askedCount);
    const early = chosen.splice(0, 10);
    const first: number[] = [];
    for (const name of early) first.push(await ask(name));
    await expect.poll(async () => (await statesOf()).opening, serving).toBe(0);
    const idle = takenBy(service);
    const later: number[] = [];
    for (const name of chosen) later.push(await ask(name));
    console.info(
      `${isolation}: answers after ${Math.round(millis)} ms; first requests while it opens some: ` +
        `${quantiles(first)}; later: ${quantiles(later)}; then ${idle}, and with ` +
        `${askedCount} more open ${takenBy(service)} (${JSON.stringify(await statesOf())})`,
    );
    expect((await statesOf()).broken).toBe(0);
    expect((await statesOf()).closed).toBeGreaterThanOrEqual(
      count - askedCount - limits.startDatabasesMax,
    );
    expect(await service.stop()).toBe(0);
  });

  it.runIf(process.env.MANY_ALL === '1')('opens all of them where that was chosen', async () => {
    const startedMillis = performance.now();
    const { service, millis } = await start([...isolated, '--start-databases', 'all']);
    const first: number[] = [];
    for (const name of names.slice(-10)) first.push(await ask(name));
    await expect.poll(async () => (await statesOf()).serving, serving).toBe(count);
    const seconds = Math.round((performance.now() - startedMillis) / 1_000);
    console.info(
      `${isolation}, all: answers after ${Math.round(millis)} ms; first requests meanwhile: ` +
        `${quantiles(first)}; all serve after ${seconds} s; ${takenBy(service)}`,
    );
    expect(await service.stop()).toBe(0);
  });
});

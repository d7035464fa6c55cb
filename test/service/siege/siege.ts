import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, getPriority, setPriority, tmpdir } from 'node:os';
import path from 'node:path';
import type { Isolation } from '../../../src/host/workers/isolation.ts';
import { program } from '../built-program.ts';
import { freePort } from '../harness.ts';
import type { Person } from '../running.ts';
import { written } from '../written-module.ts';
import { type Attacker, answerTo, besiege, breach, type Field, type Outcomes } from './attacker.ts';
import { Besieged, type Memory, type ServiceFigures, startLoader } from './besieged.ts';
import { publishers } from './publishers.ts';
import { requests } from './requests.ts';
import { runaways } from './runaways.ts';
import { sockets } from './sockets.ts';
import { tokens } from './tokens.ts';

export interface SiegeOptions {
  readonly isolation: Isolation;
  /** For how long the well-behaved are alone, and under siege. */
  readonly aloneSeconds: number;
  readonly siegeSeconds: number;
  /** How many databases are well-behaved. */
  readonly databaseCount: number;
  /** How many runaways of each kind there are; all of them unless given. */
  readonly runawayCount?: number;
  /** Names of attackers, separated by commas; all unless given. */
  readonly only?: string | undefined;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What the well-behaved saw in one stretch of time. */
export interface LoadReport extends Percentiles {
  readonly calls: number;
  readonly ping: Percentiles;
  readonly failures: Readonly<Record<string, number>>;
}

export interface SiegeReport {
  readonly isolation: Isolation;
  readonly outcomes: readonly Outcomes[];
  /** Attackers that were let in. */
  readonly breaches: readonly string[];
  /** Before the siege, and after it: on a machine that does other things, too, they differ. */
  readonly alone: LoadReport;
  readonly after: LoadReport;
  readonly besieged: LoadReport;
  /** How the service ended during the siege; `undefined`: it did not. */
  readonly gatewayEnd: string | undefined;
  /** How often a well-behaved database was started again. */
  readonly restarts: number;
  readonly figures: ServiceFigures | undefined;
  readonly memory: { readonly begin: Memory; readonly peak: Memory; readonly end: Memory };
  readonly acknowledged: number;
  /** Acknowledged rows that SQL did not show: before, and after the service was killed. */
  readonly missing: readonly string[];
  readonly missingAfterKill: readonly string[];
}

const everyMillis = 250;
const memoryEveryMillis = 500;

/** All attackers at once, against one service whose other databases have paced load. */
export async function siege(options: SiegeOptions): Promise<SiegeReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-siege-'));
  const port = await freePort();
  const loader = startLoader();
  let service = await Besieged.start(folder, port, options.isolation);
  try {
    const databases = Array.from({ length: options.databaseCount }, (_, at) => `well-${at}`);
    const field = await prepare(service.url, databases);
    const attackers = attackersOf(options);
    for (const attacker of attackers) await attacker.prepare?.(field);
    await ask(loader, { kind: 'start', url: service.url, databases, everyMillis });
    await sleep(2_000);
    await ask(loader, { kind: 'report' });
    await sleep(options.aloneSeconds * 1_000);
    const alone = (await ask(loader, { kind: 'report' })) as LoadReport;
    const siegeTime = await underSiege(service, field, loader, { attackers, ...options });
    await ask(loader, { kind: 'report' });
    await sleep(options.aloneSeconds * 1_000);
    const after = (await ask(loader, { kind: 'report' })) as LoadReport;
    const gatewayEnd = service.end;
    const { acknowledged } = (await ask(loader, { kind: 'stop' })) as Acknowledged;
    const restarts = gatewayEnd === undefined ? await restartsOf(service.url, databases) : 0;
    const missing = gatewayEnd === undefined ? await missingRows(service.url, acknowledged) : [];
    await service.kill();
    service = await Besieged.start(folder, port, options.isolation);
    return {
      isolation: options.isolation,
      ...siegeTime,
      ...{ alone, after, gatewayEnd, restarts, missing },
      breaches: siegeTime.outcomes.filter(({ counts }) => counts.has(breach)).map((o) => o.name),
      acknowledged: acknowledged.reduce((sum, [, numbers]) => sum + numbers.length, 0),
      missingAfterKill: await missingRows(service.url, acknowledged),
    };
  } finally {
    loader.kill();
    await service.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

type Acknowledged = { readonly acknowledged: readonly (readonly [string, readonly number[]])[] };

function attackersOf({ isolation, runawayCount, only }: SiegeOptions): Attacker[] {
  const all = [...runaways(runawayCount), ...publishers, ...requests, ...sockets, ...tokens];
  const wanted = only?.split(',');
  return all
    .filter(({ modes }) => modes.includes(isolation))
    .filter(({ name }) => wanted === undefined || wanted.some((part) => name.includes(part)));
}

async function underSiege(
  service: Besieged,
  field: Field,
  loader: ChildProcess,
  { attackers, siegeSeconds }: SiegeOptions & { readonly attackers: readonly Attacker[] },
) {
  const begin = service.memory();
  let peak = begin;
  await service.figures('reset');
  const watch = setInterval(() => {
    const now = service.memory();
    if (sum(now) > sum(peak)) peak = now;
  }, memoryEveryMillis);
  const end = Date.now() + siegeSeconds * 1_000;
  const priority = getPriority();
  // Attackers have machines of their own: what they compute takes nothing from the service.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const attacks = attackers.map((one) => besiege(one, field, end));
  await sleep(siegeSeconds * 1_000);
  // The last attacks may take a while to be over; what is begun meanwhile does not count.
  const besieged = (await ask(loader, { kind: 'report' })) as LoadReport;
  const outcomes = await Promise.all(attacks);
  clearInterval(watch);
  setPriority(priority);
  const figures = await service.figures();
  return { outcomes, besieged, figures, memory: { begin, peak, end: service.memory() } };
}

const sum = ({ gatewayMebibytes, childrenMebibytes }: Memory) =>
  gatewayMebibytes + childrenMebibytes;

/** Publishes what attackers and the well-behaved find, and fills the quarry. */
async function prepare(url: string, databases: readonly string[]): Promise<Field> {
  const person = async () => {
    const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
    return (await answer.json()) as Person;
  };
  const [owner, stranger] = [await person(), await person()];
  const field = { url, stranger, victim: databases[0] ?? '', quarry: 'quarry' };
  const must = async (...[path, given]: [string, Parameters<typeof answerTo>[2]]) => {
    const { status, text } = await answerTo(field, path, { ...given, millisMax: 60_000 });
    if (status !== '200') throw new Error(`${path}: ${status} ${text}`);
  };
  const ledger = await program('ledger');
  for (const name of databases) {
    const where = `/v1/database/${name}?host_type=Js`;
    await must(where, { method: 'PUT', body: ledger, as: owner });
  }
  const where = '/v1/database/quarry?host_type=Js';
  await must(where, { method: 'PUT', body: await quarryModule(), as: stranger });
  // So few at a time that a busy machine does them within the besieged service's limit of a call.
  for (let from = 0; from < 20_000; from += 400) {
    await must('/v1/database/quarry/call/fill', { body: `[${from},${from + 400}]` });
  }
  return field;
}

function quarryModule() {
  return written({
    tables: {
      heap: '{ public: true }, { id: t.u32().primaryKey(), kind: t.u32(), text: t.string() }',
    },
    exports: `
      export const fill = db.reducer({ from: t.u32(), to: t.u32() }, (ctx, { from, to }) => {
        for (let id = from; id < to; id += 1) {
          ctx.db.heap.insert({ id, kind: id % 100, text: 'abc'.repeat(id % 200) });
        }
      });
      const pair = t.object('Pair', { a: t.u32() });
      export const put = db.reducer({ pairs: t.array(pair) }, () => undefined);
    `,
  });
}

/** Rows that were acknowledged and that SQL does not show, each as `database: number`. */
async function missingRows(
  url: string,
  acknowledged: Acknowledged['acknowledged'],
): Promise<string[]> {
  const missing: string[] = [];
  for (const [database, numbers] of acknowledged) {
    const body = 'SELECT number FROM entry WHERE writer = 0';
    const found = new Set(await rowsOf(`${url}/v1/database/${database}/sql`, body));
    for (const number of numbers) if (!found.has(number)) missing.push(`${database}: ${number}`);
  }
  return missing;
}

/** What is asked here is which rows there are: a statement that a busy machine stopped comes again. */
async function rowsOf(url: string, body: string): Promise<number[]> {
  for (let left = 20; ; left -= 1) {
    const answer = await fetch(url, { method: 'POST', body });
    const text = await answer.text();
    if (answer.status === 200) return (JSON.parse(text) as [{ rows: [number][] }])[0].rows.flat();
    if (left === 0 || !text.includes('was stopped')) throw new Error(`${url}: ${text}`);
  }
}

async function restartsOf(url: string, databases: readonly string[]): Promise<number> {
  const metrics = await (await fetch(`${url}/v1/metrics`)).text();
  let restarts = 0;
  for (const name of databases) {
    const answer = await fetch(`${url}/v1/database/${name}/identity`);
    const identity = (await answer.text()).replace(/\W/g, '').replace(/^0x/, '');
    const line = metrics
      .split('\n')
      .find(
        (text) => text.startsWith('reducerdb_worker_restarts_total{') && text.includes(identity),
      );
    if (line === undefined) throw new Error(`no metrics of ${name}, ${identity}`);
    restarts += Number(line.split(' ').at(-1));
  }
  return restarts;
}

async function ask(loader: ChildProcess, message: object): Promise<unknown> {
  const answer = once(loader, 'message');
  loader.send(message);
  return (await answer)[0];
}

function sleep(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

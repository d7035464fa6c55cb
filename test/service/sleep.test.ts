import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { limits } from '../../src/limits.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { Running } from './running.ts';
import { written } from './written-module.ts';

/** One service whose databases sleep after a second without use. */

const sleepAfter = 1_000;
const names = ['plain', 'timed', 'later', 'apart'];
const flags = ['--sleep-after', '1s', '--isolation-of', 'apart=process', '--log-level', 'info'];

const tables = {
  note: '{ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() }',
  job: '{ public: true }, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), due: t.i64() }',
  ran: '{ public: true }, { id: t.u64().primaryKey().autoInc(), lateness: t.i64() }',
};
const exports = `
  const micros = (ctx) => ctx.timestamp.microsSinceUnixEpoch;
  export const add = db.reducer({ text: t.string() }, (ctx, { text }) => {
    ctx.db.note.insert({ id: 0, text });
  });
  export const work = db.reducer({ onSchedule: job }, { job: job.rowType }, (ctx, { job }) => {
    ctx.db.ran.insert({ id: 0n, lateness: micros(ctx) - job.due });
  });
  export const later = db.reducer({ millis: t.i64() }, (ctx, { millis }) => {
    const due = micros(ctx) + millis * 1000n;
    ctx.db.job.insert({ id: 0n, at: ScheduleAt.time(due), due });
  });`;

let folder: string;
let sandbox: Sandbox;
let service: RunningService;
let token: string;
const identities = new Map<string, string>();
const waiting = { timeout: 60_000, interval: 50 };

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-sleep-'));
  const running = await Running.start({ dataDirectory: folder, placement: 'local' });
  const owner = await running.person();
  token = owner.token;
  const program = await written({ tables, exports });
  for (const name of names) {
    expect((await running.upload(name, program, owner)).status).toBe(200);
    identities.set(name, (await running.ask('GET', `/v1/database/${name}/identity`)).text);
  }
  await running.pause();
  sandbox = await Sandbox.make();
  service = await sandbox.start(['--data-dir', folder, ...flags]);
  // A start leaves some of them closed.
  for (const name of names)
    expect((await ask(`database/${name}/schema?version=9`)).status).toBe(200);
}, 120_000);
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  sandbox.remove();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(where: string, body?: string, method = body === undefined ? 'GET' : 'POST') {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = body === undefined ? { method, headers } : { method, headers, body };
  const answer = await fetch(`${service.url}/v1/${where}`, init);
  return { status: answer.status, text: await answer.text() };
}

function publish(name: string, body: Uint8Array<ArrayBuffer>): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' };
  const where = `${service.url}/v1/database/${name}?host_type=Js`;
  return fetch(where, { method: 'PUT', headers, body });
}

/** Asking for that wakes nothing. */
async function stateOf(name: string): Promise<string> {
  return JSON.parse((await ask(`database/${name}/health?detail`)).text).parts.opened.state;
}

async function untilAsleep(...which: string[]): Promise<void> {
  const states = () => Promise.all(which.map(stateOf));
  await expect.poll(states, waiting).toEqual(which.map(() => 'asleep'));
}

async function figure(line: string): Promise<number> {
  const { text } = await ask('metrics');
  const found = text.split('\n').find((one) => one.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1));
}

async function rows(name: string, statement: string): Promise<unknown[][]> {
  return JSON.parse((await ask(`database/${name}/sql`, statement)).text)[0].rows;
}

function add(name: string, text = 'more') {
  return ask(`database/${name}/call/add`, JSON.stringify([text]));
}

it('[living 6.6] databases that nobody uses sleep, after a snapshot', async () => {
  await untilAsleep(...names);
  expect(await figure('reducerdb_databases{state="asleep"}')).toBe(names.length);
  expect(await figure('reducerdb_databases{state="serving"}')).toBe(0);
  expect((await ask('database/plain/health')).text).toBe('{"ok":true}');
  const home = path.join(folder, 'databases', identities.get('plain') ?? '');
  const files = readdirSync(path.join(home, 'log-1'));
  expect(files.filter((name) => name.includes('snapshot')).length).toBeGreaterThan(0);
  expect(service.output).toContain(`${identities.get('plain')} sleeps: nobody uses it`);
});

it('[living 6.6] what needs no rows wakes nobody', async () => {
  await untilAsleep('plain');
  const wakes = await figure('reducerdb_wakes_total{reason="request"}');
  expect(JSON.parse((await ask('database/plain/names')).text)).toEqual({ names: ['plain'] });
  expect((await ask('database/plain')).status).toBe(200);
  expect((await ask('database/plain/logs?num_lines=9')).text).toContain('Database initialized');
  expect((await ask('database/plain/quota')).status).toBe(200);
  expect(await stateOf('plain')).toBe('asleep');
  expect(await figure('reducerdb_wakes_total{reason="request"}')).toBe(wakes);
});

it.each(['plain', 'apart'])('[living 6.6] a request wakes a database: %s', async (name) => {
  await untilAsleep(name);
  expect((await add(name, 'first')).status).toBe(200);
  await untilAsleep(name);
  expect(await rows(name, 'SELECT text FROM note')).toEqual([['first']]);
  const schema = JSON.parse((await ask(`database/${name}/schema?version=9`)).text);
  expect(schema.tables.length).toBeGreaterThan(2);
  await untilAsleep(name);
  expect((await ask(`database/${name}/schema?version=9`)).status).toBe(200);
  expect(service.output).toContain(`${identities.get(name)} wakes for a request`);
});

it('[living 6.6] requests that come while it falls asleep are all answered', async () => {
  const rounds = 8;
  const count = 'SELECT COUNT(*) AS n FROM note';
  const [[before] = []] = await rows('plain', count);
  let asked = Number(before);
  for (let round = 0; round < rounds; round += 1) {
    // The look at its use, the snapshot and the end of its thread come about then.
    await new Promise((resolve) => setTimeout(resolve, sleepAfter - 50 + round * 40));
    const calls = Array.from({ length: 20 }, async (_, at) => {
      await new Promise((resolve) => setTimeout(resolve, at * 15));
      return (await add('plain')).status;
    });
    asked += calls.length;
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
  }
  expect(await rows('plain', count)).toEqual([[asked]]);
});

it('[living 6.6] a connection keeps its database awake, however quiet', async () => {
  const where = `${service.url.replace('http', 'ws')}/v1/database/plain/subscribe`;
  const socket = new WebSocket(where, 'v1.json.spacetimedb');
  await new Promise((resolve, reject) => {
    socket.once('message', resolve);
    socket.once('error', reject);
  });
  expect((await add('timed')).status).toBe(200);
  await untilAsleep('timed');
  expect((await add('timed')).status).toBe(200);
  await untilAsleep('timed');
  expect(await stateOf('plain')).toBe('serving');
  socket.terminate();
  await untilAsleep('plain');
});

it('[living 6.6] a schedule that is due wakes its database in time', async () => {
  const wakes = await figure('reducerdb_wakes_total{reason="schedule"}');
  // Longer than what keeps it awake until then.
  expect((await ask('database/timed/call/later', '[15000]')).status).toBe(200);
  await untilAsleep('timed');
  const woken = () => figure('reducerdb_wakes_total{reason="schedule"}');
  await expect.poll(woken, waiting).toBe(wakes + 1);
  const ran = () => rows('timed', 'SELECT lateness FROM ran');
  await expect.poll(async () => (await ran()).length, waiting).toBe(1);
  const [[lateness] = []] = await ran();
  // It was open before: the run waited for its turn alone.
  expect(Number(lateness)).toBeLessThan(limits.healthScheduleMillisMax * 1_000);
  expect(service.output).toContain(`${identities.get('timed')} wakes because a schedule is due`);
});

it('[living 6.6] a program can be published to one that sleeps', async () => {
  await untilAsleep('plain');
  const next = await written({ tables, exports, says: 'two' });
  expect((await publish('plain', next)).status).toBe(200);
  expect((await ask('database/plain/call/which', '[]')).text).toBe('two');
});

it('[living 6.6] after a kill, those that slept sleep on, until they are due or asked', async () => {
  expect((await ask('database/later/call/later', '[25000]')).status).toBe(200);
  await untilAsleep(...names);
  expect((await add('plain', 'last')).status).toBe(200);
  service.child.kill('SIGKILL');
  await service.ended;
  service = await sandbox.start(['--data-dir', folder, ...flags]);
  const still = names.filter((name) => name !== 'plain' && name !== 'later');
  for (const name of still) expect([name, await stateOf(name)]).toEqual([name, 'asleep']);
  expect(service.output).toContain('opening 1 of 1 databases');
  await expect.poll(() => figure('reducerdb_wakes_total{reason="schedule"}'), waiting).toBe(1);
  const ran = async () => (await rows('later', 'SELECT lateness FROM ran')).length;
  await expect.poll(ran, waiting).toBe(1);
  expect(await rows('plain', "SELECT text FROM note WHERE text = 'last'")).toEqual([['last']]);
  expect(await rows('apart', 'SELECT text FROM note')).toEqual([['first']]);
  for (const name of still) expect((await add(name)).status).toBe(200);
});

it('[living 6.6] one that sleeps can be deleted', async () => {
  await untilAsleep('timed');
  const home = path.join(folder, 'databases', identities.get('timed') ?? '');
  await expect.poll(() => existsSync(path.join(home, 'asleep'))).toBe(true);
  expect((await ask('database/timed', undefined, 'DELETE')).status).toBe(200);
  expect(existsSync(home)).toBe(false);
});

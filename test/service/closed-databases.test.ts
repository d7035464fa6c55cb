import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { limits } from '../../src/limits.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

const note = '{ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() }';
const exports = `
  export const add = db.reducer((ctx) => { ctx.db.note.insert({ id: 0, text: 'more' }); });
  export const begin = db.init((ctx) => { ctx.db.note.insert({ id: 0, text: 'first' }); });`;

/** Written long ago, so that a start leaves them closed. */
const old = ['listed', 'queried', 'watched', 'agent', 'damaged'];
const recent = Array.from({ length: limits.startDatabasesMax }, (_, at) => `recent-${at}`);

let folder: string;
let owner: Person;
let sandbox: Sandbox;
let service: RunningService;
const identities = new Map<string, string>();

/** Where its segments are. */
function logOf(name: string): string {
  return path.join(folder, 'databases', identities.get(name) ?? '', 'log-1');
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-closed-'));
  const running = await Running.start({ dataDirectory: folder, placement: 'local' });
  owner = await running.person();
  const program = await written({ tables: { note }, exports });
  for (const name of [...old, ...recent]) {
    expect((await running.upload(name, program, owner)).status).toBe(200);
    identities.set(name, (await running.ask('GET', `/v1/database/${name}/identity`)).text);
  }
  await running.pause();
  for (const name of old) {
    for (const file of readdirSync(logOf(name))) {
      const segment = path.join(logOf(name), file);
      if (name === 'damaged' && file.endsWith('.log')) {
        const end = readFileSync(segment).findLastIndex((byte) => byte !== 0);
        truncateSync(segment, Math.floor(end / 2));
      }
      utimesSync(segment, 1_000_000, 1_000_000);
    }
  }
  sandbox = await Sandbox.make();
  service = await sandbox.start(['--data-dir', folder, '--log-level', 'info']);
}, 120_000);
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  sandbox.remove();
  rmSync(folder, { recursive: true, force: true });
});

async function metrics(): Promise<string> {
  return (await fetch(`${service.url}/v1/metrics`)).text();
}

/** How many databases are in each state. */
async function states(): Promise<Record<string, number>> {
  const found = (await metrics()).matchAll(/^reducerdb_databases\{state="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, state, count]) => [state, Number(count)]));
}

async function expectClosed(closed: number, broken = 0): Promise<void> {
  const serving = old.length + recent.length - closed - broken;
  await expect.poll(states, { timeout: 60_000 }).toEqual({
    ...{ closed, asleep: 0, opening: 0, serving, broken },
  });
}

async function ask(where: string, body?: string): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { method: 'POST', headers, body };
  const answer = await fetch(`${service.url}/v1/${where}`, init);
  return { status: answer.status, text: await answer.text() };
}

it('opens the databases that were written last, and leaves the others closed', async () => {
  await expectClosed(old.length);
  const total = old.length + recent.length;
  expect(service.output).toContain(`opening ${recent.length} of ${total} databases (`);
  await expect
    .poll(() => service.output)
    .toMatch(new RegExp(`${recent.length} of ${recent.length} databases serve after \\d`));
  const up = [...(await metrics()).matchAll(/^reducerdb_database_up\{database="(\w+)"\} 1$/gm)];
  const recentOnes = recent.map((name) => identities.get(name));
  expect(up.map(([, identity]) => identity).sort()).toEqual(recentOnes.sort());
});

it('answers what needs no rows without opening a database', async () => {
  const identity = identities.get('listed');
  expect((await ask('database/listed/identity')).text).toBe(identity);
  expect(JSON.parse((await ask('database/listed/names')).text)).toEqual({ names: ['listed'] });
  expect((await ask('database/listed')).text).toContain('initial_program');
  expect((await ask('database/listed/logs?num_lines=9')).text).toContain('Database initialized');
  const mine = JSON.parse((await ask(`identity/${owner.identity}/databases`)).text);
  expect(mine.identities ?? mine.addresses).toContain(identity);
  await expectClosed(old.length);
});

it('opens a closed database for any request that needs it', async () => {
  const schema = JSON.parse((await ask('database/listed/schema?version=9')).text);
  expect(schema.tables.map(({ name }: { name: string }) => name)).toEqual(['note']);
  await expectClosed(old.length - 1);

  const count = 'SELECT COUNT(*) AS n FROM note';
  expect(JSON.parse((await ask('database/queried/sql', count)).text)[0].rows).toEqual([[1]]);
  expect((await ask('database/queried/call/add', '[]')).status).toBe(200);
  await expectClosed(old.length - 2);

  const call = { name: 'sql', arguments: { sql: 'SELECT text FROM note' } };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  expect((await ask('database/agent/mcp', JSON.stringify(message))).text).toContain('first');
  const where = `${service.url.replace('http', 'ws')}/v1/database/watched/subscribe`;
  const socket = new WebSocket(where, 'v1.json.spacetimedb');
  await new Promise((resolve, reject) => {
    socket.once('message', resolve);
    socket.once('error', reject);
  });
  socket.terminate();
  await expectClosed(1);
  expect(service.output).toMatch(/serves; opening took \d+\.\d s \(/);
});

it('finds damage when it opens a database, and says so', async () => {
  await expectClosed(1);
  const { status, text } = await ask('database/damaged/sql', 'SELECT * FROM note');
  expect(status).toBe(500);
  expect(text).toMatch(/^error starting database: log is damaged: /);
  await expectClosed(0, 1);
  const identity = identities.get('damaged');
  expect(await metrics()).toContain(`reducerdb_database_up{database="${identity}"} 0`);
  expect(service.output).toMatch(
    new RegExp(`"level":50.*${identity} no longer serves: log is damaged`),
  );
});

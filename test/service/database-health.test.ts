import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.ts';
import { type Person, Running } from './running.ts';
import { Guest } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

/** Bounds of this process, and so of the service in it, for which no test wants to wait. */
const bounds = limits as unknown as { healthWaitMillisMax: number; healthFanOutMillisMax: number };
const usual = { ...bounds };

const budget = { callMillisMax: 3_000 };
let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start({ budget });
  owner = await running.person();
  const { status, text } = await running.upload('tavern', await tavern(), owner);
  if (status !== 200) throw new Error(text);
});
afterAll(async () => {
  Object.assign(bounds, usual);
  await running.stop();
});

const ask = (query = '', as?: Person) =>
  running.ask('GET', `/v1/database/tavern/health${query}`, { as });

interface Shown {
  readonly ok: boolean;
  readonly parts: Readonly<Record<string, { ok: boolean; waiting_seconds?: number }>>;
}

/** The parts that are not fine, and the status that says so. */
async function ailing(): Promise<string> {
  const { status, text } = await ask('?detail', owner);
  const { ok, parts }: Shown = JSON.parse(text);
  expect(status).toBe(ok ? 200 : 503);
  const names = Object.entries(parts).filter(([, part]) => !part.ok);
  expect(ok).toBe(names.length === 0);
  return names.map(([name]) => name).join();
}

describe('the health of a database', () => {
  it('[living 1.16] is for anyone to see, and its parts for developers', async () => {
    expect(await ask()).toMatchObject({ status: 200, text: '{"ok":true}' });
    expect(await ask('?detail=false')).toMatchObject({ status: 200, text: '{"ok":true}' });
    expect((await ask('?detail')).status).toBe(403);
    expect((await ask('?detail=1', owner)).status).toBe(400);
    const { status, text, headers } = await ask('?detail', owner);
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    const fine = { ok: true, waiting_seconds: expect.any(Number) };
    const opened = { ok: true, state: 'serving' };
    const durability = { ...fine, read_only: false };
    const schedules = { ...fine, paused: false };
    const secrets = { ok: true, unreadable: [] };
    const snapshots = { ok: true, failures: 0 };
    const waiting = { commits: fine, durability, fan_out: fine, schedules };
    const parts = { opened, ...waiting, snapshots, secrets };
    expect(JSON.parse(text)).toEqual({ ok: true, parts });
    expect((await running.ask('GET', '/v1/database/nobody/health')).status).toBe(404);
  });

  it('costs few looks, however often strangers ask', async () => {
    const looks = vi.spyOn(running.service.host.database('tavern').handle, 'health');
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask()));
    expect(answers.every(({ text }) => text === '{"ok":true}')).toBe(true);
    expect(looks.mock.calls.length).toBeLessThan(25);
    looks.mockRestore();
  });

  it('[living 1.16] tells of requests that wait while no turn ends', async () => {
    bounds.healthWaitMillisMax = 300;
    const call = running.call('tavern', 'spin', []);
    await expect.poll(ailing, { interval: 50 }).toBe('commits');
    expect((await ask()).text).toBe('{"ok":false}');
    expect((await call).status).toBe(402);
    bounds.healthWaitMillisMax = usual.healthWaitMillisMax;
    await expect.poll(ailing, { interval: 50 }).toBe('');
  });

  it('[living 1.16] tells of updates that wait for a client', async () => {
    bounds.healthFanOutMillisMax = 300;
    const query = 'compression=None&confirmed=false';
    const slow = await Guest.arrive(running.service.url, 'tavern', { query });
    slow.subscribe(1, 0, 'SELECT * FROM ring');
    await slow.expect('subscribeApplied');
    slow.client.socket.pause();
    const ring = async () => {
      await running.call('tavern', 'ring_it', ['x'.repeat(1_000_000)]);
      return ailing();
    };
    await expect.poll(ring, { interval: 10 }).toBe('fan_out');
    slow.client.socket.resume();
    await expect.poll(ailing, { interval: 50 }).toBe('');
    await slow.client.close();
    bounds.healthFanOutMillisMax = usual.healthFanOutMillisMax;
  });

  it('[living 1.16] tells of a database that could not be opened', async () => {
    const identity = (await running.ask('GET', '/v1/database/tavern/identity')).text;
    await running.pause();
    const logs = path.join(running.folder, 'databases', identity, 'log-1');
    const [segment = ''] = readdirSync(logs).sort();
    const bytes = readFileSync(path.join(logs, segment));
    const place = bytes.indexOf('ring_it');
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    writeFileSync(path.join(logs, segment), bytes);
    running = await Running.start({ dataDirectory: running.folder, budget });
    await expect.poll(async () => (await ask('?detail', owner)).text).toContain('"broken"');
    expect(await ailing()).toBe('opened');
    expect((await ask()).status).toBe(503);
  });
});

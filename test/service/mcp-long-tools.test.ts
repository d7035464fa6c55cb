import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { EventStreamReader } from '../../src/mcp-protocol/event-stream.ts';
import { modernRequest } from '../support/modern-request.ts';
import { figureOf } from './figure.ts';
import { type Inn, openInn } from './inn.ts';
import { hostWide } from './mcp-support.ts';

/** Tools that take long: they tell that they run, and end when nobody waits for them. */

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
  for (let count = 0; count < 30; count++) {
    await inn.running.call('inn', 'add_person', [`p${count}`], inn.owner);
  }
});
afterAll(() => inn.running.stop());

const slow = `SELECT COUNT(*) AS n FROM ${[...'abcdefgh']
  .map((name) => `person AS ${name}`)
  .join(' CROSS JOIN ')} WHERE a.name < h.name`;
const args = { database: 'inn', sql: slow };
const ofJson = { 'content-type': 'application/json' };

const pausedReads = () => figureOf(inn.running, 'paused_reads');

const send = (body: string, headers: Record<string, string>, signal: AbortSignal) =>
  fetch(inn.running.service.url + hostWide.path, {
    ...{ method: 'POST', body, signal },
    headers: { ...ofJson, authorization: `Bearer ${inn.owner.token}`, ...headers },
  });

describe('a statement that takes long', () => {
  it('[mcp B4] ends when its modern client goes away', async () => {
    const leaving = new AbortController();
    const { body, headers } = modernRequest('tools/call', { name: 'sql', arguments: args });
    const asked = send(body, headers, leaving.signal).catch(() => 'left');
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(0);
  });

  it('[mcp B6] ends when its legacy client says so, and is not answered', async () => {
    const message = (method: string, params: object, id?: number) =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const { signal } = new AbortController();
    const asked = send(message('tools/call', { name: 'sql', arguments: args }, 7), {}, signal);
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(1);
    await send(message('notifications/cancelled', { requestId: 7 }), {}, signal);
    const answer = await asked;
    expect([answer.status, await answer.text()]).toEqual([202, '']);
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(0);
  });

  it('[mcp B6] tells that it runs, so that its client goes on waiting', async () => {
    const leaving = new AbortController();
    const params = { name: 'sql', arguments: args, _meta: { progressToken: 'p' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const accept = 'application/json, text/event-stream';
    const answer = await send(body, { accept }, leaving.signal);
    const reader = new EventStreamReader(10_000);
    for await (const piece of answer.body ?? []) {
      const [first] = reader.push(new TextDecoder().decode(piece));
      if (first === undefined) continue;
      expect(JSON.parse(first)).toMatchObject({
        method: 'notifications/progress',
        params: { progressToken: 'p', progress: limits.agentProgressSeconds },
      });
      break;
    }
    leaving.abort();
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { EventStreamReader } from '../../src/mcp-protocol/event-stream.ts';
import type { Service } from '../../src/service/start-service.ts';
import { modernRequest } from '../support/modern-request.ts';
import { someOf } from '../support/share.ts';
import { type Inn, openInn } from './inn.ts';
import { hostWide, modes } from './mcp-support.ts';
import { type Person, Running } from './running.ts';

/** What HTTP adds to the protocol: methods, statuses, headers, streams, clients that leave. */

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
});
afterAll(() => inn.running.stop());

const ofJson = { 'content-type': 'application/json' };
const events = { ...ofJson, accept: 'text/event-stream' };
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

interface Modern {
  readonly where?: string;
  readonly as?: Person;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly service?: Service;
}

function modern(method: string, params: object = {}, sent: Modern = {}): Promise<Response> {
  const {
    where = hostWide.path,
    as = inn.owner,
    service = inn.running.service,
    signal = null,
  } = sent;
  const { body, headers } = modernRequest(method, params);
  const authorization = `Bearer ${as.token}`;
  const all = { ...ofJson, authorization, ...headers, ...sent.headers };
  return fetch(service.url + where, { method: 'POST', body, headers: all, signal });
}

const listen = (sent: Modern = {}) =>
  modern(
    'subscriptions/listen',
    { notifications: { resourcesListChanged: true } },
    { ...sent, headers: events },
  );

describe.each(someOf(modes, 2))('the endpoint $name', ({ path }) => {
  it('[mcp B3] takes POST only, and says so', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await inn.running.ask(method, path);
      expect([status, headers.get('allow')], method).toEqual([405, 'POST']);
    }
  });

  it('[mcp A2] takes JSON only, and gives JSON to a client that says nothing', async () => {
    const headers = { 'content-type': 'text/plain' };
    expect((await inn.running.ask('POST', path, { body: ping, headers })).status).toBe(415);
    const answer = await inn.running.ask('POST', path, { body: ping, headers: ofJson });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.text).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
  });

  it('[mcp A2] takes JSON in UTF-8 only, and says so as the protocol does', async () => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"ping"}', 'latin1');
    const { status, text } = await inn.running.ask('POST', path, { body, headers: ofJson });
    const { error, ...others } = JSON.parse(text);
    expect([status, others, error.code]).toEqual([400, { jsonrpc: '2.0', id: null }, -32700]);
  });

  it('[mcp B3] gives a stream that no proxy keeps to a client that takes nothing else', async () => {
    const answer = await fetch(inn.running.service.url + path, {
      ...{ method: 'POST', body: ping, headers: events },
    });
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'spacetime-identity': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const answered = 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n';
    expect(await answer.text()).toBe(answered);
  });

  it('[mcp B3] has nothing for a client that takes neither', async () => {
    const headers = { ...ofJson, accept: 'text/html' };
    const { status, text } = await inn.running.ask('POST', path, { body: ping, headers });
    expect(status).toBe(406);
    expect(JSON.parse(text).error.code).toBe(-32600);
  });

  it('[mcp B4] serves the modern era beside the legacy one', async () => {
    const discovered = await modern('server/discover', {}, { where: path });
    expect(discovered.status).toBe(200);
    const { result } = (await discovered.json()) as { result: { supportedVersions: string[] } };
    expect(result.supportedVersions).toContain('2025-11-25');
    const call = { name: 'ping', arguments: { message: 'hi' } };
    const called = await modern('tools/call', call, { where: path });
    expect(await called.json()).toMatchObject({
      result: { resultType: 'complete', content: [{ text: 'pong: hi' }] },
    });
    expect((await modern('ping', {}, { where: path })).status).toBe(404);
  });

  it('[mcp B4] refuses headers that differ from the message', async () => {
    const call = { name: 'ping' };
    const headers = { 'mcp-name': 'sql' };
    const answer = await modern('tools/call', call, { where: path, headers });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ id: 1, error: { code: -32020 } });
  });

  it('[mcp B3] takes batches of the revision that has them', async () => {
    const note = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    const send = (body: string, version: string) =>
      inn.running.ask('POST', path, {
        body,
        headers: { ...ofJson, 'mcp-protocol-version': version },
      });
    expect(JSON.parse((await send(`[${ping},${note}]`, '2025-03-26')).text)).toHaveLength(1);
    expect((await send(`[${note}]`, '2025-03-26')).status).toBe(202);
    expect((await send(`[${ping}]`, '2025-06-18')).status).toBe(400);
  });
});

describe('features in the address', () => {
  it('[mcp B13] may be separated by commas, blanks, or given twice', async () => {
    for (const query of ['features=logs,whoami', 'features=logs&features=whoami', 'features=']) {
      const where = `${hostWide.path}?${query}`;
      const { status } = await inn.running.ask('POST', where, { body: ping, headers: ofJson });
      expect(status, query).toBe(200);
    }
  });
});

describe('a client that listens', () => {
  it('[mcp B5] may leave, and then holds no place any more', async () => {
    const leaving = new AbortController();
    const streams = await Promise.all(
      Array.from({ length: limits.mcpListenStreamsMax }, () => listen({ signal: leaving.signal })),
    );
    expect(streams.map(({ status }) => status)).not.toContain(429);
    expect((await listen()).status).toBe(429);
    leaving.abort();
    const staying = new AbortController();
    await expect
      .poll(async () => (await listen({ signal: staying.signal })).status, { timeout: 10_000 })
      .toBe(200);
    staying.abort();
  });

  it('[mcp B5] is told of the end when the service stops', async () => {
    const other = await Running.start();
    const answer = await listen({ as: await other.person(), service: other.service });
    const told = answer.text();
    await other.stop();
    const [first, last] = new EventStreamReader(10_000)
      .push(await told)
      .map((message) => JSON.parse(message));
    expect(first).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    expect(last).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  });
});

describe('many requests on one connection', () => {
  it('[mcp B6] leave nothing behind on it', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    for (let count = 0; count < 50; count++) {
      await inn.running.ask('POST', hostWide.path, { body: ping, headers: ofJson });
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

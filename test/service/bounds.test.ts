import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { LoadBounds } from '../../src/http/load.ts';
import { limits } from '../../src/limits.ts';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { modernRequest } from '../support/modern-request.ts';
import { converse } from './raw-http.ts';
import { program, Running } from './running.ts';
import { SocketClient } from './socket-client.ts';

/** What one client, or all of them together, may take of a service. */

let running: Running;
afterEach(() => running.stop());

async function start(given: GivenConfiguration): Promise<void> {
  running = await Running.start(given);
}

const unlimited = Number.POSITIVE_INFINITY;
const forwarded = (address: string) => ({ headers: { 'x-forwarded-for': address } });

/** How often each status was answered. */
async function statuses(
  count: number,
  ask: (_: unknown, number: number) => Promise<{ status: number }>,
) {
  const answers = await Promise.all(Array.from({ length: count }, ask));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('rates of requests', () => {
  it('[http 16] are without limit on loopback, unless set', async () => {
    await start({});
    const ping = () => running.ask('GET', '/v1/ping');
    expect(await statuses(300, ping)).toEqual({ 200: 300 });
  });

  it('[http 16] of one identity: 429, and when to come again; others go on', async () => {
    await start({ rates: { identityRequestsPerSecond: 3 } });
    const [ada, grace] = [await running.person(), await running.person()];
    const names = '/v1/database/nowhere/names';
    expect(await statuses(8, () => running.ask('GET', names, { as: ada }))).toEqual({
      404: 3,
      429: 5,
    });
    const refused = await running.ask('GET', names, { as: ada });
    expect(refused).toMatchObject({ status: 429, text: 'Too many requests' });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    expect((await running.ask('GET', names, { as: grace })).status).toBe(404);
    // Who has no identity is counted by the address alone.
    expect(await statuses(8, () => running.ask('GET', names))).toEqual({ 404: 8 });
    await expect
      .poll(async () => (await running.ask('GET', names, { as: ada })).status, { timeout: 5_000 })
      .toBe(404);
  });

  it('[http 16] of one address, which a trusted proxy may name', async () => {
    const rates = { addressRequestsPerSecond: 4 };
    await start({ rates, trustedProxies: ['127.0.0.1'] });
    const from = (address: string) => () => running.ask('GET', '/v1/ping', forwarded(address));
    expect(await statuses(10, from('203.0.113.5'))).toEqual({ 200: 4, 429: 6 });
    expect(await statuses(10, from('6.6.6.6, 203.0.113.5'))).toEqual({ 429: 10 });
    expect(await statuses(4, from('203.0.113.6'))).toEqual({ 200: 4 });
    // All addresses of an IPv6 network are one.
    expect(await statuses(4, from('2001:db8::1'))).toEqual({ 200: 4 });
    expect(await statuses(4, from('2001:db8::2'))).toEqual({ 429: 4 });
  });

  it('[http 16] of whoever is no proxy do not heed what it says of itself', async () => {
    await start({ rates: { addressRequestsPerSecond: 4 } });
    const ask = (_: unknown, number: number) =>
      running.ask('GET', '/v1/ping', forwarded(`203.0.113.${number}`));
    expect(await statuses(10, ask)).toEqual({ 200: 4, 429: 6 });
  });

  it('[auth 2.5] of tokens that one address gives up: those of others can still be', async () => {
    await start({ rates: { addressRequestsPerSecond: 500 }, trustedProxies: ['127.0.0.1'] });
    const giveUp = async (address: string) => {
      const as = await running.person();
      return running.ask('POST', '/v1/identity/revoke', { as, ...forwarded(address) });
    };
    const perHour = limits.givenUpTokensPerHour;
    const given = await statuses(perHour + 5, () => giveUp('203.0.113.5'));
    expect(given[200]).toBeGreaterThanOrEqual(perHour);
    expect(given[429]).toBeGreaterThan(0);
    const refused = await giveUp('203.0.113.5');
    expect(refused.text).toBe('Too many tokens were given up from this address');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1);
    expect((await giveUp('203.0.113.6')).status).toBe(200);
  });

  it.each([
    ['an address', { addressRequestsPerSecond: 20 }],
    ['an identity', { identityRequestsPerSecond: 20 }],
  ])('[http 16] of %s count each message of a batch over MCP', async (_, rates) => {
    await start({ rates: { identityRequestsPerSecond: unlimited, ...rates } });
    const as = await running.person();
    const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
    const ask = () =>
      running.ask('POST', '/v1/mcp', {
        as,
        body: JSON.stringify(Array.from({ length: 50 }, (_none, id) => ping(id))),
        headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' },
      });
    expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1);
  });

  it.each([
    ['of an address', { addressRequestsPerSecond: 3 }],
    ['of an identity', { identityRequestsPerSecond: 3 }],
  ])('[http 16] %s hold for WebSockets, too', async (_, rates) => {
    await start({ rates: { identityRequestsPerSecond: unlimited, ...rates } });
    const { token } = await running.person();
    const headers = { authorization: `Bearer ${token}` };
    const results = [];
    for (let knock = 0; knock < 5; knock += 1) {
      const client = SocketClient.begin(running.service.url, 'nowhere', { headers });
      results.push(
        await new Promise((resolve) => {
          client.socket.once('unexpected-response', (_request, { statusCode, headers: told }) =>
            resolve(`${statusCode} ${told['retry-after'] ?? ''}`.trim()),
          );
          client.socket.once('error', () => undefined);
        }),
      );
      client.socket.terminate();
    }
    // Asking for the identity was a request of the address.
    const count = 'addressRequestsPerSecond' in rates ? 2 : 3;
    expect(results.filter((result) => result === '404')).toHaveLength(count);
    expect(results.slice(count)).toEqual(Array.from({ length: 5 - count }, () => '429 1'));
  });
});

describe('requests over a WebSocket', () => {
  it('[http 16] wait when they are too many, and none is lost', async () => {
    await start({ rates: { identityRequestsPerSecond: 40 } });
    const owner = await running.person();
    expect((await running.upload('ledger', await program('ledger'), owner)).status).toBe(200);
    const headers = { authorization: `Bearer ${owner.token}` };
    const protocols = ['v1.json.spacetimedb'];
    const client = await SocketClient.open(running.service.url, 'ledger', { headers, protocols });
    await client.frame();
    const started = performance.now();
    for (let number = 1; number <= 120; number += 1) {
      const call = { reducer: 'append', args: `[1, ${number}]`, request_id: number, flags: 0 };
      client.send(JSON.stringify({ CallReducer: call }));
      // Apart from each other: what comes in one piece is read in one piece.
      if (number % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const count = async () => (await running.rows('ledger', 'SELECT number FROM entry')).length;
    await expect.poll(count, { timeout: 15_000 }).toBe(120);
    // 40 at once, then 40 a second; without a limit it is over in a moment.
    expect(performance.now() - started).toBeGreaterThan(1_000);
    // What was sent counts for its other requests, too.
    const more = Array.from({ length: 120 }, (_, at) =>
      running.call('ledger', 'append', [2, at], owner),
    );
    const answers = (await Promise.all(more)).map(({ status }) => status);
    expect(new Set(answers)).toEqual(new Set([200, 429]));
    await client.close();
  });
});

describe('connections', () => {
  const opened: Socket[] = [];
  afterEach(() => {
    for (const socket of opened.splice(0)) socket.destroy();
  });

  /** Opens a connection; whether it is still open once the service has looked at it. */
  async function stays(): Promise<boolean> {
    const socket = connect(running.service.address.port, '127.0.0.1');
    opened.push(socket);
    return new Promise((resolve) => {
      socket.on('error', () => resolve(false));
      socket.on('close', () => resolve(false));
      socket.once('connect', () =>
        socket.write('GET /v1/ping HTTP/1.1\r\nhost: localhost\r\n\r\n'),
      );
      socket.once('data', () => resolve(true));
    });
  }

  it.each([
    ['one address', { rates: { addressConnections: 3 } }],
    ['all clients', { bounds: { connectionsMax: 3 } }],
  ] satisfies [string, GivenConfiguration][])(
    '[http 16] of %s are counted, and more are closed',
    async (_, given) => {
      await start(given);
      expect([await stays(), await stays(), await stays()]).toEqual([true, true, true]);
      expect(await stays()).toBe(false);
      // Room that is left can be taken.
      opened[0]?.destroy();
      await expect.poll(stays, { timeout: 5_000 }).toBe(true);
    },
  );

  it('[http 16] without a request make room when few are left', async () => {
    await start({ bounds: { connectionsMax: 64 } });
    const room = 80;
    for (let count = 0; count < room; count += 1) {
      expect([count, await stays()]).toEqual([count, true]);
    }
  });

  it('[http 16] of a client that would rather speak HTTP/2 are counted once', async () => {
    await start({ rates: { addressConnections: 1 } });
    const offer = 'host: localhost\r\nconnection: Upgrade\r\nupgrade: h2c';
    const pieces = [Buffer.from(`GET /v1/ping HTTP/1.1\r\n${offer}\r\n\r\n`)];
    const sent = { pieces, answersMin: 1, quietMillis: 8_000 };
    const { answers } = await converse(running.service.address.port, sent);
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });

  it('[http 16] of a trusted proxy are not counted as one client', async () => {
    await start({ rates: { addressConnections: 1 }, trustedProxies: ['127.0.0.0/8'] });
    expect([await stays(), await stays(), await stays()]).toEqual([true, true, true]);
  });
});

describe('requests that do not arrive', () => {
  const bounds = { headerMillisMax: 300, requestMillisMax: 900 };
  const port = () => running.service.address.port;
  const head =
    'POST /v1/database?host_type=Js HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n';

  it('[http 16] slow headers get 408, and the connection ends', async () => {
    await start({ bounds });
    const pieces = [Buffer.from('GET /v1/ping HTTP/1.1\r\n')];
    const { answers, millis } = await converse(port(), {
      pieces,
      answersMin: 1,
      quietMillis: 8_000,
    });
    expect(answers.map(({ status }) => status)).toEqual([408]);
    expect(millis).toBeLessThan(6_000);
  });

  it.each([
    ['as it is', ''],
    ['with an offer of HTTP/2', 'connection: Upgrade\r\nupgrade: h2c\r\n'],
  ])('[http 16] a slow body %s gets 408, however steadily it comes', async (_, more) => {
    await start({ bounds });
    const drops = Array.from({ length: 60 }, () => Buffer.from('S'));
    const pieces = [Buffer.from(`${head}${more}\r\n`), ...drops];
    const slow = { pieces, pauseMillis: 100, answersMin: 1, quietMillis: 4_000 };
    const { answers, millis } = await converse(port(), slow);
    expect(answers.map(({ status }) => status)).toEqual([408]);
    expect(millis).toBeLessThan(6_000);
    // The service is well, and has nothing left of it.
    expect((await running.ask('GET', '/v1/ping')).status).toBe(200);
  });

  it('[http 16] headers that are too large, or too many, do not get in', async () => {
    await start({});
    const ask = async (headers: string) => {
      const pieces = [Buffer.from(`GET /v1/ping HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`)];
      const { answers } = await converse(port(), { pieces, answersMin: 1, quietMillis: 4_000 });
      return answers[0]?.status;
    };
    expect(await ask(`a: ${'x'.repeat(8_000)}\r\n`)).toBe(200);
    expect(await ask(`a: ${'x'.repeat(17_000)}\r\n`)).toBe(431);
    expect(await ask('a: b\r\n'.repeat(20_000))).toBe(431);
  });
});

describe('what is in hand for all clients', () => {
  const patient = { timeout: 10_000 };

  /** Sends the beginning of a body, once the service wants it, and leaves the rest out. */
  async function hold(byteCount: number): Promise<Socket> {
    const socket = connect(running.service.address.port, '127.0.0.1');
    socket.on('error', () => undefined);
    const head = ['host: localhost', 'content-length: 2000000', 'expect: 100-continue'].join(
      '\r\n',
    );
    socket.write(`POST /v1/database/ledger/sql HTTP/1.1\r\n${head}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toContain('100 Continue');
    socket.write(' '.repeat(byteCount));
    // Nothing tells that the bytes have arrived.
    await new Promise((resolve) => setTimeout(resolve, 500));
    return socket;
  }

  async function startWith(bounds: Partial<LoadBounds>): Promise<void> {
    await start({ bounds });
    const owner = await running.person();
    const body = await program('ledger');
    expect((await running.upload('ledger', body, owner)).status).toBe(200);
  }

  const ask = () => running.sql('ledger', 'SELECT * FROM entry');

  /** Sends a request, and reads no more than the beginning of its answer. */
  async function askUnread(target: string, head: readonly string[], body = ''): Promise<Socket> {
    const socket = connect(running.service.address.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${target} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`);
    const [answer] = await once(socket, 'data');
    socket.pause();
    expect(String(answer)).toContain('200 OK');
    return socket;
  }

  /** Reads on, and gives how much came until the end, or until it is clear that it has not ended. */
  async function rest(socket: Socket): Promise<number> {
    let byteCount = 0;
    socket.on('data', (piece) => {
      byteCount += piece.length;
      if (byteCount > 15_900_000) socket.end();
    });
    socket.resume();
    await once(socket, 'close');
    return byteCount;
  }

  it('[http 16] is so many requests; more get 503 until some are done', async () => {
    await startWith({ requestsMax: 2 });
    const held = [await hold(10), await hold(10)];
    await expect.poll(async () => (await ask()).status, patient).toBe(503);
    const refused = await ask();
    expect(refused.text).toBe('The service has too many requests in hand; try again soon');
    expect(refused.headers.get('retry-after')).toBe('1');
    for (const socket of held) socket.destroy();
    await expect.poll(async () => (await ask()).status, patient).toBe(200);
  });

  it('[http 16] is so many bytes of bodies; one client gets 429 at half of it', async () => {
    await startWith({ bodiesBytesMax: 2_400_000 });
    expect((await ask()).status).toBe(200);
    const held = await hold(1_199_990);
    await expect.poll(async () => (await ask()).status, patient).toBe(429);
    const other = await running.person();
    expect((await running.sql('ledger', 'SELECT * FROM entry', other)).status).toBe(200);
    // What has no body goes on.
    expect((await running.ask('GET', '/v1/database/ledger/names')).status).toBe(200);
    held.destroy();
    await expect.poll(async () => (await ask()).status, patient).toBe(200);
  });

  it('[http 16] counts a body for as long as it is worked on, behind a stream, too', async () => {
    await startWith({ bodiesBytesMax: 2_400_000 });
    for (let number = 0; number < 30; number += 1)
      await running.call('ledger', 'append', [1, number]);
    const tables = [...'abcdefgh'].map((name) => `entry AS ${name}`).join(' CROSS JOIN ');
    const sql = `SELECT COUNT(*) AS n FROM ${tables} WHERE a.number < h.number`;
    const args = { database: 'ledger', sql, ignored: 'x'.repeat(1_100_000) };
    const { body, headers } = modernRequest('tools/call', { name: 'sql', arguments: args });
    const leaving = new AbortController();
    const types = { 'content-type': 'application/json', accept: 'text/event-stream' };
    const answer = await fetch(`${running.service.url}/v1/mcp`, {
      ...{ method: 'POST', body, headers: { ...headers, ...types }, signal: leaving.signal },
    });
    expect(answer.status).toBe(200);
    // Too long for a statement, once it is read.
    const large = () => running.sql('ledger', `SELECT * FROM entry -- ${'x'.repeat(200_000)}`);
    expect((await large()).status).toBe(429);
    leaving.abort();
    await expect.poll(async () => (await large()).status, patient).toBe(400);
  });

  it('[http 16] is so many bytes of answers; who has not taken theirs loses it', async () => {
    await startWith({ answersBytesMax: 50_000_000 });
    for (const number of [1, 2, 3, 4]) await running.call('ledger', 'append', [1, number]);
    // More than the buffers of a connection hold.
    const sql = "SELECT repeat('x', 1000000) AS t FROM entry a CROSS JOIN entry b";
    const head = ['host: localhost', 'content-type: text/plain', `content-length: ${sql.length}`];
    const askAndWait = () => askUnread('POST /v1/database/ledger/sql', head, sql);
    const [first, second, third] = [await askAndWait(), await askAndWait(), await askAndWait()];
    const fourth = await askAndWait();
    expect(await rest(first)).toBeLessThan(15_000_000);
    for (const socket of [second, third, fourth]) {
      expect(await rest(socket)).toBeGreaterThan(15_900_000);
    }
    // What has been taken does not count.
    const all = [await askAndWait(), await askAndWait(), await askAndWait()];
    for (const socket of all) expect(await rest(socket)).toBeGreaterThan(15_900_000);
  });

  it('[http 16] is so many bytes of static files that are read ahead, too', async () => {
    await startWith({ answersBytesMax: 2 * limits.siteAnswerHeldBytesMax });
    const owner = await running.person();
    const body = await program('ledger');
    expect((await running.upload('films', body, owner)).status).toBe(200);
    // More than the buffers of a connection hold.
    const film = new Uint8Array(32 * 2 ** 20);
    const hash = createHash('sha256').update(film).digest('hex');
    const files = [{ path: '/film.bin', hash, bytes: film.length }];
    const headers = { 'content-type': 'application/json' };
    const set = { as: owner, body: JSON.stringify({ files, headers: '' }), headers };
    const announced = await running.ask('POST', '/v1/database/films/static', set);
    const { static: id } = JSON.parse(announced.text);
    const where = `/v1/database/films/static/${hash}`;
    expect((await running.ask('PUT', where, { as: owner, body: film })).status).toBe(200);
    const published = await running.upload('films', body, owner, `&static=${id}`);
    expect(published.status).toBe(200);

    const askAndWait = () => askUnread('GET /film.bin', ['host: films.localhost']);
    const sent = async () => {
      const { text } = await running.ask('GET', '/v1/metrics');
      return Number(/reducerdb_static_sent_bytes_total\{[^}]*\} (\d+)/.exec(text)?.[1]);
    };
    const first = await askAndWait();
    // What is read for a client stops when its buffers are full.
    let before = -1;
    await expect
      .poll(async () => {
        const isStill = before === (await sent());
        before = await sent();
        return isStill;
      }, patient)
      .toBe(true);
    expect(before).toBeLessThan(15_000_000);
    const [second, third] = [await askAndWait(), await askAndWait()];
    expect(await rest(first)).toBeLessThan(15_000_000);
    for (const socket of [second, third]) {
      expect(await rest(socket)).toBeGreaterThan(15_900_000);
    }
  });

  it('[http 2.5] is a program of a size that can be set', async () => {
    const body = await program('ledger');
    await start({ bounds: { programBytesMax: body.length } });
    const owner = await running.person();
    expect((await running.upload('ledger', body, owner)).status).toBe(200);
    const larger = new Uint8Array([...body, 10]);
    const refused = await running.upload('ledger', larger, owner);
    expect(refused).toMatchObject({
      status: 413,
      text: 'Failed to buffer the request body: length limit exceeded',
    });
  });
});

describe('metrics', () => {
  it('[http 7] are for anyone on loopback, for operators when told so, or off', async () => {
    await start({});
    const metrics = (as?: { token: string; identity: string }) =>
      running.ask('GET', '/v1/metrics', { as });
    expect((await metrics()).status).toBe(200);
    const { identity, token } = await running.person();
    await running.pause();
    const { folder } = running;
    const given = { dataDirectory: folder, operators: [BigInt(`0x${identity}`)] };
    running = await Running.start({ ...given, metricsFor: 'operators' });
    expect((await metrics()).status).toBe(401);
    expect((await metrics(await running.person())).status).toBe(403);
    expect((await metrics({ identity, token })).status).toBe(200);
    await running.pause();
    running = await Running.start({ ...given, metricsFor: 'off' });
    expect((await metrics({ identity, token })).status).toBe(404);
    await running.pause();
    const listen = { host: '0.0.0.0', port: 0 };
    running = await Running.start({ ...given, listen, publishPolicy: 'anyone' });
    expect((await metrics()).status).toBe(401);
    expect((await metrics({ identity, token })).status).toBe(200);
  });
});

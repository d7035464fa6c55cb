import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseAllowedPlace } from '../../src/host/outbound/outbound-rules.ts';
import { limits } from '../../src/limits.ts';
import { modernRequest } from '../support/modern-request.ts';
import { startServer, type TestServer } from '../support/outbound-requests.ts';
import { type Person, program, Running } from './running.ts';
import { encoded, Guest } from './socket-guest.ts';

/** As many as a database can ask at once without waiting for a place at one of them. */
const serverCount = 16;
let servers: TestServer[];
let answer: RequestListener;
let running: Running;
let owner: Person;
const patience = { timeout: 60_000 };

beforeAll(async () => {
  const listener: RequestListener = (request, response) => answer(request, response);
  servers = await Promise.all(Array.from({ length: serverCount }, () => startServer(listener)));
  const allow = servers.map(({ port }) => parseAllowedPlace(`patience=127.0.0.1:${port}`));
  running = await Running.start({ moduleHttp: { allow } });
  owner = await running.person();
  const { status, text } = await running.upload('patience', await program('patience'), owner);
  expect([status, text]).toEqual([200, expect.any(String)]);
});
beforeEach(() => {
  answer = (_request, response) => response.end('hello');
});
afterAll(async () => {
  await running.stop();
  for (const server of servers) server.stop();
});

const url = () => servers[0]?.url ?? '';

async function value(procedure: string, args: unknown): Promise<unknown> {
  const { status, text } = await running.call('patience', procedure, args);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

/** How many notes have this text. */
async function count(text: string): Promise<number> {
  const rows = await running.rows('patience', `SELECT text FROM note WHERE text = '${text}'`);
  return rows.length;
}

/** Waits until one more call has begun to wait, then ends it; it tidies up. */
async function isTidied(begin: () => void, leave: () => void): Promise<void> {
  const [waiting, tidied] = [await count('waits'), await count('tidied')];
  begin();
  await vi.waitUntil(async () => (await count('waits')) === waiting + 1, patience);
  expect(await count('tidied')).toBe(tidied);
  leave();
  await vi.waitUntil(async () => (await count('tidied')) === tidied + 1, patience);
}

describe('a procedure that waits', () => {
  it('[living 2.8] is aborted when its client of HTTP goes away', async () => {
    const leaving = new AbortController();
    await isTidied(
      () => {
        const where = `${running.service.url}/v1/database/patience/call/tidy`;
        const headers = { 'content-type': 'application/json' };
        const init = { method: 'POST', body: '[]', headers, signal: leaving.signal };
        fetch(where, init).catch(() => undefined);
      },
      () => leaving.abort(),
    );
  });

  it('[living 2.8] is aborted when its connection closes', async () => {
    const protocols = ['v2.bsatn.spacetimedb'];
    const guest = await Guest.arrive(running.service.url, 'patience', { protocols });
    await isTidied(
      () => {
        const args = encoded([]);
        guest.send({ kind: 'callProcedure', requestId: 9, procedure: 'tidy', args });
      },
      () => void guest.client.close(),
    );
  });

  it('[living 2.8] is aborted when its agent goes away', async () => {
    const leaving = new AbortController();
    const params = { name: 'call', arguments: { reducer: 'tidy', args: [] } };
    const { body, headers } = modernRequest('tools/call', params);
    await isTidied(
      () => {
        fetch(`${running.service.url}/v1/database/patience/mcp`, {
          ...{ method: 'POST', body, signal: leaving.signal },
          headers: { 'content-type': 'application/json', ...headers },
        }).catch(() => undefined);
      },
      () => leaving.abort(),
    );
  });

  it('[living 2.8] is aborted when its agent says so', async () => {
    const send = (method: string, params: object, id?: number) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const ask = { as: owner, body, headers: { 'content-type': 'application/json' } };
      return running.ask('POST', '/v1/database/patience/mcp', ask);
    };
    let asked: Promise<unknown> = Promise.resolve();
    await isTidied(
      () => {
        const params = { name: 'call', arguments: { reducer: 'tidy', args: [] } };
        asked = send('tools/call', params, 7);
      },
      () => void send('notifications/cancelled', { requestId: 7 }),
    );
    await asked;
  });

  it('[living 2.7, module-sdk 6.4] is answered while others of its lane are, too', async () => {
    const late: (() => void)[] = [];
    answer = (request, response) => {
      const end = () => response.end(`about ${request.url}`);
      if (request.url === '/slow') late.push(end);
      else end();
    };
    const mixed = value('mixed', [url()]);
    await vi.waitUntil(() => late.length === 1, patience);
    // The others have their answers before the first request has its own.
    expect(await value('get', [`${url()}/quick`])).toBe('200 about /quick');
    late[0]?.();
    expect(await mixed).toEqual(['about /sync', 'about /quick', 'about /slow']);
  });

  it('[living 2.7, module-sdk 6.4] reads redirects as it likes', async () => {
    answer = (_request, response) => response.writeHead(302, { location: '/there' }).end('moved');
    const [first, , lengths] = (await value('ask', [url()])) as string[];
    expect([first, lengths]).toEqual([`302 false ${url()}/ false true`, '5 5']);
    expect(await value('attempt_redirect', [url()])).toBe(
      `HttpError: error sending request for url (${url()}/): the server redirects, which was not ` +
        'allowed',
    );
    answer = (request, response) => {
      if (request.url === '/there') response.end('arrived');
      else response.writeHead(302, { location: '/there' }).end();
    };
    expect(await value('followed', [url()])).toBe(`${url()}/there true arrived`);
  });

  it('[living 2.6] may send no more requests at once than a call, or a database', async () => {
    const most = limits.callOperationsMax;
    const flooding = value('flood', [servers.map((server) => server.url), 10_000]);
    expect(await running.call('patience', 'add', ['meanwhile'])).toMatchObject({ status: 200 });
    const counts = (await flooding) as string[];
    expect(counts.sort()).toEqual([
      `${most} hello`,
      `${10_000 - most} HttpError: ${most} requests and sleeps of this call are waiting; ` +
        'await some of them first',
    ]);
  });

  it('[living 2.6] gets no answers that are endless, which hold up nobody', async () => {
    answer = (request, response) => {
      if (request.url !== '/endless') return response.end('hello');
      const chunk = Buffer.alloc(2 ** 20);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
      return undefined;
    };
    const endless = value('get', [`${url()}/endless`]);
    expect(await value('get', [url()])).toBe('200 hello');
    expect(await endless).toMatch(/: the body is larger than 16 MiB$/);
  });

  it('[living 2.2] waits beside more others than there are lanes', async () => {
    const held: (() => void)[] = [];
    answer = (_request, response) => held.push(() => response.end('at last'));
    // 40 of them, of which each of the four lanes has some.
    const waiting = Array.from({ length: 40 }, (_, at) =>
      value('get', [servers[at % serverCount]?.url]),
    );
    await vi.waitUntil(() => held.length === 40, patience);
    expect(await running.call('patience', 'add', ['meanwhile'])).toMatchObject({ status: 200 });
    for (const end of held) end();
    expect(await Promise.all(waiting)).toEqual(Array(40).fill('200 at last'));
  });

  /** The last one: it ends the service. */
  it('[living 2.8] is aborted when the service stops, and answered over HTTP and WebSocket', async () => {
    const waits = await count('waits');
    const asked = running.call('patience', 'tidy', []);
    const protocols = ['v2.bsatn.spacetimedb'];
    const guest = await Guest.arrive(running.service.url, 'patience', { protocols });
    guest.send({ kind: 'callProcedure', requestId: 9, procedure: 'tidy', args: encoded([]) });
    await vi.waitUntil(async () => (await count('waits')) === waits + 2, patience);
    const stopped = running.pause();
    expect(await asked).toMatchObject({
      status: 200,
      text: expect.stringContaining(': the database stops; '),
    });
    expect(await guest.expect('procedureResult')).toMatchObject({ requestId: 9 });
    await stopped;
  });
});

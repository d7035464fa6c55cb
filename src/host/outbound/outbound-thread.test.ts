import { readdirSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker as Thread } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeCertificate } from '../../../test/support/certificate.ts';
import {
  blog,
  ModuleRequests,
  rulesOf,
  shop,
  startServer,
  type TestServer,
} from '../../../test/support/outbound-requests.ts';
import { WaySender } from '../../../test/support/way-sender.ts';
import { outdatedText } from '../../database/procedures/running-call.ts';
import { limits } from '../../limits.ts';
import type { ReportLine } from '../../node/report-line.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { OutboundThread } from './outbound-thread.ts';
import { lostText } from './request-way.ts';

const silent: RequestListener = () => undefined;
const cleanup: (() => unknown)[] = [];
let server: TestServer;
let answer: RequestListener;
/** Threads that were started, in order. */
let threads: Thread[];

beforeEach(async () => {
  answer = (_request, response) => response.end('hello');
  server = await startServer((request, response) => answer(request, response));
  threads = [];
  const started = (thread: Thread) => void threads.push(thread);
  process.on('worker', started);
  cleanup.push(
    () => server.stop(),
    () => process.off('worker', started),
  );
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const end of cleanup.splice(0).reverse()) await end();
});

/** Requests by way of a thread; `names` are those of databases, which a test changes. */
function onThread(allow: readonly string[] | undefined = bothMay()) {
  const names = new Map([
    ['shop', shop],
    ['blog', blog],
  ]);
  const refused: (readonly [DatabaseIdentity, string])[] = [];
  const lines: ReportLine[] = [];
  const outbound = new OutboundThread({
    rules: rulesOf(allow),
    databaseNamed: (name) => names.get(name),
    onRefused: (database, host) => refused.push([database, host]),
    report: (line) => lines.push(line),
  });
  const senders = new Map<DatabaseIdentity, WaySender>();
  const senderOf = (database: DatabaseIdentity) => {
    const sender = senders.get(database) ?? new WaySender(outbound, database);
    senders.set(database, sender);
    return sender;
  };
  cleanup.push(() => outbound.close());
  return { outbound, requests: new ModuleRequests(senderOf), senderOf, names, refused, lines };
}

const bothMay = () => ['shop', 'blog'].map((name) => `${name}=127.0.0.1:${server.port}`);

/** How many requests the figures count. */
async function counted(outbound: OutboundThread): Promise<number> {
  return (await outbound.figures()).reduce((sum, one) => sum + one.responses + one.failures, 0);
}

/** On a machine that does other things, too. */
const until = (check: () => boolean | Promise<boolean>) => vi.waitUntil(check, { timeout: 20_000 });

const refusal = 'refusing to connect to a host that is not in module-http.allow';

describe('the thread that sends requests', () => {
  it('[abi 9.2] sends what a module sends, and gives it the answer', async () => {
    const { requests } = onThread();
    answer = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        response.writeHead(201, { 'x-seen': `${request.method} ${request.headers['x-one']}` });
        response.end(Buffer.concat(chunks));
      });
    };
    const body = Uint8Array.from({ length: 200_000 }, (_, at) => at);
    const sent = { method: 'PUT', headers: [['x-one', 'first']] as const, body };
    const outcome = await requests.fetch(`${server.url}/path`, { ...sent, body: body.slice() });
    if (outcome.kind === 'failed') throw new Error(outcome.message);
    const seen = outcome.head.headers.find(({ name }) => name === 'x-seen');
    expect([outcome.head.code, Buffer.from(seen?.value ?? '').toString()]).toEqual([
      201,
      'PUT first',
    ]);
    expect(Buffer.compare(outcome.body, body)).toBe(0);
  });

  it('[abi 9.2] follows the rules, and reports who is refused', async () => {
    const { requests, refused } = onThread([`shop=127.0.0.1:${server.port}`]);
    expect(await requests.said(server.url)).toBe('200 hello');
    expect(await requests.said(server.url, { database: blog })).toContain(refusal);
    expect(await requests.said('http://10.0.0.1/', { database: shop })).toContain(refusal);
    await until(() => refused.length === 2);
    expect(refused).toEqual([
      [blog, '127.0.0.1'],
      [shop, '10.0.0.1'],
    ]);
  });

  it('[abi 9.2] follows a database that is renamed, over open connections, too', async () => {
    const { requests, outbound, names } = onThread([`shop=127.0.0.1:${server.port}`]);
    expect(await requests.said(server.url)).toBe('200 hello');
    names.set('shop', blog);
    await outbound.renamed();
    expect(await requests.said(server.url)).toContain(refusal);
    expect(await requests.said(server.url, { database: blog })).toBe('200 hello');
    names.delete('shop');
    await outbound.renamed();
    expect(await requests.said(server.url, { database: blog })).toContain(refusal);
    expect(server.sockets).toHaveLength(2);
  });

  it('[abi 9.2] shares no connection between databases', async () => {
    const { requests } = onThread();
    for (const database of [shop, blog, shop, blog]) {
      expect(await requests.said(server.url, { database })).toBe('200 hello');
    }
    expect(server.sockets).toHaveLength(2);
  });

  it('[abi 9.2] sees nothing of the environment', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const { key, cert } = await makeCertificate('localhost');
    const secure = createTlsServer({ key, cert }, (_, response) => response.end('hello'));
    await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done));
    cleanup.push(() => secure.close());
    const { port } = secure.address() as AddressInfo;
    const { requests } = onThread([`shop=127.0.0.1:${port}`]);
    expect(await requests.said(`https://127.0.0.1:${port}/`)).toMatch(/certificate/);
  });

  it('[living 2.2] ends a request that is cancelled, and its connection', async () => {
    const { requests, outbound } = onThread();
    answer = silent;
    const cancel = new AbortController();
    const asked = requests.said(server.url, { signal: cancel.signal });
    await until(() => server.sockets.length === 1);
    cancel.abort();
    expect(await asked).toBe('cancelled');
    await until(() => server.sockets[0]?.destroyed === true);
    await until(async () => (await counted(outbound)) === 1);
  });

  it('[living 2.8] ends requests with their lane', async () => {
    const { requests, senderOf } = onThread();
    answer = silent;
    void requests.said(server.url);
    await until(() => server.sockets.length === 1);
    senderOf(shop).open.close();
    await until(() => server.sockets[0]?.destroyed === true);
  });

  it('[living 2.3] ends requests with their program, after its own end, too', async () => {
    const { requests, senderOf, lines } = onThread();
    answer = silent;
    const asked = requests.said(server.url);
    await until(() => server.sockets.length === 1);
    senderOf(shop).open.replaced();
    expect(await asked).toBe(outdatedText);
    await threads[0]?.terminate();
    await until(() => lines.length === 1);
    // What is sent before its end is known here is lost with it.
    await until(async () => (await requests.said(server.url)) === outdatedText);
    expect(await requests.said(server.url, { database: blog, millis: 1 })).toContain('timed out');
  });

  it('[living 2.6] has a lane ended that sends what no lane sends', async () => {
    const { senderOf, requests } = onThread();
    senderOf(shop).open.way.port.postMessage({ kind: 'send', id: 0 });
    await until(() => senderOf(shop).broken.length === 1);
    expect(senderOf(shop).broken[0]).toContain('a request of the wrong shape');
    expect(await requests.said(server.url, { database: blog })).toBe('200 hello');
  });

  it('[living 2.6] ends with the service, and so do connections', async () => {
    const { requests, outbound } = onThread();
    expect(await requests.said(server.url)).toBe('200 hello');
    await outbound.close();
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
    await until(() => server.sockets[0]?.destroyed === true);
  });

  it.runIf(process.platform === 'linux')('[living 2.6] comes after databases', async () => {
    const { requests } = onThread();
    const own = getPriority();
    const ranks = () => readdirSync('/proc/self/task').map((id) => getPriority(Number(id)));
    const before = ranks().filter((rank) => rank > own).length;
    expect(await requests.said(server.url)).toBe('200 hello');
    const last = ranks().filter((rank) => rank > own);
    expect(last.length).toBe(before + 1);
    expect(last).toContain(Math.min(own + 10, 19));
  });

  it('[living 2.6] is not started where no module may send', async () => {
    const { outbound } = onThread();
    expect(await outbound.figures()).toEqual([]);
    outbound.forget(shop);
    await outbound.renamed();
    expect(threads).toEqual([]);
  });
});

describe('a thread that sends requests and dies', () => {
  it('[living 2.6] fails what is under way, is started again, and goes on counting', async () => {
    const { requests, outbound, lines } = onThread();
    expect(await requests.said(server.url)).toBe('200 hello');
    expect(await counted(outbound)).toBe(1);
    answer = silent;
    const asked = [shop, blog, shop].map((database) => requests.said(server.url, { database }));
    await until(() => server.sockets.length >= 3);
    await threads[0]?.terminate();
    expect(await Promise.all(asked)).toEqual([lostText, lostText, lostText]);
    answer = (_request, response) => response.end('again');
    expect(await requests.said(server.url)).toBe('200 again');
    expect(await requests.said(server.url, { database: blog })).toBe('200 again');
    expect(await counted(outbound)).toBe(3);
    expect(lines).toEqual([
      {
        level: 'error',
        message:
          'The thread that sends the requests of modules has died, and is restarted: it ended',
      },
    ]);
  });

  it('[living 2.6] rests longer each time that it does not last', async () => {
    const { requests } = onThread();
    const begin = performance.now();
    // What is sent before its end is known here is lost with it.
    const isAnswered = async () => (await requests.said(server.url)) === '200 hello';
    for (let count = 1; count <= 3; count += 1) {
      await until(isAnswered);
      await threads[count - 1]?.terminate();
    }
    await until(isAnswered);
    expect(performance.now() - begin).toBeGreaterThan(7 * limits.outboundRestMillisMin - 5);
    expect(threads).toHaveLength(4);
  });

  it('[living 2.6] does not start again once the service has ended', async () => {
    const { requests, outbound } = onThread();
    expect(await requests.said(server.url)).toBe('200 hello');
    await threads[0]?.terminate();
    await outbound.close();
    await pause(3 * limits.outboundRestMillisMin);
    expect(threads).toHaveLength(1);
  });

  it('[living 2.6] does not die of the largest heads, as many as may be', async () => {
    const { requests, outbound, lines } = onThread(undefined);
    const long = 'x'.repeat(limits.outboundHeadBytesMax - 200);
    const asked = Array.from({ length: limits.outboundRequestsMax }, () =>
      requests.said('http://10.0.0.1/', { headers: [['x-long', long]] }),
    );
    for (const text of await Promise.all(asked)) expect(text).toContain('refusing to connect');
    expect(await counted(outbound)).toBe(limits.outboundRequestsMax);
    expect(lines).toEqual([]);
  });
});

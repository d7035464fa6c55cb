import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Sandbox } from './harness.ts';
import {
  event,
  LiveBridge,
  modern,
  notification,
  OddService,
  openStream,
  reply,
  replyResult,
  request,
} from './live-bridge.ts';

let sandbox: Sandbox;
let service: OddService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
});
afterAll(() => sandbox.remove());
beforeEach(async () => {
  service = await OddService.start();
  return () => service.stop();
});

const start = () => new LiveBridge(sandbox.spawn(['mcp', '--server', service.url]));

/** Of a service that takes its time. */
const waits = () => undefined;

/** Runs the bridge over a text to its end; gives its messages. */
async function bridge(input: string | readonly string[]) {
  const text = typeof input === 'string' ? input : input.map((line) => `${line}\n`).join('');
  const { code, stdout } = await sandbox.run(['mcp', '--server', service.url], { input: text });
  expect(code).toBe(0);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

describe('the bridge reads', () => {
  it('[mcp A6] lines with and without carriage returns, blank ones, and a last one without end', async () => {
    service.answer = (seen) => replyResult(seen, {});
    const input = `${request(1, 'ping')}\r\n\n  \r\n${request(2, 'ping')}\n${request('é', 'ping')}`;
    const ids = (await bridge(input)).map(({ id }) => id);
    expect(ids.sort()).toEqual([1, 2, 'é']);
    expect(service.seen.map(({ body }) => JSON.parse(body).id).sort()).toEqual([1, 2, 'é']);
  });

  it('[mcp A6] nothing out of answers of a client that nobody has asked', async () => {
    expect(await bridge(['{"jsonrpc":"2.0","id":1,"result":{}}'])).toEqual([]);
    expect(service.seen).toEqual([]);
  });

  it('[mcp B3] answers of a client that is asked, and says which session they belong to', async () => {
    const question = { jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params: {} };
    service.answer = (seen) => {
      if (seen.body.includes('initialize')) {
        seen.outgoing.setHeader('mcp-session-id', 'elicitation.1');
        replyResult(seen, { protocolVersion: '2025-11-25' });
      } else if (seen.body.includes('tools/call')) openStream(seen)(event(question));
      else reply(seen, '', { status: 202 });
    };
    const live = start();
    await live.ask(request(1, 'initialize', {}));
    expect(await live.ask(request(2, 'tools/call', { name: 'x' }))).toEqual(question);
    live.say('{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}');
    const { headers } = await service.received('"accept"');
    expect(headers['mcp-session-id']).toBe('elicitation.1');
    expect(headers['mcp-protocol-version']).toBe('2025-11-25');
    live.child.kill('SIGTERM');
    expect(await live.ended).toBe(0);
    expect(live.messages).toHaveLength(2);
  });

  it('[mcp A6] notifications without saying anything, whatever comes of them', async () => {
    const line = notification('notifications/x');
    for (const [status, text] of [
      [202, ''],
      [401, 'token is bad'],
      [200, '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}'],
    ] as const) {
      service.answer = (seen) => reply(seen, text, { status });
      expect(await bridge([line])).toEqual([]);
    }
    service.answer = ({ outgoing }) => outgoing.destroy();
    expect(await bridge([line])).toEqual([]);
    expect(service.seen).toHaveLength(4);
  });
});

describe('the bridge sends', () => {
  const headersOf = (at: number) => {
    const { headers } = service.seen[at] ?? {};
    const names = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];
    return names.map((name) => headers?.[name]);
  };
  const always = ['application/json, text/event-stream', 'application/json'];

  it('[mcp B11] what a modern message wants repeated in its headers', async () => {
    service.answer = (seen) => replyResult(seen, {});
    const live = start();
    await live.ask(modern(1, 'tools/list'));
    await live.ask(modern(2, 'tools/call', { name: 'sql', arguments: { name: 'other' } }));
    await live.ask(modern(3, 'resources/read', { uri: 'reducerdb:///ü\r\n' }));
    await live.ask(request(4, 'server/discover'));
    expect(headersOf(0)).toEqual([...always, '2026-07-28', 'tools/list', undefined]);
    expect(headersOf(1)).toEqual([...always, '2026-07-28', 'tools/call', 'sql']);
    const encoded = `=?base64?${Buffer.from('reducerdb:///ü\r\n').toString('base64')}?=`;
    expect(headersOf(2)).toEqual([...always, '2026-07-28', 'resources/read', encoded]);
    expect(headersOf(3)).toEqual([...always, undefined, 'server/discover', undefined]);
    expect(await live.end()).toBe(0);
  });

  it('[mcp B11] the version that initialize has settled on, with legacy messages', async () => {
    service.answer = (seen) => replyResult(seen, { protocolVersion: '2025-03-26' });
    const live = start();
    await live.ask(request(1, 'tools/list'));
    await live.ask(request(2, 'initialize', { protocolVersion: '2024-01-01' }));
    await live.ask(request(3, 'tools/list'));
    await live.ask(modern(4, 'tools/list'));
    await live.ask(request(5, 'initialize', {}));
    const versions = service.seen.map(({ headers }) => headers['mcp-protocol-version']);
    expect(versions).toEqual([undefined, undefined, '2025-03-26', '2026-07-28', undefined]);
    expect(await live.end()).toBe(0);
  });

  it('[mcp B3] batches as they are, and answers each request in one that fails', async () => {
    const batch = `[${request(1, 'a')},${notification('b')},${request('c', 'c')}]`;
    service.answer = (seen) =>
      reply(
        seen,
        '[{"jsonrpc":"2.0","id":1,"result":{}},\n{"jsonrpc":"2.0","id":"c","result":{}}]',
      );
    expect(await bridge([batch])).toEqual([
      [
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', id: 'c', result: {} },
      ],
    ]);
    expect(service.seen[0]?.body).toBe(batch);
    service.answer = (seen) => reply(seen, 'no', { status: 500 });
    const error = { code: -32603, message: 'no' };
    expect(await bridge([batch, `[${notification('b')}]`])).toEqual([
      { jsonrpc: '2.0', id: 1, error },
      { jsonrpc: '2.0', id: 'c', error },
    ]);
  });
});

describe('the bridge writes', () => {
  it('[mcp A6] an error in place of what is no message', async () => {
    for (const [status, type, text, message] of [
      [401, 'text/plain', 'token is bad', 'token is bad'],
      [502, 'application/json', '{"oops":true}', '{"oops":true}'],
      [200, 'application/json', 'not json', 'not json'],
      [200, 'text/event-stream', 'data: not json\n\n', 'not json'],
      [413, 'text/plain', '', 'the service answered with status 413'],
      [202, 'text/plain', '', 'the service answered with status 202'],
    ] as const) {
      service.answer = (seen) => reply(seen, text, { status, type });
      expect(await bridge([request('x', 'ping')])).toEqual([
        { jsonrpc: '2.0', id: 'x', error: { code: -32603, message } },
      ]);
    }
  });

  it('[mcp A6] what a service says that cannot tell yet which database is meant', async () => {
    service.answer = (seen) => reply(seen, 'starting', { status: 503, type: 'text/plain' });
    const live = new LiveBridge(sandbox.spawn(['mcp', 'inn', '--server', service.url]));
    const busy = { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'starting' } };
    expect(await live.ask(request(1, 'ping'))).toEqual(busy);
    service.answer = (seen) => (seen.body === '' ? reply(seen, 'c200') : replyResult(seen, {}));
    expect(await live.ask(request(2, 'ping'))).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
    expect(await live.end()).toBe(0);
  });

  it('[mcp A6] that a request may have been done when its connection is lost', async () => {
    service.answer = ({ outgoing }) => outgoing.destroy();
    const [{ error }] = await bridge([request(1, 'tools/call', { name: 'call' })]);
    const words =
      `the connection to the reducerdb host at ${service.url} was lost before it answered ` +
      '(socket hang up): what was asked for may have been done, or not.';
    expect(error).toEqual({ code: -32603, message: words });
    const sql = await sandbox.run(['sql', '--server', service.url, 'inn', 'DELETE FROM person']);
    expect(sql).toMatchObject({ code: 1, stdout: '' });
    expect(sql.stderr).toContain('may have been done, or not');
  });

  it('[mcp A6] no more than the beginning of a long page that is no message', async () => {
    service.answer = (seen) => reply(seen, `<p>${'x'.repeat(100_000)}`, { type: 'text/html' });
    const [answer] = await bridge([request(1, 'ping')]);
    expect(answer.error.message).toBe(`<p>${'x'.repeat(4_093)}`);
  });

  it('[mcp A6] an error of the service that names no request under the id of its own', async () => {
    const error = { code: -32600, message: 'no', data: { why: 'x' } };
    service.answer = (seen) =>
      reply(seen, JSON.stringify({ jsonrpc: '2.0', id: null, error }), { status: 400 });
    expect(await bridge([request(7, 'ping')])).toEqual([{ jsonrpc: '2.0', id: 7, error }]);
  });

  it('[mcp A6] an answer on one line', async () => {
    const text = '{\n  "jsonrpc": "2.0",\r\n  "id": 1,\n  "result": {"a": "b\\nc"}\n}\n';
    service.answer = (seen) => reply(seen, text);
    expect(await bridge([request(1, 'x')])).toEqual([
      { jsonrpc: '2.0', id: 1, result: { a: 'b\nc' } },
    ]);
  });

  it('[mcp A6] an answer however deep it is nested', async () => {
    const result = `${'{"a":['.repeat(200)}1${']}'.repeat(200)}`;
    service.answer = (seen) => reply(seen, `{"jsonrpc":"2.0","id":1,"result":${result}}`);
    const [{ result: carried }] = await bridge([request(1, 'x')]);
    expect(JSON.stringify(carried)).toBe(result);
  });

  it('[mcp B11] one line whatever its reader takes for the end of one', async () => {
    const words = 'a\u2028b\u2029c\u0085d\r\ne';
    service.answer = (seen) => replyResult(seen, { words });
    const args = ['mcp', '--server', service.url];
    const { stdout } = await sandbox.run(args, { input: request(1, 'x') });
    expect(stdout).toMatch(/^[^\r\n\u0085\u2028\u2029]+\n$/);
    expect(JSON.parse(stdout).result).toEqual({ words });
  });

  it('[mcp A6] the quick before the slow, and the last one before it ends', async () => {
    service.answer = (seen) => {
      const isSlow = seen.body.includes('"slow"');
      setTimeout(() => replyResult(seen, {}), isSlow ? 700 : 0);
    };
    const ids = (await bridge([request('slow', 'x'), request('quick', 'x')])).map(({ id }) => id);
    expect(ids).toEqual(['quick', 'slow']);
  });

  it('[mcp B11] each message of an event stream as one line, as it comes', async () => {
    service.answer = waits;
    const live = start();
    const asked = live.ask(modern(1, 'tools/call', { name: 'slow' }));
    const write = openStream(await service.received('"slow"'));
    const progress = (done: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 't', progress: done },
    });
    write(':\n\n');
    write(event(progress(1)));
    expect(await asked).toEqual(progress(1));
    const answer = event({ jsonrpc: '2.0', id: 1, result: { text: 'ü' } });
    const bytes = Buffer.from(`${event(progress(2))}${answer}`);
    const { outgoing } = service.seen[0] as (typeof service.seen)[0];
    for (const byte of bytes) outgoing.write(Buffer.from([byte]));
    await live.until(3);
    outgoing.end();
    expect(live.messages.slice(1)).toEqual([
      progress(2),
      { jsonrpc: '2.0', id: 1, result: { text: 'ü' } },
    ]);
    expect(await live.end()).toBe(0);
  });

  it('[mcp B11] an error when a stream ends, or is cut, before the answer', async () => {
    service.answer = (seen) => {
      openStream(seen)(event({ jsonrpc: '2.0', method: 'notifications/message', params: {} }));
      seen.outgoing.end();
    };
    expect((await bridge([request(1, 'x')])).map(({ error }) => error?.message)).toEqual([
      undefined,
      'the service ended the connection without an answer',
    ]);
    service.answer = (seen) => {
      openStream(seen)(':\n\n');
      setTimeout(() => seen.outgoing.destroy(), 100);
    };
    const live = start();
    const lost = await live.ask(modern('sub', 'subscriptions/listen', { notifications: {} }));
    expect(lost).toEqual({
      jsonrpc: '2.0',
      id: 'sub',
      error: {
        code: -32603,
        message: 'the connection to the service was lost before the answer ended',
      },
    });
    expect(await live.end()).toBe(0);
  });
});

describe('streams that stay open', () => {
  const listen = (id: unknown) => modern(id, 'subscriptions/listen', { notifications: {} });
  const update = (uri: string) =>
    event({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });

  it('[mcp B11] run beside requests, more of them than requests run at once', async () => {
    const writers: ((piece: string) => void)[] = [];
    service.answer = (seen) => {
      if (seen.body.includes('subscriptions/listen')) writers.push(openStream(seen));
      else replyResult(seen, {});
    };
    const live = start();
    for (let at = 0; at < 40; at += 1) live.say(listen(`sub ${at}`));
    await expect.poll(() => writers.length, { timeout: 20_000 }).toBe(40);
    expect(await live.ask(request(1, 'ping'))).toMatchObject({ id: 1, result: {} });
    for (const [at, write] of writers.entries()) write(update(`r:${at}`));
    await live.until(41);
    const uris = live.messages.slice(1).map(({ params }) => params?.uri);
    expect(uris.sort()).toEqual(Array.from({ length: 40 }, (_, at) => `r:${at}`).sort());
    expect(await live.end()).toBe(0);
  });

  it('[mcp B5] end with a result and a cancellation when the service ends them', async () => {
    const result = { resultType: 'complete' };
    service.answer = (seen) => {
      openStream(seen)(event({ jsonrpc: '2.0', id: 'sub', result }));
      seen.outgoing.end();
    };
    const live = start();
    live.say(listen('sub'));
    await live.until(2);
    expect(live.messages).toEqual([
      { jsonrpc: '2.0', id: 'sub', result },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } },
    ]);
    expect(await live.end()).toBe(0);
  });

  it('[mcp B11] are refused beyond the sixty-fourth', async () => {
    service.answer = (seen) => void openStream(seen);
    const live = start();
    for (let at = 0; at < 65; at += 1) live.say(listen(at));
    await live.until(1);
    expect(live.messages).toEqual([
      {
        jsonrpc: '2.0',
        id: 64,
        error: { code: -32603, message: 'more than 64 streams are open: cancel one of them' },
      },
    ]);
    expect(await live.end()).toBe(0);
  });

  it('[mcp B11] end without a word when the client cancels them, or ends', async () => {
    service.answer = (seen) => openStream(seen)(update('first'));
    const live = start();
    await live.ask(listen('sub'));
    live.say(notification('notifications/cancelled', { requestId: 'sub' }));
    await expect.poll(() => service.seen[0]?.isGone, { timeout: 20_000 }).toBe(true);
    expect(service.seen).toHaveLength(1);
    await live.ask(listen('other'));
    expect(await live.end()).toBe(0);
    expect(live.messages.map(({ method }) => method)).toEqual(
      Array(2).fill('notifications/resources/updated'),
    );
    await expect.poll(() => service.seen[1]?.isGone, { timeout: 20_000 }).toBe(true);
  });
});

describe('a request that the client cancels', () => {
  const cancel = (requestId: unknown) => notification('notifications/cancelled', { requestId });

  it('[mcp B11] is not answered, and its connection ends', async () => {
    service.answer = waits;
    const live = start();
    live.say(modern(1, 'tools/call', { name: 'stuck' }));
    const stuck = await service.received('"stuck"');
    live.say(cancel(1));
    await expect.poll(() => stuck.isGone, { timeout: 20_000 }).toBe(true);
    service.answer = (seen) => replyResult(seen, {});
    expect(await live.ask(modern(2, 'tools/list'))).toMatchObject({ id: 2 });
    expect(await live.end()).toBe(0);
    expect(live.messages).toHaveLength(1);
    expect(service.seen.map(({ body }) => JSON.parse(body).method)).toEqual([
      'tools/call',
      'tools/list',
    ]);
  });

  it('[mcp B6] is told to a legacy service in words, though all places are taken', async () => {
    service.answer = (seen) => {
      if (seen.body.includes('cancelled')) reply(seen, '', { status: 202 });
    };
    const live = start();
    for (let at = 0; at < 20; at += 1) live.say(request(at, 'stuck'));
    await expect.poll(() => service.seen.length, { timeout: 20_000 }).toBe(16);
    live.say(cancel(3));
    live.say(cancel(18));
    const words = await service.received('{"requestId":3}');
    expect(words.body).toBe(cancel(3));
    await expect.poll(() => service.seen.filter(({ isGone }) => isGone).length).toBe(1);
    const stuck = () =>
      service.seen.map(({ body }) => JSON.parse(body)).filter(({ method }) => method === 'stuck');
    await expect.poll(() => stuck().length, { timeout: 20_000 }).toBe(17);
    expect(stuck().some(({ id }) => id === 18)).toBe(false);
    live.child.kill('SIGTERM');
    expect(await live.ended).toBe(0);
    expect(live.messages).toEqual([]);
  });

  it('[mcp B6] that is not under way means nothing', async () => {
    expect(await bridge([cancel(9), cancel(undefined), cancel({ a: 1 })])).toEqual([]);
    expect(service.seen).toEqual([]);
  });
});

describe('a client that does not read', () => {
  it('[mcp B11] the notices is served all the same', async () => {
    service.answer = (seen) => replyResult(seen, {});
    const live = start();
    live.child.stderr?.destroy();
    for (const id of [1, 2]) {
      expect(await live.ask(request(id, 'ping'))).toEqual({ jsonrpc: '2.0', id, result: {} });
    }
    expect(await live.end()).toBe(0);
  });

  it('[mcp B11] keeps the service waiting, and gets all of it later', async () => {
    const words = 'x'.repeat(64 * 1024);
    let written = 0;
    service.answer = (seen) => {
      const write = openStream(seen);
      const more = () => {
        while (written < 400) {
          written += 1;
          write(event({ jsonrpc: '2.0', method: 'notifications/message', params: { words } }));
          if (seen.outgoing.writableNeedDrain) return void seen.outgoing.once('drain', more);
        }
        seen.outgoing.end(event({ jsonrpc: '2.0', id: 1, result: {} }));
      };
      more();
    };
    const live = start();
    live.child.stdout?.pause();
    live.say(request(1, 'flood'));
    await service.received('flood');
    const before = await settled(() => written);
    expect(before).toBeLessThan(400);
    live.child.stdout?.resume();
    await live.until(401);
    expect(live.messages.at(-1)).toMatchObject({ id: 1, result: {} });
    expect(await live.end()).toBe(0);
  });
});

/** The value once it has stopped growing. */
async function settled(read: () => number): Promise<number> {
  for (let last = -1; ; ) {
    const now = read();
    if (now === last) return now;
    last = now;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  answerOf,
  bothKinds,
  EngineUnderTest,
  makeTool,
  messagesOf,
  offerTools,
  streamOf,
} from '../../test/support/engine-under-test.ts';
import { limits } from '../limits.ts';
import type { RequestContext } from './request-context.ts';
import { type ToolResult, text } from './tool.ts';

const done: ToolResult = { content: [text('done')], isError: false };

/** Defines a server with one tool `work`, which runs the given function. */
const working = (work: (context: RequestContext<string>) => Promise<void> | void) =>
  new EngineUnderTest({
    ...offerTools(
      makeTool('work', async (_args, context) => {
        await work(context);
        return done;
      }),
    ),
    logs: true,
  });

/** A tool that runs until the test ends it, and the signal that it received. */
class Held {
  readonly started: Promise<AbortSignal>;
  readonly engine: EngineUnderTest;
  #start: (signal: AbortSignal) => void = () => undefined;
  #release: () => void = () => undefined;

  constructor() {
    this.started = new Promise((resolve) => {
      this.#start = resolve;
    });
    const released = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    this.engine = working(({ signal }) => {
      this.#start(signal);
      return released;
    });
  }

  release(): void {
    this.#release();
  }
}

const call = { name: 'work' };
const withToken = { ...call, _meta: { progressToken: 'p' } };
const streamed = { headers: bothKinds };
const cancelled = (requestId: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });

describe('the kind of an answer', () => {
  it('[mcp A2] is one message for a client that does not ask for a stream', async () => {
    const engine = working(({ progress }) => progress(1));
    expect((await answerOf(engine.legacy('tools/call', withToken))).result).toEqual(done);
    const headers = { accept: '*/*' };
    expect((await engine.legacy('tools/call', withToken, { headers })).kind).toBe('message');
  });

  it('[mcp B3] is one message when there is nothing to tell before it', async () => {
    const engine = working(() => undefined);
    expect((await engine.legacy('tools/call', withToken, streamed)).kind).toBe('message');
  });

  it('[mcp B3] is a stream when there is, with the answer at its end', async () => {
    const engine = working(({ progress }) => progress(1, 2, 'half'));
    const [first, last, ...rest] = await messagesOf(
      engine.legacy('tools/call', withToken, streamed),
    );
    expect(first).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 1, total: 2, message: 'half' },
    });
    expect(last).toEqual({ jsonrpc: '2.0', id: 1, result: done });
    expect(rest).toEqual([]);
  });

  it('[mcp B3] is a stream for a client that takes nothing else', async () => {
    const engine = working(() => undefined);
    const headers = { accept: 'text/event-stream' };
    const messages = await messagesOf(engine.legacy('tools/call', call, { headers }));
    expect(messages.map(({ result }) => result)).toEqual([done]);
  });

  it('[mcp B3] is 406 for a client that takes neither', async () => {
    const headers = { accept: 'text/html' };
    const { status, id } = await answerOf(working(() => undefined).legacy('ping', {}, { headers }));
    expect([status, id]).toEqual([406, 1]);
  });

  it('[mcp B4] is a stream with signs of life when the work takes long', async () => {
    vi.useFakeTimers();
    try {
      const held = new Held();
      const reply = held.engine.modern('tools/call', call, streamed);
      await held.started;
      await vi.advanceTimersByTimeAsync(limits.mcpQuietMillisMax);
      const settled = await reply;
      if (settled.kind !== 'stream') throw new Error('it is no stream');
      const messages = settled.messages[Symbol.asyncIterator]();
      const sign = messages.next();
      await vi.advanceTimersByTimeAsync(limits.mcpQuietMillisMax);
      expect(await sign).toEqual({ done: false, value: undefined });
      const answer = messages.next();
      held.release();
      expect((await answer).value).toContain('"done"');
      expect((await messages.next()).done).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a batch', () => {
  const headers = { 'mcp-protocol-version': '2025-03-26' };
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });

  it('[mcp B3] is answered by an array, without the notifications, in one revision', async () => {
    const body = JSON.stringify([ping(1), { jsonrpc: '2.0', method: 'n' }, ping(2), 7]);
    const reply = await working(() => undefined).send(body, { headers });
    if (reply.kind !== 'message') throw new Error('it is no message');
    const answers = JSON.parse(reply.body);
    expect(answers.map(({ id }: { id: unknown }) => id)).toEqual([1, 2, null]);
    expect(answers[0]).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it('[mcp B3] of notifications alone is taken, and no other revision has batches', async () => {
    const engine = working(() => undefined);
    const notes = JSON.stringify([{ jsonrpc: '2.0', method: 'n' }]);
    expect(await engine.send(notes, { headers })).toEqual({ kind: 'accepted' });
    for (const version of ['2025-06-18', '2025-11-25']) {
      const other = { 'mcp-protocol-version': version };
      const body = JSON.stringify([ping(1)]);
      expect((await answerOf(engine.send(body, { headers: other }))).status).toBe(400);
    }
  });
});

describe('progress', () => {
  const told = async (work: (context: RequestContext<string>) => void) => {
    const messages = await messagesOf(working(work).legacy('tools/call', withToken, streamed));
    return messages.slice(0, -1).map(({ params }) => params.progress);
  };

  it('[mcp B6] grows strictly: what does not is left out', async () => {
    const steps = [0, 50, 50, 20, Number.NaN, 100];
    const seen = await told(({ progress }) => {
      for (const step of steps) progress(step);
    });
    expect(seen).toEqual([0, 50, 100]);
  });

  it('[mcp B6] comes only so often, however often it is reported', async () => {
    const seen = await told(({ progress }) => {
      for (let step = 0; step < 10_000; step++) progress(step);
    });
    expect(seen.length).toBeLessThanOrEqual(2 * limits.mcpProgressPerSecondMax);
  });

  it('[mcp B6] has the token as it came, text or number, and needs one', async () => {
    const engine = working(({ progress }) => progress(1));
    const token = async (meta: string) => {
      const params = `{"name":"work","_meta":${meta}}`;
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
      const reply = await engine.send(body, streamed);
      if (reply.kind !== 'stream') return undefined;
      return (await reply.messages[Symbol.asyncIterator]().next()).value;
    };
    expect(await token('{"progressToken":12345678901234567890}')).toContain(
      '"progressToken":12345678901234567890,',
    );
    expect(await token('{}')).toBeUndefined();
    expect(await token('{"progressToken":null}')).toBeUndefined();
  });

  it('[mcp B6] never comes behind the answer', async () => {
    let late: RequestContext<string>['progress'] = () => undefined;
    const engine = working(({ progress }) => {
      late = progress;
      progress(1);
    });
    const stream = await streamOf(engine.legacy('tools/call', withToken, streamed));
    expect((await stream.next()).method).toBe('notifications/progress');
    expect((await stream.next()).result).toEqual(done);
    late(2);
    expect(await stream.next()).toBeUndefined();
  });
});

describe('log messages', () => {
  const logging = working(({ log }) => {
    log('debug', 'too fine');
    log('info', { rows: 3 }, 'sql');
    log('error', 'bad');
  });
  const levelKey = 'io.modelcontextprotocol/logLevel';

  it('[mcp B8] go along with the answer, from the level that the request asks for', async () => {
    const sent = { ...streamed, meta: { [levelKey]: 'info' } };
    const messages = await messagesOf(logging.modern('tools/call', call, sent));
    expect(messages.slice(0, -1).map(({ method, params }) => [method, params])).toEqual([
      ['notifications/message', { level: 'info', logger: 'sql', data: { rows: 3 } }],
      ['notifications/message', { level: 'error', data: 'bad' }],
    ]);
  });

  it('[mcp B8] do not come unasked, nor in the legacy era', async () => {
    expect((await logging.modern('tools/call', call, streamed)).kind).toBe('message');
    const params = { ...call, _meta: { [levelKey]: 'debug' } };
    expect((await logging.legacy('tools/call', params, streamed)).kind).toBe('message');
  });
});

describe('a client that gives up', () => {
  it('[mcp B4] by leaving cancels its modern request', async () => {
    const held = new Held();
    const gone = new AbortController();
    const reply = held.engine.modern('tools/call', call, { signal: gone.signal });
    const signal = await held.started;
    gone.abort();
    expect(await reply).toEqual({ kind: 'accepted' });
    expect(signal.aborted).toBe(true);
    held.release();
  });

  it('[mcp B4] by leaving the stream cancels it too', async () => {
    const held = new Held();
    const headers = { accept: 'text/event-stream' };
    const stream = await streamOf(held.engine.modern('tools/call', call, { headers }));
    await stream.leave();
    expect((await held.started).aborted).toBe(true);
    held.release();
  });

  it('[mcp B3] by leaving does not cancel a legacy request', async () => {
    const held = new Held();
    const gone = new AbortController();
    const reply = held.engine.legacy('tools/call', call, { signal: gone.signal });
    const signal = await held.started;
    gone.abort();
    await pause(1);
    expect(signal.aborted).toBe(false);
    held.release();
    expect((await answerOf(reply)).result).toEqual(done);
  });

  it('[mcp B6] by a notification cancels a legacy request, which is not answered', async () => {
    const held = new Held();
    const reply = held.engine.legacy('tools/call', call);
    const signal = await held.started;
    expect(await held.engine.send(cancelled(1))).toEqual({ kind: 'accepted' });
    expect(signal.aborted).toBe(true);
    expect(await reply).toEqual({ kind: 'accepted' });
    held.release();
  });

  it('[mcp B6] by a notification cancels no modern request', async () => {
    const held = new Held();
    const reply = held.engine.modern('tools/call', call);
    const signal = await held.started;
    await held.engine.send(cancelled(1));
    expect(signal.aborted).toBe(false);
    held.release();
    expect((await answerOf(reply)).status).toBe(200);
  });

  it('[mcp B6] cannot give up the handshake', async () => {
    const engine = working(() => undefined);
    const reply = engine.legacy('initialize', { protocolVersion: '2025-11-25' });
    await engine.send(cancelled(1));
    expect((await answerOf(reply)).result.protocolVersion).toBe('2025-11-25');
  });

  it('[mcp B6] is told apart by its session, where it has one', async () => {
    const held = new Held();
    const [first, second] = ['a', 'b'].map((id) => ({ headers: { 'mcp-session-id': id } }));
    const replies = [first, second].map((sent) => held.engine.legacy('tools/call', call, sent));
    await held.started;
    await held.engine.send(cancelled(1), second);
    expect(await replies[1]).toEqual({ kind: 'accepted' });
    held.release();
    expect((await replies[0])?.kind).toBe('message');
  });

  it('[mcp B6] has its stream ended without an answer', async () => {
    const held = new Held();
    const headers = { accept: 'text/event-stream' };
    const stream = await streamOf(held.engine.legacy('tools/call', call, { headers }));
    await held.started;
    await held.engine.send(cancelled(1));
    expect(await stream.next()).toBeUndefined();
    held.release();
  });

  it('[mcp B6] cancels nothing of others, nothing unknown, nothing that is ambiguous', async () => {
    const held = new Held();
    const replies = [1, 2].map(() => held.engine.legacy('tools/call', call));
    const signal = await held.started;
    for (const id of ['1', 2, null, {}]) await held.engine.send(cancelled(id));
    await held.engine.send(cancelled(1), { session: 'bob' });
    await held.engine.send(cancelled(1));
    await held.engine.send(cancelled(1), { isAnonymous: true });
    await held.engine.send(cancelled(1), { headers: { 'mcp-session-id': 'other' } });
    expect(signal.aborted).toBe(false);
    held.release();
    for (const reply of replies) expect((await answerOf(reply)).result).toEqual(done);
  });
});

describe('requests of one caller', () => {
  it('[mcp B6] are bounded while they are under way, each caller by itself', async () => {
    const held = new Held();
    const replies = Array.from({ length: limits.mcpRequestsMax }, () =>
      held.engine.legacy('tools/call', call),
    );
    const refused = await answerOf(held.engine.legacy('tools/call', call));
    expect([refused.status, refused.error.code]).toEqual([429, -32603]);
    expect(refused.error.message).toContain('under way');
    const other = await answerOf(held.engine.legacy('ping', {}, { session: 'bob' }));
    expect(other.status).toBe(200);
    held.release();
    await Promise.all(replies);
    expect((await answerOf(held.engine.legacy('ping'))).status).toBe(200);
  });
});

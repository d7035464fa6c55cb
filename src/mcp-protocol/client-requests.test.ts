import { describe, expect, it } from 'vitest';
import {
  bothKinds,
  EngineUnderTest,
  makeTool,
  type Offered,
  offerTools,
  streamOf,
} from '../../test/support/engine-under-test.ts';
import { limits } from '../limits.ts';
import { JsonObject } from '../values/json.ts';
import type { InputRequest } from './input-required.ts';
import { type Tool, text } from './tool.ts';

/** Tests legacy clients that are asked for input during a call. */

const question: InputRequest = { method: 'elicitation/create', params: { message: 'Sure?' } };
const roots: InputRequest = { method: 'roots/list', params: {} };

function asking(requests: Record<string, InputRequest>): Tool<string>['run'] {
  return async (_args, { given }) => {
    if (given === undefined) return { kind: 'inputRequired', requests, state: 'kept' };
    const keys = [...given.answers.keys()].join();
    const actions = [...given.answers.values()].map((answer) => {
      return answer instanceof JsonObject ? String(answer.get('action')) : 'none';
    });
    return { content: [text(`${keys}: ${actions.join()} ${given.state}`)], isError: false };
  };
}

const tools = offerTools(
  makeTool('confirm', asking({ sure: question })),
  makeTool('both', asking({ sure: question, where: roots })),
  makeTool('endless', async () => ({ kind: 'inputRequired', requests: { sure: question } })),
);

interface Said {
  readonly body: object;
  readonly headers?: Record<string, string>;
  readonly caller?: string;
}

class Client {
  readonly #engine: EngineUnderTest;

  constructor(offered: Offered = { ...tools, sealingKey: new Uint8Array(32) }) {
    this.#engine = new EngineUnderTest(offered);
  }

  get errors(): readonly unknown[] {
    return this.#engine.faults;
  }

  stopService(): void {
    this.#engine.stopping.abort();
  }

  send({ body, headers, caller: session = 'ada' }: Said) {
    const sent = { session, headers: { ...bothKinds, ...headers } };
    return this.#engine.send(JSON.stringify({ jsonrpc: '2.0', ...body }), sent);
  }

  async sessionFor(capabilities: object): Promise<string | undefined> {
    const params = { protocolVersion: '2025-11-25', capabilities };
    const { headers = {} } = await this.send({ body: { id: 1, method: 'initialize', params } });
    return headers['mcp-session-id'];
  }

  /** Calls a tool as a client that can be asked, and returns its stream. */
  call(name: string, headers: Record<string, string> = session) {
    return streamOf(
      this.send({ body: { id: 7, method: 'tools/call', params: { name } }, headers }),
    );
  }

  async answer(id: unknown, answer: object, caller = 'ada'): Promise<string> {
    const reply = await this.send({ body: { id, ...answer }, caller });
    return reply.kind === 'message' ? `${reply.status} ${reply.body}` : reply.kind;
  }
}

const session = { 'mcp-session-id': 'elicitation.roots.any' };
const accept = { result: { action: 'accept' } };

describe('[mcp B3] the id of a session', () => {
  it('says what the client can be asked for, and differs each time', async () => {
    const client = new Client();
    const declared = { roots: { listChanged: true }, elicitation: {}, experimental: {} };
    const id = await client.sessionFor(declared);
    expect(id).toMatch(/^elicitation\.roots\.[0-9a-f-]{36}$/);
    expect(await client.sessionFor(declared)).not.toBe(id);
  });

  it('is for clients that can be asked, by servers that ask', async () => {
    expect(await new Client().sessionFor({})).toBeUndefined();
    expect(await new Client(tools).sessionFor({ elicitation: {} })).toBeUndefined();
  });
});

describe('[mcp B6] a legacy client is asked in the middle of a call', () => {
  it('on the stream of the call, which goes on with the answer', async () => {
    const client = new Client();
    const messages = await client.call('confirm');
    const asked = await messages.next();
    expect(asked).toEqual({ jsonrpc: '2.0', id: expect.any(String), ...question });
    expect(await client.answer(asked.id, accept)).toBe('accepted');
    const { id, result } = await messages.next();
    expect({ id, text: result.content[0].text }).toEqual({ id: 7, text: 'sure: accept kept' });
    expect(await messages.next()).toBeUndefined();
  });

  it('for several things at once, answered in any order', async () => {
    const client = new Client();
    const messages = await client.call('both');
    const [first, second] = [await messages.next(), await messages.next()];
    expect([first.method, second.method]).toEqual(['elicitation/create', 'roots/list']);
    expect(await client.answer(second.id, { result: { action: 'cancel' } })).toBe('accepted');
    expect(await client.answer(first.id, accept)).toBe('accepted');
    const { result } = await messages.next();
    expect(result.content[0].text).toBe('sure,where: accept,cancel kept');
  });

  it.each([
    [{ error: { code: -1, message: 'no user' } }, 'the client cannot answer: no user'],
    [{ error: 'broken' }, 'the client cannot answer: its result is not an object'],
    [{ result: 5 }, 'the client cannot answer: its result is not an object'],
  ])('and when it cannot answer the call fails: %j', async (answer, words) => {
    const client = new Client();
    const messages = await client.call('both');
    const { id } = await messages.next();
    const other = await messages.next();
    expect(await client.answer(id, answer)).toBe('accepted');
    expect((await messages.next()).error).toEqual({ code: -32600, message: words });
    // The other answer is no longer awaited.
    expect(await client.answer(other.id, accept)).toMatch(/^400 /);
    expect(client.errors).toEqual([]);
  });

  it.each([
    ['did not say that it can', { 'mcp-session-id': 'roots.x' }],
    ['has no session', {}],
    ['reads no streams', { accept: 'application/json', ...session }],
    ['takes anything', { accept: '*/*', ...session }],
  ])('but not one that %s', async (_, headers) => {
    const called = new Client().call('confirm', { ...headers });
    await expect(called).rejects.toThrow('this needs a client with elicitation');
    await expect(called).rejects.toThrow('-32600');
  });

  it('only its own answer counts, and only once', async () => {
    const client = new Client();
    const messages = await client.call('confirm');
    const { id } = await messages.next();
    const refused = /^400 .*-32600,"message":"invalid request: nothing was asked of the client"/;
    expect(await client.answer(id, accept, 'eve')).toMatch(refused);
    expect(await client.answer('made up', accept)).toMatch(refused);
    expect(await client.answer(id, accept)).toBe('accepted');
    expect(await client.answer(id, accept)).toMatch(refused);
  });

  it('and may leave, or give up, without holding a place', async () => {
    const client = new Client();
    const giveUp = { method: 'notifications/cancelled', params: { requestId: 7 } };
    for (let count = 0; count <= limits.mcpRequestsMax; count += 1) {
      const messages = await client.call('confirm');
      const { id } = await messages.next();
      if (count % 2 === 0) await messages.leave();
      else await client.send({ body: giveUp, headers: session });
      expect(await client.answer(id, accept)).toMatch(/^400 /);
    }
    expect(client.errors).toEqual([]);
  });

  it('and a service that stops waits for no answer', async () => {
    const client = new Client();
    const messages = await client.call('both');
    const { id } = await messages.next();
    await messages.next();
    client.stopService();
    const words = 'the client did not answer what it was asked';
    expect((await messages.next()).error).toEqual({ code: -32600, message: words });
    expect(await messages.next()).toBeUndefined();
    expect(await client.answer(id, accept)).toMatch(/^400 /);
    expect(client.errors).toEqual([]);
  });

  it('not without an end', async () => {
    const client = new Client();
    const messages = await client.call('endless');
    for (let round = 0; round < limits.mcpRoundsMax; round += 1) {
      await client.answer((await messages.next()).id, accept);
    }
    expect((await messages.next()).error.message).toBe('internal error');
    expect(client.errors).toHaveLength(1);
  });
});

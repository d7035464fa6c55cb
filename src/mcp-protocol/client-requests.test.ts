import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { JsonObject } from '../values/json.ts';
import { Engine } from './engine.ts';
import type { EngineReply } from './engine-request.ts';
import type { InputRequest } from './input-required.ts';
import type { RequestContext } from './request-context.ts';
import type { ServerDefinition } from './server-definition.ts';
import { type Tool, text } from './tool.ts';

/** Legacy clients that are asked for something in the middle of a call. */

const question: InputRequest = { method: 'elicitation/create', params: { message: 'Sure?' } };
const roots: InputRequest = { method: 'roots/list', params: {} };

function tool(name: string, run: Tool<object>['run']): Tool<object> {
  const hints = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };
  const inputSchema = { type: 'object' };
  return {
    ...{ name, title: name, description: name, inputSchema, run },
    annotations: { title: name, ...hints },
  };
}

const asking = (requests: Record<string, InputRequest>) => {
  return async (_: JsonObject, { given }: RequestContext<object>) => {
    if (given === undefined) return { kind: 'inputRequired', requests, state: 'kept' } as const;
    const keys = [...given.answers.keys()].join();
    const actions = [...given.answers.values()].map((answer) => {
      return answer instanceof JsonObject ? String(answer.get('action')) : 'none';
    });
    return { content: [text(`${keys}: ${actions.join()} ${given.state}`)], isError: false };
  };
};

const definition: ServerDefinition<object> = {
  info: { name: 'asking', version: '1' },
  instructions: () => '',
  tools: async () => [
    tool('confirm', asking({ sure: question })),
    tool('both', asking({ sure: question, where: roots })),
    tool('endless', async () => ({ kind: 'inputRequired', requests: { sure: question } })),
  ],
  sealingKey: new Uint8Array(32),
};

interface Sent {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly caller?: string;
}

class Client {
  readonly errors: unknown[] = [];
  /** The service stops. */
  readonly stopping = new AbortController();
  readonly #engine: Engine<object>;

  constructor(served = definition) {
    const onError = (error: unknown) => this.errors.push(error);
    const stopping = this.stopping.signal;
    this.#engine = new Engine({ definition: served, onError, stopping });
  }

  send({ body, headers = {}, caller = 'ada' }: Sent): Promise<EngineReply> {
    const known: Readonly<Record<string, string>> = { accept: both, ...headers };
    return this.#engine.handle({
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      header: (name) => known[name],
      session: {},
      caller: { key: caller, isAnonymous: false },
      endpoint: '',
      signal: new AbortController().signal,
    });
  }

  async sessionFor(capabilities: object): Promise<string | undefined> {
    const params = { protocolVersion: '2025-11-25', capabilities };
    const { headers = {} } = await this.send({ body: { id: 1, method: 'initialize', params } });
    return headers['mcp-session-id'];
  }

  /** Calls a tool as a client that can be asked, and gives what comes. */
  async call(name: string, headers: Record<string, string> = session): Promise<Messages> {
    const body = { id: 7, method: 'tools/call', params: { name } };
    const reply = await this.send({ body, headers });
    if (reply.kind === 'stream') return new Messages(reply.messages[Symbol.asyncIterator]());
    throw new Error(reply.kind === 'message' ? reply.body : reply.kind);
  }

  async answer(id: unknown, answer: object, caller = 'ada'): Promise<string> {
    const reply = await this.send({ body: { id, ...answer }, caller });
    return reply.kind === 'message' ? `${reply.status} ${reply.body}` : reply.kind;
  }
}

/** Of one stream. */
class Messages {
  readonly #iterator: AsyncIterator<string | undefined>;

  constructor(iterator: AsyncIterator<string | undefined>) {
    this.#iterator = iterator;
  }

  /** `undefined` at the end. */
  async next() {
    const { value } = await this.#iterator.next();
    return value === undefined ? undefined : JSON.parse(value);
  }

  async leave(): Promise<void> {
    await this.#iterator.return?.();
  }
}

const both = 'application/json, text/event-stream';
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
    const { sealingKey: _, ...silent } = definition;
    expect(await new Client(silent).sessionFor({ elicitation: {} })).toBeUndefined();
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
    // Nobody waits for the other answer any more.
    expect(await client.answer(other.id, accept)).toMatch(/^400 /);
    expect(client.errors).toEqual([]);
  });

  it.each([
    ['did not say that it can', { accept: both, 'mcp-session-id': 'roots.x' }],
    ['has no session', { accept: both }],
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
    client.stopping.abort();
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

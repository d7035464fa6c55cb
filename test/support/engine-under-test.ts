import { setMaxListeners } from 'node:events';
import { Engine } from '../../src/mcp-protocol/engine.ts';
import type { EngineReply, EngineRequest } from '../../src/mcp-protocol/engine-request.ts';
import type { ServerDefinition } from '../../src/mcp-protocol/server-definition.ts';
import { type Tool, text } from '../../src/mcp-protocol/tool.ts';
import { modernRequest } from './modern-request.ts';

/** Sessions of these tests are names of callers. */
export type Offered = Partial<ServerDefinition<string>>;

export interface Sent {
  readonly headers?: Record<string, string>;
  readonly session?: string;
  readonly isAnonymous?: boolean;
  readonly endpoint?: string;
  readonly signal?: AbortSignal;
}

/** An engine without a transport, and both kinds of clients of it. */
export class EngineUnderTest {
  /** What no handler expected. */
  readonly faults: unknown[] = [];
  readonly stopping = new AbortController();
  readonly #engine: Engine<string>;

  constructor(offered: Offered = {}) {
    // Each stream of a test listens.
    setMaxListeners(0, this.stopping.signal);
    this.#engine = new Engine({
      definition: {
        info: { name: 'test', version: '1.0.0' },
        instructions: (session) => `hello ${session}`,
        tools: async () => [],
        ...offered,
      },
      onError: (error) => this.faults.push(error),
      stopping: this.stopping.signal,
    });
  }

  send(body: string, sent: Sent = {}): Promise<EngineReply> {
    return this.#engine.handle(requestOf(body, sent));
  }

  /** The message of a legacy request without any header, unless some are given. */
  legacy(method: string, params?: object, sent: Sent = {}): Promise<EngineReply> {
    return this.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), sent);
  }

  /** A well-formed modern request; members of `meta` come on top. */
  modern(method: string, params: object = {}, sent: Sent & { meta?: object } = {}) {
    const { body, headers } = modernRequest(method, params, sent.meta);
    return this.send(body, { ...sent, headers: { ...headers, ...sent.headers } });
  }

  /** The result of a modern request that succeeds at once. */
  async result(method: string, params: object = {}, sent: Sent & { meta?: object } = {}) {
    return (await answerOf(this.modern(method, params, sent))).result;
  }
}

export const bothKinds = { accept: 'application/json, text/event-stream' };

function requestOf(body: string, sent: Sent): EngineRequest<string> {
  const { headers = {}, session = 'ada', endpoint = '', isAnonymous = false } = sent;
  return {
    body,
    header: (name) => headers[name],
    session,
    endpoint,
    caller: { key: session, isAnonymous },
    signal: sent.signal ?? new AbortController().signal,
  };
}

/** Status and JSON of a reply that is one message. */
export async function answerOf(reply: Promise<EngineReply>) {
  const settled = await reply;
  if (settled.kind !== 'message') throw new Error(`the reply is ${settled.kind}`);
  return { status: settled.status, ...JSON.parse(settled.body) };
}

export async function streamOf(reply: Promise<EngineReply>) {
  const settled = await reply;
  if (settled.kind !== 'stream') throw new Error(`the reply is ${JSON.stringify(settled)}`);
  const messages = settled.messages[Symbol.asyncIterator]();
  return {
    /** The next message as JSON; `undefined` at the end. */
    next: async () => {
      const { value } = await messages.next();
      return value === undefined ? undefined : JSON.parse(value);
    },
    leave: () => messages.return?.(),
  };
}

/** All messages of a stream that ends. */
export async function messagesOf(reply: Promise<EngineReply>) {
  const stream = await streamOf(reply);
  const messages = [];
  for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
    messages.push(one);
  }
  return messages;
}

/** A tool that takes anything, and answers with a text or with what `run` gives. */
export function makeTool(name: string, run: Tool<string>['run'] | string): Tool<string> {
  return {
    name,
    title: name,
    description: `the tool ${name}`,
    inputSchema: { type: 'object' },
    annotations: { title: name, readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    run: typeof run === 'string' ? async () => ({ content: [text(run)], isError: false }) : run,
  };
}

/** Offers these tools and nothing else. */
export function offerTools(...tools: readonly Tool<string>[]): Offered {
  return { tools: async () => tools };
}

import type { ChildProcess } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { modernMeta } from '../support/modern-request.ts';

/** A JSON-RPC request on one line. */
export const request = (id: unknown, method: string, params?: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) });

export const toolCall = (id: unknown, name: string, args: object = {}) =>
  request(id, 'tools/call', { name, arguments: args });

export const notification = (method: string, params?: object) =>
  JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) });

/** A request as revision 2026-07-28 has them. */
export const modern = (id: unknown, method: string, params: object = {}) =>
  request(id, method, { ...params, _meta: modernMeta });

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A bridge that is talked to line by line. */
export class LiveBridge {
  readonly child: ChildProcess;
  readonly messages: Message[] = [];
  readonly ended: Promise<number | null>;
  #text = '';

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.on('data', (chunk) => {
      this.#text += chunk;
      const lines = this.#text.split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) this.messages.push(JSON.parse(line));
    });
    this.ended = new Promise((resolve) => child.on('close', resolve));
  }

  say(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Sends a request and gives the next message. */
  async ask(line: string): Promise<Message> {
    const before = this.messages.length;
    this.say(line);
    await this.until(before + 1);
    return this.messages[before] as Message;
  }

  /** Waits until so many messages have come. */
  async until(count: number): Promise<void> {
    const come = () => this.messages.length;
    await expect.poll(come, { timeout: 20_000, interval: 5 }).toBeGreaterThanOrEqual(count);
  }

  end(): Promise<number | null> {
    this.child.stdin?.end();
    return this.ended;
  }
}

/** Requests, as a service of a test's own making sees them. */
export interface Seen {
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
  readonly outgoing: ServerResponse;
  /** True once the client has gone away before the answer was written. */
  isGone: boolean;
}

/** A service that answers as a test wants it to. */
export class OddService {
  readonly url: string;
  readonly seen: Seen[] = [];
  answer: (seen: Seen) => void = ({ outgoing }) => outgoing.writeHead(202).end();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', async (incoming: IncomingMessage, outgoing: ServerResponse) => {
      let body = '';
      for await (const chunk of incoming) body += chunk;
      const seen: Seen = { body, headers: incoming.headers, outgoing, isGone: false };
      outgoing.on('close', () => {
        seen.isGone = !outgoing.writableEnded;
      });
      this.seen.push(seen);
      this.answer(seen);
    });
  }

  static async start(): Promise<OddService> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new OddService(server);
  }

  /** The request with this text in its body. */
  async received(text: string): Promise<Seen> {
    const find = () => this.seen.find(({ body }) => body.includes(text));
    await expect.poll(find, { timeout: 20_000 }).toBeDefined();
    return find() as Seen;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Answers with one body. */
export function reply(
  { outgoing }: Seen,
  text: string,
  { status = 200, type = 'application/json' } = {},
): void {
  outgoing.writeHead(status, { 'content-type': type }).end(text);
}

/** Answers a request with this result. */
export function replyResult(seen: Seen, result: object): void {
  const { id } = JSON.parse(seen.body);
  reply(seen, JSON.stringify({ jsonrpc: '2.0', id, result }));
}

/** Begins an event stream; gives what writes the next piece of it. */
export function openStream({ outgoing }: Seen): (piece: string) => void {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  return (piece) => void outgoing.write(piece);
}

export const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request as ask } from 'node:https';
import type { Duplex, Readable } from 'node:stream';
import { limits } from '../limits.ts';
import { type LeaderHint, leaderAddressHeader, termHeader } from './leader-hint.ts';
import { bootHeader, ownPath } from './link-server.ts';
import type { LinkIdentity } from './link-tls.ts';
import { encodeForwarded, type ForwardedHead, forwardHeader } from './settled-caller.ts';

/** A request as it goes on to another host. */
export interface ForwardRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** As the client sent them: names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array | Readable | undefined;
  readonly head: ForwardedHead;
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
}

export type ForwardAnswer =
  | { readonly kind: 'answered'; readonly answer: IncomingMessage }
  /** Nothing was done: that host is not there, or does not lead, and may know who does. */
  | NotDone
  /** It was sent, and no answer came. */
  | { readonly kind: 'unknown' }
  /** Nothing was done: as many requests are with other hosts as may be. */
  | { readonly kind: 'overloaded' };

/** Every answer of a host that leads has it: what a module answers is never taken for a host's. */
export const answeredHeader = 'reducerdb-host';

export interface NotDone {
  readonly kind: 'notDone';
  readonly leader: LeaderHint | undefined;
  /** True: of a body that is streamed, something was sent, and it cannot be sent again. */
  readonly isSpent?: true;
}

/** What goes with a question to another host. */
export interface HostAsk {
  readonly body?: Uint8Array;
  readonly millisMax?: number;
}

export type UpgradeAnswer =
  | { readonly kind: 'upgraded'; readonly answer: IncomingMessage; readonly stream: Duplex }
  | ForwardAnswer;

/** What one ping says. */
export type Ping = { readonly kind: 'boot'; readonly boot: string } | { readonly kind: 'refused' };

/** Connections with other hosts, kept alive. */
export class LinkClient {
  readonly #agent: Agent;
  /** For what hosts ask each other, so that it never waits behind requests of clients. */
  readonly #asking: Agent;
  readonly #underWay = { requests: 0, streams: 0 };

  constructor(identity: LinkIdentity) {
    const options = {
      ...identity.forClient,
      keepAlive: true,
      // Below the time after which the other end would close one that is just used again.
      timeout: limits.linkIdleMillisMax,
      maxSockets: limits.linkSocketsMax,
      maxFreeSockets: limits.linkFreeSocketsMax,
      maxCachedSessions: 0,
    };
    this.#agent = new Agent(options);
    this.#asking = new Agent(options);
  }

  /** Sends a request on. Its body is read once: a stream cannot be sent a second time. */
  forward(address: string, request: ForwardRequest): Promise<ForwardAnswer> {
    return this.#send(address, request) as Promise<ForwardAnswer>;
  }

  /** Sends the request for a WebSocket on; `first`: what the client sent behind it. */
  upgrade(address: string, request: ForwardRequest, first: Buffer): Promise<UpgradeAnswer> {
    return this.#send(address, request, first);
  }

  /** Asks another host for what it answers below `ownPath`. Rejects if it does not. */
  async askHost(address: string, path: string, question: HostAsk = {}): Promise<unknown> {
    const { status, text } = await this.#ask(address, path, question);
    if (status !== 200) throw new Error(`${address} answered ${status}`);
    return JSON.parse(text) as unknown;
  }

  /** Which process answers at an address. Rejects if nobody knows. */
  async ping(address: string): Promise<Ping> {
    try {
      const { boot } = await this.#ask(address, 'ping');
      return { kind: 'boot', boot };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return { kind: 'refused' };
      throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
    this.#asking.destroy();
  }

  #ask(
    address: string,
    path: string,
    { body, millisMax = limits.linkAnswerMillisMax }: HostAsk = {},
  ): Promise<{ readonly status: number; readonly text: string; readonly boot: string }> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(millisMax);
      const method = body === undefined ? 'GET' : 'POST';
      const place = { ...placeOf(address), path: ownPath + path, method };
      const options = { ...place, agent: this.#asking, signal };
      const asked = ask(options, (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > limits.linkAnswerBytesMax)
            answer.destroy(new Error('the answer is too long'));
          chunks.push(chunk);
        });
        answer.on('error', reject);
        answer.on('end', () => {
          const boot = String(answer.headers[bootHeader] ?? '');
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: answer.statusCode ?? 0, text, boot });
        });
      });
      asked.on('error', reject);
      asked.end(body);
    });
  }

  #send(address: string, request: ForwardRequest, first?: Buffer): Promise<UpgradeAnswer> {
    const { method, path, body, signal } = request;
    const isStreamed = body !== undefined && !(body instanceof Uint8Array);
    const leave = this.#enter(isStreamed);
    if (leave === undefined) return Promise.resolve({ kind: 'overloaded' });
    return new Promise((resolve) => {
      let isSent = false;
      let isBodySent = false;
      const options = { ...placeOf(address), agent: this.#agent, method, path, signal };
      const headers = headersOf(request, first !== undefined);
      const asked = ask({ ...options, setHost: false, headers, ...answerBounds });
      asked.once('close', leave);
      asked.once('socket', (socket) => {
        const sent = (): void => {
          isSent = true;
        };
        // On a new connection nothing leaves before the other end has proved who it is.
        if (asked.reusedSocket) sent();
        else socket.once('secureConnect', sent);
      });
      // A host that has not asked for the body has not begun.
      const isBegun = (): boolean => (isStreamed ? isBodySent : isSent);
      asked.once('error', () => resolve(isBegun() ? { kind: 'unknown' } : notDone));
      asked.once('upgrade', (answer: IncomingMessage, stream: Duplex, ahead: Buffer) => {
        if (first === undefined) {
          stream.destroy();
          return resolve({ kind: 'unknown' });
        }
        if (ahead.length > 0) stream.unshift(ahead);
        if (first.length > 0) stream.write(first);
        resolve({ kind: 'upgraded', answer, stream });
      });
      asked.once('response', (answer) => {
        if (isStreamed) answer.once('end', () => forgetRest(body, asked));
        resolve(answerOf(answer, isBodySent));
      });
      if (!isStreamed) {
        asked.end(body);
        return;
      }
      asked.once('continue', () => {
        isBodySent = true;
        body.once('error', () => asked.destroy()).once('aborted', () => asked.destroy());
        body.pipe(asked);
      });
      asked.flushHeaders();
    });
  }

  /**
   * Counts a request that goes to another host; `undefined`: as many are there as may be. Those
   * whose body is streamed, and may come slowly, leave room for the others.
   */
  #enter(isStreamed: boolean): (() => void) | undefined {
    const count = this.#underWay;
    const streams = isStreamed ? 1 : 0;
    const isFull = count.requests >= limits.linkSocketsMax;
    if (isFull || count.streams + streams > limits.linkStreamsMax) return undefined;
    count.requests += 1;
    count.streams += streams;
    return () => {
      count.requests -= 1;
      count.streams -= streams;
    };
  }
}

/** What was not sent when the answer has ended is not wanted; the connection is of no more use. */
function forgetRest(body: Readable, asked: ClientRequest): void {
  if (asked.writableFinished) return;
  body.unpipe(asked);
  asked.destroy();
}

/** Module handlers set headers, too. */
const answerBounds = { maxHeaderSize: limits.linkHeaderBytesMax };

const notDone: ForwardAnswer = { kind: 'notDone', leader: undefined };

/**
 * Headers of one connection, which each connection has for itself, and those that hosts write: a
 * client that sends some wants to be taken for a host.
 */
const ownHeaders =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|expect|upgrade|reducerdb-.*)$/i;

function answerOf(answer: IncomingMessage, isBodySent: boolean): ForwardAnswer {
  const isOfHost = answer.headers[answeredHeader] === undefined;
  if (answer.statusCode !== 421 || !isOfHost) return { kind: 'answered', answer };
  answer.resume();
  return { kind: 'notDone', leader: leaderIn(answer), ...(isBodySent && { isSpent: true }) };
}

function headersOf({ rawHeaders, body, head }: ForwardRequest, isUpgrade: boolean): string[] {
  const kept = rawHeaders.flatMap((name, at) => {
    const isName = at % 2 === 0;
    const isOwn = ownHeaders.test(name);
    const isLength = body instanceof Uint8Array && /^content-length$/i.test(name);
    return !isName || isOwn || isLength ? [] : [name, rawHeaders[at + 1] ?? ''];
  });
  if (body instanceof Uint8Array) kept.push('content-length', String(body.length));
  if (isUpgrade) kept.push('connection', 'upgrade', 'upgrade', 'websocket');
  if (body !== undefined && !(body instanceof Uint8Array)) {
    kept.push('expect', '100-continue');
    const hasLength = kept.some((name, at) => at % 2 === 0 && /^content-length$/i.test(name));
    if (!hasLength) kept.push('transfer-encoding', 'chunked');
  }
  return [...kept, forwardHeader, encodeForwarded(head)];
}

function leaderIn({ headers }: IncomingMessage): LeaderHint | undefined {
  const term = Number(headers[termHeader]);
  const address = headers[leaderAddressHeader];
  if (!Number.isSafeInteger(term) || typeof address !== 'string') return undefined;
  return { term, address };
}

/** Splits `10.0.0.4:3001` or `[::1]:3001`. */
function placeOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host, port: Number(address.slice(colon + 1)) };
}

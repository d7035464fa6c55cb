import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request as ask } from 'node:https';
import type { Duplex, Readable } from 'node:stream';
import type { PlacesFull } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { isLinkAddress } from '../shared-log/link-address.ts';
import { bigintToHex } from '../values/hex.ts';
import { ClusterError } from './cluster-error.ts';
import { ForwardPlaces } from './forward-places.ts';
import { type LeaderHint, leaderAddressHeader, termHeader } from './leader-hint.ts';
import { encodeLineAsk, type LineAsk, lineHeader } from './line-name.ts';
import { bootHeader, holdPath, linePath, ownPath, streamPath } from './link-server.ts';
import type { LinkIdentity } from './link-tls.ts';
import { encodeForwarded, type ForwardedHead, forwardHeader } from './settled-caller.ts';
import { watchBody } from './slow-body.ts';

/** A request as it goes on to another host. */
export interface ForwardRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** As the client sent them: names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array | Readable | undefined;
  /** How long a body that is streamed may bring nothing. */
  readonly bodyIdleMillisMax?: number | undefined;
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
  /** Nothing more of its body came for too long; the other host has ended the request. */
  | { readonly kind: 'slowBody' }
  /** Nothing was done: as many requests are with other hosts as may be. */
  | { readonly kind: 'overloaded'; readonly full: PlacesFull };

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
  readonly signal?: AbortSignal;
}

/** Bytes both ways between two hosts, for as long as both are there. */
export interface LinkStream {
  onPiece: (piece: Buffer) => void;
  /** Called once, when the other end, or the way to it, is gone. */
  onEnd: () => void;
  write(bytes: Buffer): void;
  close(): void;
}

/** `header`: what the other end has answered. */
export interface OpenedLine {
  readonly stream: LinkStream;
  readonly header: unknown;
}

export type UpgradeAnswer =
  | { readonly kind: 'upgraded'; readonly answer: IncomingMessage; readonly stream: Duplex }
  | ForwardAnswer;

/** What one ping says. */
export type Ping = { readonly kind: 'boot'; readonly boot: string } | { readonly kind: 'refused' };

/** Nothing of a question has left this host: the other one is not there. */
export class UnsentError extends ClusterError {}

/** The other host is of an earlier version, which knows no such path. */
export class UnknownPathError extends ClusterError {}

/** Connections with other hosts, kept alive. */
export class LinkClient {
  readonly #agent: Agent;
  /** For what hosts ask each other, so that it never waits behind requests of clients. */
  readonly #asking: Agent;
  readonly #places = new ForwardPlaces();
  /** When each address has answered last. */
  readonly #answeredAt = new Map<string, number>();

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

  /**
   * Asks another host for what it answers below `ownPath`. Rejects if it does not; with
   * `UnsentError` if nothing was asked.
   */
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
      const { cause } = error as { readonly cause?: unknown };
      if ((cause as NodeJS.ErrnoException)?.code === 'ECONNREFUSED') return { kind: 'refused' };
      throw error;
    }
  }

  /**
   * Keeps a question open that another host does not answer; resolves to true when that process, or
   * the way to it, has ended, and to false when it was answered or given up.
   */
  async untilBroken(address: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#ask(address, holdPath, { millisMax: 2 * limits.linkHoldMillis, signal });
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    }
  }

  /**
   * Opens a stream of entries from the process `boot` at an address: see `stream-frames.ts`.
   * Rejects if there is none.
   */
  async stream(address: string, boot: BootId): Promise<LinkStream> {
    return (await this.#stream(address, boot, streamPath, {})).stream;
  }

  /** Opens a line to the process `boot`, or goes on with one. Rejects if it takes none. */
  async line(address: string, boot: BootId, ask: LineAsk): Promise<OpenedLine> {
    const opened = await this.#stream(address, boot, linePath, {
      [lineHeader]: encodeLineAsk(ask),
    });
    return { stream: opened.stream, header: opened.answer.headers[lineHeader] };
  }

  close(): void {
    this.#agent.destroy();
    this.#asking.destroy();
  }

  #stream(
    address: string,
    boot: BootId,
    path: string,
    own: Readonly<Record<string, string>>,
  ): Promise<{ readonly stream: LinkStream; readonly answer: IncomingMessage }> {
    return new Promise((resolve, reject) => {
      const place = { ...placeOf(address), path: ownPath + path, method: 'POST' };
      const headers = { 'transfer-encoding': 'chunked', ...own };
      const asked = ask({ ...place, agent: this.#asking, headers });
      const late = setTimeout(() => asked.destroy(), limits.linkAnswerMillisMax);
      asked.once('close', () => clearTimeout(late));
      asked.on('error', reject);
      asked.once('response', (answer) => {
        clearTimeout(late);
        const isRight = answer.headers[bootHeader] === bigintToHex(boot, 32);
        if (answer.statusCode === 200 && isRight)
          return resolve({ stream: linkStreamOf(asked, answer), answer });
        const text = `${address} streams nothing: ${answer.statusCode}`;
        reject(isRight && answer.statusCode === 404 ? new UnknownPathError(text) : new Error(text));
        asked.destroy();
      });
      asked.flushHeaders();
    });
  }

  #ask(
    address: string,
    path: string,
    { body, millisMax = limits.linkAnswerMillisMax, signal: given }: HostAsk = {},
  ): Promise<{ readonly status: number; readonly text: string; readonly boot: string }> {
    return new Promise((resolve, reject) => {
      const late = AbortSignal.timeout(millisMax);
      const signal = given === undefined ? late : AbortSignal.any([given, late]);
      const method = body === undefined ? 'GET' : 'POST';
      const place = { ...placeOf(address), path: ownPath + path, method };
      const headers = body === undefined ? {} : { ...bodyHeaders(body), expect: '100-continue' };
      const options = { ...place, agent: this.#asking, signal, headers };
      let isSent = false;
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
      asked.on('error', (cause) => {
        const text = `${address} was not asked: ${cause.message}`;
        reject(isSent ? cause : new UnsentError(text, { cause }));
      });
      const send = (): void => {
        isSent = true;
        asked.end(body);
      };
      // Who has not asked for what is to be changed has not begun.
      if (body !== undefined) asked.once('continue', send).flushHeaders();
      else whenAlive(asked, send);
    });
  }

  #send(address: string, request: ForwardRequest, first?: Buffer): Promise<UpgradeAnswer> {
    const { method, path, body, signal } = request;
    const isStreamed = body !== undefined && !(body instanceof Uint8Array);
    const entered = this.#places.enter(request.head, isStreamed);
    if (entered.kind === 'full') return Promise.resolve({ kind: 'overloaded', full: entered });
    const { leave } = entered;
    const isAsked = isStreamed || (hasBytes(body) && first === undefined && this.#isQuiet(address));
    return new Promise((resolve) => {
      let isBegun = false;
      const options = { ...placeOf(address), agent: this.#agent, method, path, signal };
      const headers = headersOf(request, { isUpgrade: first !== undefined, isAsked });
      let asked: ClientRequest;
      try {
        asked = ask({ ...options, setHost: false, headers, ...answerBounds });
      } catch {
        // No request can be made of that: nothing has left.
        leave();
        return resolve(notDone);
      }
      asked.once('close', leave);
      asked.once('error', () => resolve(isBegun ? { kind: 'unknown' } : notDone));
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
        this.#answered(address);
        if (isAsked) answer.once('end', () => forgetRest(body, asked));
        resolve(answerOf(answer, isStreamed && isBegun));
      });
      const send = (): void => {
        isBegun = true;
        if (isStreamed) {
          body.once('error', () => asked.destroy()).once('aborted', () => asked.destroy());
          body.pipe(asked);
          const stop = watchBody(
            body,
            request.bodyIdleMillisMax ?? limits.bodyIdleMillisMax,
            () => {
              resolve({ kind: 'slowBody' });
              body.unpipe(asked);
              asked.destroy();
            },
          );
          // The host that has answered ends what is left of it.
          asked.once('response', stop).once('close', stop);
        } else asked.end(body);
      };
      // A host that has not asked for the body has not begun.
      if (isAsked) asked.once('continue', send).flushHeaders();
      else whenAlive(asked, send);
    });
  }

  #answered(address: string): void {
    if (this.#answeredAt.size > limits.clusterHostsMax) this.#answeredAt.clear();
    this.#answeredAt.set(address, performance.now());
  }

  /**
   * True if an address has not answered for a moment: the process there may have ended without
   * this one having heard of it, so that it is asked first whether it takes a body.
   */
  #isQuiet(address: string): boolean {
    const answeredAt = this.#answeredAt.get(address) ?? Number.NEGATIVE_INFINITY;
    return performance.now() - answeredAt > limits.linkQuietMillis;
  }
}

function linkStreamOf(asked: ClientRequest, answer: IncomingMessage): LinkStream {
  const stream: LinkStream = {
    onPiece: () => undefined,
    onEnd: () => undefined,
    write: (bytes) => void asked.write(bytes),
    close: () => void asked.destroy(),
  };
  answer.on('data', (piece: Buffer) => stream.onPiece(piece));
  answer.on('error', () => stream.onEnd());
  asked.on('error', () => stream.onEnd());
  answer.once('close', () => stream.onEnd());
  return stream;
}

/**
 * Calls `send` when the connection of a request is known to live: a new one when the other end has
 * proved who it is, a kept one after its end would have been noticed. Nothing has left before.
 */
function whenAlive(asked: ClientRequest, send: () => void): void {
  const sendUnlessOver = (): void => {
    if (!asked.destroyed && asked.socket?.destroyed !== true) send();
  };
  asked.once('socket', (socket) => {
    if (!asked.reusedSocket) socket.once('secureConnect', sendUnlessOver);
    // The second one runs after a poll for what has come meanwhile.
    else setImmediate(() => setImmediate(sendUnlessOver));
  });
}

function hasBytes(body: ForwardRequest['body']): boolean {
  return body instanceof Uint8Array && body.length > 0;
}

function bodyHeaders({ length }: Uint8Array): { readonly 'content-length': number } {
  return { 'content-length': length };
}

/** What was not sent when the answer has ended is not wanted; the connection is of no more use. */
function forgetRest(body: ForwardRequest['body'], asked: ClientRequest): void {
  if (asked.writableFinished) return;
  if (body !== undefined && !(body instanceof Uint8Array)) body.unpipe(asked);
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

function headersOf(
  { rawHeaders, body, head }: ForwardRequest,
  { isUpgrade, isAsked }: { readonly isUpgrade: boolean; readonly isAsked: boolean },
): string[] {
  const kept = rawHeaders.flatMap((name, at) => {
    const isName = at % 2 === 0;
    const isOwn = ownHeaders.test(name);
    const isLength = body instanceof Uint8Array && /^content-length$/i.test(name);
    return !isName || isOwn || isLength ? [] : [name, rawHeaders[at + 1] ?? ''];
  });
  if (body instanceof Uint8Array) kept.push('content-length', String(body.length));
  if (isUpgrade) kept.push('connection', 'upgrade', 'upgrade', 'websocket');
  if (isAsked) kept.push('expect', '100-continue');
  if (body !== undefined && !(body instanceof Uint8Array)) {
    const hasLength = kept.some((name, at) => at % 2 === 0 && /^content-length$/i.test(name));
    if (!hasLength) kept.push('transfer-encoding', 'chunked');
  }
  return [...kept, forwardHeader, encodeForwarded(head)];
}

function leaderIn({ headers }: IncomingMessage): LeaderHint | undefined {
  const term = Number(headers[termHeader]);
  const address = headers[leaderAddressHeader];
  if (!Number.isSafeInteger(term) || typeof address !== 'string') return undefined;
  if (!isLinkAddress(address)) return undefined;
  return { term, address };
}

/** Splits `10.0.0.4:3001` or `[::1]:3001`. */
function placeOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host, port: Number(address.slice(colon + 1)) };
}

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type ClientOptions, WebSocket } from 'ws';
import * as v1 from '../../src/protocol/v1/server-message.ts';
import type * as v2 from '../../src/protocol/v2/server-message.ts';
import { serverMessagesIn } from '../../src/protocol/v3.ts';

/** How a connection ended: the code and reason of its close, or the answer it got instead. */
export interface End {
  readonly code: number;
  readonly reason: string;
}

export interface Frame {
  readonly isBinary: boolean;
  readonly bytes: Buffer;
}

export interface OpenOptions {
  readonly protocols?: readonly string[];
  /** Without the mark. */
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

/** A client that sees frames. It answers pings unless told not to. */
export class SocketClient {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly ended: Promise<End>;
  readonly responseHeaders: Record<string, string | string[] | undefined> = {};
  #waiting: (() => void)[] = [];
  #taken = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('upgrade', (response) => Object.assign(this.responseHeaders, response.headers));
    socket.on('message', (data: Buffer, isBinary) => {
      this.frames.push({ isBinary, bytes: data });
      this.#wake();
    });
    this.ended = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.#wake();
      });
    });
  }

  /** Starts to connect to a database of the service at `url`. */
  static begin(url: string, database: string, options: OpenOptions = {}): SocketClient {
    const { protocols = ['v2.bsatn.spacetimedb'], query = 'compression=None' } = options;
    const address = `${url.replace('http', 'ws')}/v1/database/${database}/subscribe?${query}`;
    const clientOptions: ClientOptions = { perMessageDeflate: false };
    if (options.headers !== undefined) clientOptions.headers = options.headers;
    return new SocketClient(new WebSocket(address, [...protocols], clientOptions));
  }

  static async open(url: string, database: string, options?: OpenOptions): Promise<SocketClient> {
    const client = SocketClient.begin(url, database, options);
    await new Promise<void>((resolve, reject) => {
      client.socket.once('open', resolve);
      client.socket.once('error', reject);
    });
    client.socket.on('error', () => undefined);
    return client;
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  send(message: Uint8Array | string): void {
    this.socket.send(message);
  }

  /** The next frame; throws when the connection ends first. */
  async frame(): Promise<Frame> {
    for (;;) {
      const frame = this.frames[this.#taken];
      if (frame !== undefined) {
        this.#taken += 1;
        return frame;
      }
      if (this.socket.readyState > WebSocket.OPEN) throw new Error('the connection has ended');
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** True when no frame comes for so long. */
  async isQuiet(millis = 50): Promise<boolean> {
    await new Promise((resolve) => setTimeout(resolve, millis));
    return this.frames.length === this.#taken;
  }

  async close(): Promise<End> {
    this.socket.close();
    return this.ended;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Undoes the compression of a binary frame. */
export function bodyOf({ bytes }: Frame): Uint8Array {
  const rest = bytes.subarray(1);
  switch (bytes[0]) {
    case 0:
      return rest;
    case 1:
      return brotliDecompressSync(rest);
    case 2:
      return gunzipSync(rest);
    default:
      throw new Error(`the frame begins with ${bytes[0]}`);
  }
}

/** Messages of version 2 and 3, one by one, however they are packed. */
export class V2Reader {
  readonly client: SocketClient;
  #messages: v2.ServerMessage[] = [];

  constructor(client: SocketClient) {
    this.client = client;
  }

  async next(): Promise<v2.ServerMessage> {
    while (this.#messages.length === 0) {
      const frame = await this.client.frame();
      if (!frame.isBinary) throw new Error('a text frame came');
      this.#messages.push(...serverMessagesIn(bodyOf(frame)));
    }
    return this.#messages.shift() as v2.ServerMessage;
  }

  /** The next message, which must be of this kind. */
  async expect<Kind extends v2.ServerMessage['kind']>(
    kind: Kind,
  ): Promise<Extract<v2.ServerMessage, { kind: Kind }>> {
    const message = await this.next();
    if (message.kind !== kind) throw new Error(`${kind} was expected: ${show(message)}`);
    return message as Extract<v2.ServerMessage, { kind: Kind }>;
  }
}

/** The next message of version 1, which must be of this kind. */
export async function expectV1<Kind extends v1.ServerMessage['kind']>(
  client: SocketClient,
  kind: Kind,
): Promise<Extract<v1.ServerMessage, { kind: Kind }>> {
  const message = v1.decodeServerMessage(bodyOf(await client.frame()));
  if (message.kind !== kind) throw new Error(`${kind} was expected: ${show(message)}`);
  return message as Extract<v1.ServerMessage, { kind: Kind }>;
}

/** The next text frame, which must hold this one variant. */
export async function expectText(client: SocketClient, variant: string): Promise<unknown> {
  const { isBinary, bytes } = await client.frame();
  if (isBinary) throw new Error('a binary frame came');
  const message = JSON.parse(bytes.toString());
  if (Object.keys(message).join() !== variant) throw new Error(`${variant}: ${bytes.toString()}`);
  return message[variant];
}

export function show(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner));
}

import { WebSocket } from 'ws';
import { type ClientMessage, encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { decodeServerMessage, type ServerMessage } from '../../src/protocol/v2/server-message.ts';
import type { Caller } from './asking.ts';
import { until } from './cluster-services.ts';

export interface RecordedAt {
  readonly url: string;
  readonly database: string;
  readonly as: Caller;
  readonly query?: string;
}

/** A WebSocket of version 2 that keeps what it gets: the bytes of each message, and what it says. */
export class RecordingSocket {
  readonly messages: ServerMessage[] = [];
  /** The bytes of each update, in hex. */
  readonly updates: string[] = [];
  readonly closed: Promise<readonly [code: number, reason: string]>;
  isClosed = false;
  /** True if the host that was asked passes everything on to the leader. */
  isRelayed = false;
  readonly #socket: WebSocket;
  #lastId = 0;

  static async open({ url, database, as, query = '' }: RecordedAt): Promise<RecordingSocket> {
    const where = `${url.replace('http', 'ws')}/v1/database/${database}/subscribe`;
    const socket = new WebSocket(`${where}?compression=None${query}`, ['v2.bsatn.spacetimedb'], {
      headers: { authorization: `Bearer ${as.token}` },
    });
    const recording = new RecordingSocket(socket);
    socket.once('upgrade', ({ headers }) => {
      recording.isRelayed = headers['reducerdb-leader'] !== undefined;
    });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    await until(() => recording.messages.length > 0);
    return recording;
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (bytes: Buffer) => {
      const message = decodeServerMessage(Uint8Array.from(bytes.subarray(1)));
      this.messages.push(message);
      if (message.kind === 'transactionUpdate') this.updates.push(bytes.toString('hex'));
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.isClosed = true;
        resolve([code, String(reason)]);
      });
    });
  }

  send(message: ClientMessage): void {
    this.#socket.send(encodeClientMessage(message));
  }

  /** Resolves with the answer, which is an error if it was refused. */
  async subscribe(queries: readonly string[]): Promise<ServerMessage> {
    const requestId = this.#nextId();
    this.send({ kind: 'subscribe', requestId, querySetId: requestId, queries });
    return await this.#answer(requestId);
  }

  async query(query: string): Promise<ServerMessage> {
    const requestId = this.#nextId();
    this.send({ kind: 'oneOffQuery', requestId, query });
    return await this.#answer(requestId);
  }

  /** Sends a call, and returns its number without waiting. */
  call(reducer: string, args: Uint8Array): number {
    const requestId = this.#nextId();
    this.send({ kind: 'callReducer', requestId, reducer, args });
    return requestId;
  }

  async outcomeOf(requestId: number): Promise<ServerMessage> {
    return await this.#answer(requestId);
  }

  close(): void {
    this.#socket.close(1000);
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  async #answer(requestId: number): Promise<ServerMessage> {
    const find = () =>
      this.messages.find((one) => 'requestId' in one && one.requestId === requestId);
    await until(() => find() !== undefined || this.isClosed);
    const found = find();
    if (found === undefined) throw new Error('the connection was closed before the answer');
    return found;
  }
}

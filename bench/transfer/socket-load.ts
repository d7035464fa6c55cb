import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { decodeServerMessage } from '../../src/protocol/v2/server-message.ts';
import { type Load, Transfers } from './load.ts';

/**
 * Calls the reducer `transfer` over WebSockets (protocol v3) and has every reply confirmed: it
 * comes when the commit is durable. Frames are made by hand, so that the load takes little of what
 * the two share: what answers came in one piece is followed by as many calls in one frame.
 */
export async function socketLoad(url: string, database: string, load: Load): Promise<void> {
  const transfers = new Transfers(load.workload);
  const address = new URL(url);
  const path = `/v1/database/${database}/subscribe?compression=None&confirmed=true`;
  const callers = await Promise.all(
    Array.from({ length: load.sockets }, async () => {
      const socket = await upgraded(address, path);
      return new Caller(socket, load, transfers);
    }),
  );
  await Promise.all(callers.map((caller) => caller.run()));
}

/** One call as it stands in a frame; only the number of the call and its arguments vary. */
const template = encodeClientMessage({
  kind: 'callReducer',
  requestId: 0,
  reducer: 'transfer',
  args: new Uint8Array(16),
});
const argumentsAt = template.length - 16;
/** A frame's head with a length of 16 bits and a mask of zeros, which leaves the bytes as they are. */
const headBytes = 8;
/** tag u8 · request u32 · timestamp i64 · outcome u8 · returned (empty) u32 · query sets (none) u32 */
const replyBytes = 22;
const resultTag = 6;
const binaryFrame = 0x82;
const pingFrame = 0x89;
const emptyPong = Uint8Array.of(0x8a, 0x80, 0, 0, 0, 0);

class Caller {
  readonly #socket: Socket;
  readonly #load: Load;
  readonly #transfers: Transfers;
  readonly #sentAt: Float64Array;
  #rest = new Uint8Array(0);
  #frame: Uint8Array;
  #view: DataView;
  #length = 0;
  #inFlight = 0;
  #isGreeted = false;
  #done: () => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;

  constructor(socket: Socket, load: Load, transfers: Transfers) {
    this.#socket = socket;
    this.#load = load;
    this.#transfers = transfers;
    this.#sentAt = new Float64Array(load.inFlight);
    this.#frame = new Uint8Array(0);
    this.#view = new DataView(this.#frame.buffer);
  }

  run(): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      this.#done = resolve;
      this.#failed = reject;
    });
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        this.#read(chunk);
      } catch (error) {
        this.#failed(error as Error);
        this.#socket.destroy();
      }
    });
    this.#socket.resume();
    this.#socket.on('error', this.#failed);
    this.#socket.on('close', () => this.#failed(new Error('the service closed a socket')));
    return ended;
  }

  #read(chunk: Uint8Array): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const now = performance.now();
    let at = 0;
    this.#begin();
    while (at < bytes.length) {
      const end = frameEnd(bytes, at);
      if (end > bytes.length) break;
      // Behind the head stands the tag of the compression, which is none.
      if (bytes[at] === binaryFrame) this.#body(bytes, bodyStart(bytes, at) + 1, end, now);
      else if (bytes[at] === pingFrame) this.#socket.write(emptyPong);
      else throw new Error(`a frame of kind ${bytes[at]}`);
      at = end;
    }
    this.#rest = bytes.slice(at);
    this.#send();
  }

  #body(bytes: Uint8Array, start: number, end: number, now: number): void {
    if (!this.#isGreeted) {
      const { kind } = decodeServerMessage(bytes.subarray(start, end));
      if (kind !== 'initialConnection') throw new Error(`greeted by ${kind}`);
      this.#isGreeted = true;
      for (let slot = 0; slot < this.#load.inFlight; slot += 1) this.#call(slot, now);
      return;
    }
    if ((end - start) % replyBytes !== 0) throw refusal(bytes.subarray(start, end));
    for (let at = start; at < end; at += replyBytes) {
      const isCommitted = bytes[at] === resultTag && bytes[at + 13] === 0;
      if (!isCommitted) throw refusal(bytes.subarray(at, end));
      const slot = (bytes[at + 1] ?? 0) | ((bytes[at + 2] ?? 0) << 8);
      this.#inFlight -= 1;
      if (this.#load.meter.replied(this.#sentAt[slot] ?? 0, now)) this.#call(slot, now);
    }
    if (this.#inFlight === 0) this.#finish();
  }

  #begin(): void {
    this.#frame = Buffer.allocUnsafe(headBytes + this.#load.inFlight * template.length);
    this.#view = new DataView(this.#frame.buffer, this.#frame.byteOffset, this.#frame.length);
    this.#length = headBytes;
  }

  #call(slot: number, now: number): void {
    const at = this.#length;
    this.#transfers.next();
    this.#frame.set(template, at);
    this.#view.setUint32(at + 1, slot, true);
    this.#view.setUint32(at + argumentsAt, this.#transfers.from, true);
    this.#view.setUint32(at + argumentsAt + 4, this.#transfers.to, true);
    this.#view.setUint32(at + argumentsAt + 8, 1, true);
    this.#view.setUint32(at + argumentsAt + 12, 0, true);
    this.#length = at + template.length;
    this.#sentAt[slot] = now;
    this.#inFlight += 1;
  }

  #send(): void {
    if (this.#length === headBytes) return;
    this.#view.setUint16(0, 0x82fe);
    this.#view.setUint16(2, this.#length - headBytes);
    this.#view.setUint32(4, 0);
    this.#socket.write(this.#frame.subarray(0, this.#length));
  }

  #finish(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
    this.#done();
  }
}

function refusal(message: Uint8Array): Error {
  const told = decodeServerMessage(message);
  return new Error(
    `a transfer was not committed: ${JSON.stringify(told, (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    )}`,
  );
}

function bodyStart(bytes: Uint8Array, at: number): number {
  const short = (bytes[at + 1] ?? 0) & 0x7f;
  return at + (short < 126 ? 2 : short === 126 ? 4 : 10);
}

/** Where the frame at `at` ends; beyond the bytes while it is not all there. */
function frameEnd(bytes: Uint8Array, at: number): number {
  const start = bodyStart(bytes, at);
  if (bytes.length - at < 2 || start > bytes.length) return Number.POSITIVE_INFINITY;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, start - at);
  const width = start - at;
  if (width === 2) return start + (view.getUint8(1) & 0x7f);
  return start + (width === 4 ? view.getUint16(2) : Number(view.getBigUint64(2)));
}

/** Opens a socket whose next bytes are frames. */
function upgraded(address: URL, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(address.port), address.hostname);
    socket.setNoDelay(true);
    let head = '';
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      socket.off('data', read);
      socket.pause();
      if (!head.startsWith('HTTP/1.1 101 ')) reject(new Error(head.slice(0, end)));
      socket.unshift(Buffer.from(head.slice(end + 4), 'latin1'));
      resolve(socket);
    };
    socket.on('data', read);
    socket.on('error', reject);
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${address.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n` +
        'Sec-WebSocket-Protocol: v3.bsatn.spacetimedb\r\n\r\n',
    );
  });
}

import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** What comes on a socket. */
export interface RawEvents {
  /**
   * The payload of a whole frame; it is valid until the call returns. Frames of data only, each a
   * whole message: the service makes no others.
   */
  frame(payload: Buffer): void;
  /** Bytes that just came, before they are taken apart; true: they are dealt with. */
  bytes?(chunk: Buffer): boolean;
}

/**
 * The client's side of a WebSocket, as bare as a load needs it: it takes little time for itself, so
 * that one process can be a thousand clients. Frames go out masked with zeros, and those of one tick
 * in one write.
 */
export class RawSocket {
  readonly #socket: Socket;
  #events: RawEvents | undefined;
  /** The beginning of a frame whose rest is to come: chunks, their length, and what it needs. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #wantedBytes = 0;
  #out: Uint8Array[] = [];
  bytesRead = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Connects to a database, in version 3 of the messages, without compression. */
  static open(port: number, database: string, query = ''): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const key = randomBytes(16).toString('base64');
    socket.write(
      `GET /v1/database/${database}/subscribe?compression=None${query} HTTP/1.1\r\n` +
        `host: 127.0.0.1:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n` +
        'sec-websocket-protocol: v3.bsatn.spacetimedb\r\n\r\n',
    );
    return new Promise((resolve, reject) => {
      let head = Buffer.alloc(0);
      const onHead = (chunk: Buffer): void => {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        socket.off('data', onHead);
        const answer = head.toString('latin1', 0, end);
        if (!answer.startsWith('HTTP/1.1 101')) {
          reject(new Error(answer));
          return;
        }
        const raw = new RawSocket(socket);
        const rest = head.subarray(end + 4);
        socket.pause();
        if (rest.length > 0) socket.unshift(rest);
        resolve(raw);
      };
      socket.on('data', onHead);
      socket.once('error', reject);
    });
  }

  /** Begins to read. `lost` is told when the connection ends by itself. */
  listen(events: RawEvents, lost: (reason: string) => void): void {
    this.#events = events;
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('close', () => lost('the service ended a connection'));
    this.#socket.resume();
  }

  send(message: Uint8Array): void {
    this.#out.push(frameOf(0x82, message));
    if (this.#out.length === 1) setImmediate(() => this.#flush());
  }

  end(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #flush(): void {
    const frames = this.#out;
    this.#out = [];
    this.#socket.write(frames.length === 1 ? (frames[0] ?? noBytes) : Buffer.concat(frames));
  }

  #take(chunk: Buffer): void {
    this.bytesRead += chunk.length;
    if (this.#partBytes === 0) {
      if (this.#events?.bytes?.(chunk) !== true) this.#frames(chunk);
      return;
    }
    this.#parts.push(chunk);
    this.#partBytes += chunk.length;
    if (this.#partBytes < this.#wantedBytes) return;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    this.#frames(whole);
  }

  #frames(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const frame = headOf(bytes, at);
      if (frame === undefined || frame.end > bytes.length) {
        this.#parts = [bytes.subarray(at)];
        this.#partBytes = bytes.length - at;
        this.#wantedBytes = frame === undefined ? this.#partBytes + 1 : frame.end - at;
        return;
      }
      if (frame.opcode === 2) this.#events?.frame(bytes.subarray(frame.start, frame.end));
      if (frame.opcode === 9) this.#socket.write(frameOf(0x8a, noBytes));
      at = frame.end;
    }
  }
}

const noBytes = Buffer.alloc(0);

/** Where the payload of the frame at `at` begins and ends; `undefined`: its head is not all there. */
export function headOf(
  bytes: Buffer,
  at: number,
): { readonly opcode: number; readonly start: number; readonly end: number } | undefined {
  if (bytes.length < at + 2) return undefined;
  const opcode = bytes.readUInt8(at) & 15;
  const short = bytes.readUInt8(at + 1) & 127;
  const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
  if (bytes.length < start) return undefined;
  const length =
    short < 126
      ? short
      : short === 126
        ? bytes.readUInt16BE(at + 2)
        : Number(bytes.readBigUInt64BE(at + 2));
  return { opcode, start, end: start + length };
}

/** A frame of a client; its mask is zero, so the payload is as it is. */
function frameOf(first: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.alloc(2 + lengthBytes + 4 + length);
  frame[0] = first;
  frame[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(payload, 2 + lengthBytes + 4);
  return frame;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../limits.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type { AppendItem } from '../shared-log/shared-log.ts';
import { encodeStreamFrame, StreamFrames } from './stream-frames.ts';

interface Stream {
  readonly response: ServerResponse;
  readonly logs: Set<LogName>;
  /** Logs of which an entry was left out: they begin again when the stream has room. */
  readonly left: Set<LogName>;
  /** What goes with the next write: each is a record of TLS, and a system call. */
  frames: Buffer[];
  pendingBytes: number;
  sentAt: number;
}

/**
 * Sends other hosts the entries of logs that they want, once they are stored. One that takes them
 * too slowly misses some, and reads these from the engine: nothing waits for it here.
 */
export class StreamSender {
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;
  /** Entries that were sent, and that were left out because a host took them too slowly. */
  readonly counts = { sent: 0, left: 0 };

  /** Another host wants entries: it says of which logs while the request goes on. */
  open(request: IncomingMessage, response: ServerResponse): void {
    const now = performance.now();
    const own = { frames: [], pendingBytes: 0, sentAt: now };
    const stream: Stream = { response, logs: new Set(), left: new Set(), ...own };
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#show(), limits.streamAliveMillis).unref();
    const end = (): void => {
      this.#streams.delete(stream);
      response.destroy();
      if (this.#streams.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
    response.once('close', end);
    request.on('error', end);
    response.on('error', end);
    response.on('drain', () => this.#goOn(stream));
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    send(stream, encodeStreamFrame({ kind: 'alive' }));
    const frames = new StreamFrames();
    request.on('data', (piece: Buffer) => {
      try {
        for (const frame of frames.take(piece)) {
          if (frame.kind === 'want') this.#begin(stream, frame.log);
          else if (frame.kind === 'leave') leave(stream, frame.log);
        }
      } catch {
        end();
      }
    });
  }

  /** This host leads the log, and the entry was stored. */
  stored({ log, seq, bytes, after }: AppendItem): void {
    let frame: Buffer | undefined;
    for (const stream of this.#streams) {
      if (!stream.logs.has(log)) continue;
      if (stream.left.has(log)) {
        this.counts.left += 1;
        continue;
      }
      frame ??= encodeStreamFrame({
        ...{ kind: 'entry', log },
        entry: { seq, bytes, after: after ?? new Uint8Array(0) },
      });
      const pending = stream.response.writableLength + stream.pendingBytes + frame.length;
      if (pending > limits.streamPendingBytesMax) {
        stream.left.add(log);
        this.counts.left += 1;
      } else {
        send(stream, frame);
        this.counts.sent += 1;
      }
    }
  }

  close(): void {
    for (const { response } of this.#streams) response.destroy();
  }

  #begin(stream: Stream, log: LogName): void {
    if (stream.logs.size >= limits.streamLogsMax && !stream.logs.has(log)) return;
    stream.logs.add(log);
    stream.left.delete(log);
    send(stream, encodeStreamFrame({ kind: 'begun', log }));
  }

  #goOn(stream: Stream): void {
    for (const log of stream.left) this.#begin(stream, log);
  }

  #show(): void {
    const now = performance.now();
    for (const stream of this.#streams) {
      const isQuiet = now - stream.sentAt >= limits.streamAliveMillis / 2;
      if (isQuiet && !stream.response.writableNeedDrain) {
        send(stream, encodeStreamFrame({ kind: 'alive' }));
      }
    }
  }
}

function leave({ logs, left }: Stream, log: LogName): void {
  logs.delete(log);
  left.delete(log);
}

function send(stream: Stream, frame: Buffer): void {
  stream.frames.push(frame);
  stream.pendingBytes += frame.length;
  if (stream.frames.length > 1) return;
  setTimeout(() => {
    const { frames, response } = stream;
    stream.frames = [];
    stream.pendingBytes = 0;
    stream.sentAt = performance.now();
    if (!response.destroyed)
      response.write(frames.length === 1 ? frames[0] : Buffer.concat(frames));
  }, limits.streamGatherMillis).unref();
}

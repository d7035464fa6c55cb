import { compressionOf } from '../protocol/compression.ts';
import type { ServerMessage } from '../protocol/v2/server-message.ts';
import { serverMessagesIn } from '../protocol/v3.ts';
import { asError } from './errors.ts';
import type { Platform } from './platform.ts';

/**
 * Turns the server's frames into messages, strictly in order of arrival: a frame waits while an
 * earlier one is being decompressed.
 */
export class FrameReader {
  readonly #platform: Platform;
  readonly #deliver: (message: ServerMessage) => void;
  readonly #fail: (error: Error) => void;
  readonly #waiting: Uint8Array[] = [];
  #isBusy = false;
  #isClosed = false;

  /** Nothing is delivered after a call of `fail`. */
  constructor(
    platform: Platform,
    deliver: (message: ServerMessage) => void,
    fail: (error: Error) => void,
  ) {
    this.#platform = platform;
    this.#deliver = deliver;
    this.#fail = fail;
  }

  push(frame: Uint8Array): void {
    this.#waiting.push(frame);
    if (!this.#isBusy) this.#work();
  }

  /** Nothing is delivered after this. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  #work(): void {
    this.#isBusy = true;
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
      const body = frame.subarray(1);
      const compression = compressionOf(frame[0] ?? -1);
      if (compression === undefined) {
        this.#give(new Error('unknown compression of a frame'));
        return;
      }
      if (compression !== 'none') {
        this.#platform.decompress(compression, body).then(
          (bytes) => {
            this.#read(bytes);
            this.#work();
          },
          (error: unknown) => this.#give(error),
        );
        return;
      }
      this.#read(body);
    }
    this.#isBusy = false;
  }

  #read(body: Uint8Array): void {
    if (this.#isClosed) return;
    try {
      for (const message of serverMessagesIn(body)) {
        if (this.#isClosed) return;
        this.#deliver(message);
      }
    } catch (error) {
      this.#give(error);
    }
  }

  #give(error: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#fail(asError(error));
  }
}

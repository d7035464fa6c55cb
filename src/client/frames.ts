import { compressionOf } from '../protocol/compression.ts';
import type { Resumed } from '../protocol/v2/resume.ts';
import type { ServerMessage } from '../protocol/v2/server-message.ts';
import { serverMessagesIn } from '../protocol/v3.ts';
import { resumableProtocol } from '../protocol/versions.ts';
import { asError } from './errors.ts';
import type { Platform } from './platform.ts';
import type { Resuming } from './resuming.ts';

/** The link that the frames come from. */
interface Source {
  readonly protocol: string | undefined;
  readonly resuming: Pick<Resuming, 'arms' | 'reached'> | undefined;
}

/**
 * Turns the server's frames into messages, strictly in order of arrival: a frame waits while an
 * earlier one is being decompressed.
 */
export class FrameReader {
  readonly #platform: Platform;
  readonly #deliver: (message: ServerMessage | Resumed) => void;
  readonly #fail: (error: Error) => void;
  readonly #source: Source;
  readonly #waiting: Uint8Array[] = [];
  #isBusy = false;
  #isClosed = false;

  /** Nothing is delivered after a call of `fail`. */
  constructor(
    source: Source,
    platform: Platform,
    deliver: (message: ServerMessage | Resumed) => void,
    fail: (error: Error) => void,
  ) {
    this.#source = source;
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
      const tagAt = this.#source.protocol === resumableProtocol ? 8 : 0;
      const body = frame.subarray(tagAt + 1);
      const compression = compressionOf(frame[tagAt] ?? -1);
      if (compression === undefined) {
        this.#give(new Error('unknown compression of a frame'));
        return;
      }
      if (compression !== 'none') {
        this.#platform.decompress(compression, body).then(
          (bytes) => {
            this.#read(bytes, frame);
            this.#work();
          },
          (error: unknown) => this.#give(error),
        );
        return;
      }
      this.#read(body, frame);
    }
    this.#isBusy = false;
  }

  #read(body: Uint8Array, frame: Uint8Array): void {
    if (this.#isClosed) return;
    const { resuming } = this.#source;
    try {
      resuming?.reached(undefined);
      for (const message of serverMessagesIn(body, resuming?.arms)) {
        if (this.#isClosed) return;
        this.#deliver(message);
      }
      resuming?.reached(frame);
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

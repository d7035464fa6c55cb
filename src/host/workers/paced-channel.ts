import type { Duplex } from 'node:stream';
import { limits } from '../../limits.ts';

const framesBetweenLooks = 8;

export interface PacedReading {
  /** Reads a chunk until `isEnough` says so, and returns the rest; throws on what is no message. */
  read(chunk: Buffer, isEnough: () => boolean): Buffer;
  /** The process has sent what it must not. */
  broken(error: unknown): void;
}

/**
 * Reads a channel of a database's process a slice at a time, so that others have their turn however
 * much it sends: for longer if it sends all this unasked.
 */
export class PacedChannel {
  readonly #channel: Duplex | undefined;
  readonly #reading: PacedReading;
  /** When the current chunk arrived, and the time spent since the last pause. */
  #chunkAt = 0;
  #spentMillis = 0;
  #framesRead = 0;
  /** True when something was sent to it since then. */
  #wasAsked = true;
  #holds = 0;
  #isWriting = false;

  constructor(channel: Duplex | undefined, reading: PacedReading) {
    this.#channel = channel;
    this.#reading = reading;
    channel?.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  /** Writes a frame; returns true when so much waits to be written that no more should be asked. */
  write(frame: readonly Uint8Array[]): boolean {
    const channel = this.#channel;
    if (channel === undefined) return false;
    this.#wasAsked = true;
    channel.cork();
    for (const piece of frame) channel.write(piece);
    channel.uncork();
    return channel.writableLength > limits.workerWaitingBytesMax;
  }

  /** Reads nothing until all that waits is written. */
  holdUntilWritten(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#hold();
    this.#channel?.once('drain', () => {
      this.#isWriting = false;
      this.#release();
    });
  }

  destroy(): void {
    this.#channel?.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#chunkAt = performance.now();
    try {
      const rest = this.#reading.read(chunk, this.#isEnough);
      this.#spentMillis += performance.now() - this.#chunkAt;
      if (this.#spentMillis >= limits.workerSliceMillisMax) this.#pause(rest);
    } catch (error) {
      this.destroy();
      this.#reading.broken(error);
    }
  }

  /** Reads the clock only once every few frames. */
  readonly #isEnough = (): boolean => {
    this.#framesRead += 1;
    if (this.#framesRead % framesBetweenLooks !== 0) return false;
    const millis = this.#spentMillis + performance.now() - this.#chunkAt;
    return millis >= limits.workerSliceMillisMax;
  };

  #pause(rest: Buffer): void {
    this.#hold();
    if (rest.length > 0) this.#channel?.unshift(rest);
    const goOn = () => {
      this.#spentMillis = 0;
      this.#release();
    };
    if (this.#wasAsked) setImmediate(goOn);
    else setTimeout(goOn, limits.workerUnaskedRest * limits.workerSliceMillisMax);
    this.#wasAsked = false;
  }

  #hold(): void {
    this.#holds += 1;
    this.#channel?.pause();
  }

  #release(): void {
    this.#holds -= 1;
    if (this.#holds === 0) this.#channel?.resume();
  }
}

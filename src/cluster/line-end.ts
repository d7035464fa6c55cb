import { limits } from '../limits.ts';
import { encodeLineFrame, type FaultyFrame, type LineFrame, LineFrames } from './line-frames.ts';

/** Bytes both ways, for as long as the way is there. */
export interface LineWay {
  write(bytes: Buffer): void;
  close(): void;
}

type Sent = Exclude<LineFrame, { kind: 'heard' }>;

/**
 * One end of a line. What was sent is kept until the other end has heard it, so that nothing is
 * missing, and nothing comes twice, when another way takes the place of one that broke.
 */
export class LineEnd {
  readonly #onFrame: (frame: Sent | FaultyFrame) => void;
  /** Called when the other end has heard more. */
  readonly #onHeard: () => void;
  #unheard: { bytes: Buffer; channel: number | undefined }[] = [];
  #unheardBytes = 0;
  /** By clients: what came of their requests. */
  readonly #unheardOf = new Map<number, number>();
  /** Number of the last frame that the other end has heard, counted from 1. */
  #heard = 0;
  /** Number of the last one that some way was given: the other end may have it. */
  #written = 0;
  #way: LineWay | undefined;
  #frames = new LineFrames();
  #taken = 0;
  /** What the other end knows to have come. */
  #told = 0;
  #isFlushing = false;
  #saidAt = 0;
  #heardAt = 0;
  #telling: NodeJS.Timeout | undefined;

  constructor(onFrame: (frame: Sent | FaultyFrame) => void, onHeard: () => void) {
    this.#onFrame = onFrame;
    this.#onHeard = onHeard;
  }

  get isOpen(): boolean {
    return this.#way !== undefined;
  }

  get unheardBytes(): number {
    return this.#unheardBytes;
  }

  /** Frames that have come here. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * Sends a frame, now or over the next way, and returns its number. Throws `LongFrameError`, and
   * then nothing was sent.
   */
  send(frame: Sent): number {
    const bytes = encodeLineFrame(frame);
    const channel = frame.kind === 'answer' ? frame.channel : undefined;
    this.#unheard.push({ bytes, channel });
    this.#count(channel, bytes.length);
    this.#flushSoon();
    return this.#heard + this.#unheard.length;
  }

  /** The client with the most bytes of answers that the other end has not heard. */
  get heaviest(): number | undefined {
    let [heaviest, most]: [number | undefined, number] = [undefined, 0];
    for (const [channel, bytes] of this.#unheardOf) {
      if (bytes > most) [heaviest, most] = [channel, bytes];
    }
    return heaviest;
  }

  /**
   * The answers to a client are not needed any more. A way that holds some is given up with them:
   * the next one goes on.
   */
  forget(channel: number): void {
    const none = encodeLineFrame({ kind: 'none' });
    for (const frame of this.#unheard) {
      if (frame.channel !== channel) continue;
      this.#count(channel, -frame.bytes.length);
      this.#count(undefined, none.length);
      frame.bytes = none;
      frame.channel = undefined;
    }
    this.#unheardOf.delete(channel);
    this.end();
  }

  /** False: nothing of that frame has left this host. */
  mayBeThere(number: number): boolean {
    return number <= this.#written;
  }

  /** Goes on over a new way, from the frame that the other end has not heard. */
  begin(way: LineWay, heard: number): void {
    this.end();
    this.#way = way;
    this.#heardAt = performance.now();
    this.#frames = new LineFrames();
    this.#hear(heard);
    this.#written = this.#heard;
    this.#flushSoon();
  }

  /** The way is gone. */
  end(): void {
    this.#way?.close();
    this.#way = undefined;
    clearTimeout(this.#telling);
    this.#telling = undefined;
  }

  /** Shows that it is there, and ends a way over which nothing comes any more. */
  look(now = performance.now()): void {
    if (this.#way === undefined) return;
    if (now - this.#heardAt > limits.lineSilentMillis) this.end();
    else if (now - this.#saidAt >= limits.lineAliveMillis) this.#tell();
  }

  /** Throws on what is no frame. */
  receive(piece: Buffer): void {
    this.#heardAt = performance.now();
    for (const frame of this.#frames.take(piece)) {
      if (frame?.kind === 'heard') this.#hear(frame.count);
      else {
        this.#taken += 1;
        if (frame !== undefined) this.#onFrame(frame);
      }
    }
    if (this.#taken - this.#told >= limits.lineHeardFrames) this.#tell();
    else if (this.#taken > this.#told) {
      this.#telling ??= setTimeout(() => this.#tell(), limits.lineHeardMillis).unref();
    }
  }

  #hear(count: number): void {
    const more = Math.min(count - this.#heard, this.#unheard.length);
    if (more <= 0) return;
    for (const { bytes, channel } of this.#unheard.splice(0, more)) {
      this.#count(channel, -bytes.length);
    }
    this.#heard += more;
    this.#written = Math.max(this.#written, this.#heard);
    this.#onHeard();
  }

  #count(channel: number | undefined, bytes: number): void {
    this.#unheardBytes += bytes;
    if (channel === undefined) return;
    const now = (this.#unheardOf.get(channel) ?? 0) + bytes;
    if (now > 0) this.#unheardOf.set(channel, now);
    else this.#unheardOf.delete(channel);
  }

  #tell(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#told = this.#taken;
    this.#saidAt = performance.now();
    this.#way?.write(encodeLineFrame({ kind: 'heard', count: this.#taken }));
  }

  /** What is sent at one moment goes together: each write is a record of TLS, and a system call. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#way === undefined) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      const from = this.#written - this.#heard;
      if (this.#way === undefined || from >= this.#unheard.length) return;
      const frames = this.#unheard.slice(from).map(({ bytes }) => bytes);
      this.#written = this.#heard + this.#unheard.length;
      this.#way.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
    });
  }
}

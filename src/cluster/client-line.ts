import type { ArrivingClient, DeskPlace, DeskSink } from '../host/replication/leader-desk.ts';
import type { AttachedEnd, AttachedRequest } from '../host/replication/leader-line.ts';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import type { AttachedLeader } from './attached.ts';
import { random128 } from './host-file.ts';
import { LineEnd } from './line-end.ts';
import {
  type FaultyFrame,
  faultyFrameEnd,
  type LineFrame,
  LongFrameError,
  longFrameEnd,
} from './line-frames.ts';
import { type LineAnswer, lineAnswerOf } from './line-name.ts';
import { type LinkClient, type OpenedLine, UnknownPathError } from './link-client.ts';

export interface ClientLineOptions {
  readonly client: Pick<LinkClient, 'line'>;
  readonly me: BootId;
  readonly leader: { readonly boot: BootId; readonly address: string };
  /** True if the process of the leader is known to have ended. */
  readonly hasEnded: () => boolean;
  readonly registryOffset: () => number;
  /**
   * Called once: nobody uses it, or that process does not know it any more, or takes no lines
   * because it is of an earlier version.
   */
  readonly onEnd: (takesNone: boolean) => void;
}

interface Channel {
  readonly sink: DeskSink;
  /** By their numbers; `frame`: the number of the frame that they went with. */
  readonly requests: Map<number, { readonly request: AttachedRequest; readonly frame: number }>;
  last: number;
  left: (() => void) | undefined;
}

/**
 * This host's end of the line to a process that leads databases of its clients: the desk of that
 * process, as if it were here. A way that breaks is opened again until the process is known to have
 * ended; then all that it may have had is lost.
 */
export class ClientLine implements AttachedLeader {
  readonly #options: ClientLineOptions;
  readonly #name: bigint;
  readonly #channels = new Map<number, Channel>();
  readonly #end: LineEnd;
  #lastChannel = 0;
  /** True once the other end knows the line. */
  #isKnown = false;
  #isOpening = false;
  #isOver = false;
  #takesNone = false;
  #wasFull = false;
  #usedAt = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ClientLineOptions) {
    this.#options = options;
    this.#name = random128();
    this.#end = new LineEnd(
      (frame) => this.#take(frame),
      () => this.#hasRoom(),
    );
    this.#timer = setInterval(() => this.#look(), limits.lineAgainMillis).unref();
    void this.#open();
  }

  /** True while the two hosts are in touch. */
  get isOpen(): boolean {
    return this.#end.isOpen;
  }

  get hasEnded(): boolean {
    return this.#isOver || this.#options.hasEnded();
  }

  admit(client: ArrivingClient, sink: DeskSink): DeskPlace {
    const channel: Channel = { sink, requests: new Map(), last: 0, left: undefined };
    this.#lastChannel += 1;
    const number = this.#lastChannel;
    this.#channels.set(number, channel);
    this.#usedAt = performance.now();
    const registryOffset = this.#options.registryOffset();
    this.#end.send({ kind: 'attach', channel: number, client, registryOffset });
    const line = this;
    return {
      send: (request) => this.#request(number, channel, request),
      close: () => this.#leave(number, channel),
      get isFull() {
        return line.#isFull;
      },
      get isReached() {
        return line.#end.isOpen;
      },
    };
  }

  /** Ends it; what the other end may have had is lost. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#end.end();
    this.#options.onEnd(this.#takesNone);
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    for (const { sink, requests, left } of channels) {
      left?.();
      const undone = [...requests.values()].filter(({ frame }) => !this.#end.mayBeThere(frame));
      sink.lost(undone.map(({ request }) => request));
    }
  }

  get #isFull(): boolean {
    const isFull = this.#end.unheardBytes > limits.lineUnheardBytesMax;
    if (isFull) this.#wasFull = true;
    return isFull;
  }

  #hasRoom(): void {
    if (!this.#wasFull || this.#end.unheardBytes > limits.lineUnheardBytesMax / 2) return;
    this.#wasFull = false;
    this.#tellChanged();
  }

  #tellChanged(): void {
    for (const { sink } of [...this.#channels.values()]) sink.changed();
  }

  #request(number: number, channel: Channel, request: AttachedRequest): void {
    if (this.#channels.get(number) !== channel) return;
    channel.last += 1;
    try {
      const frame = this.#end.send({
        ...{ kind: 'request', channel: number, number: channel.last },
        request: plainRequest(request),
      });
      channel.requests.set(channel.last, { request, frame });
    } catch (error) {
      if (!(error instanceof LongFrameError)) throw error;
      this.#endOne(number, channel, longFrameEnd);
    }
  }

  /** Ends one client, at both ends of the line. */
  #endOne(number: number, channel: Channel, end: AttachedEnd): void {
    void this.#leave(number, channel);
    channel.sink.ended(end);
  }

  #leave(number: number, channel: Channel): Promise<void> {
    if (this.#channels.get(number) !== channel) return Promise.resolve();
    this.#channels.delete(number);
    this.#end.send({ kind: 'leave', channel: number });
    return Promise.resolve();
  }

  #take(frame: LineFrame | FaultyFrame): void {
    if (!('channel' in frame)) return;
    const { channel: number } = frame;
    const channel = this.#channels.get(number);
    if (channel === undefined) return;
    const { sink, requests } = channel;
    if (frame.kind === 'faulty') this.#endOne(number, channel, faultyFrameEnd);
    else if (frame.kind === 'connected') sink.connected(frame.offset);
    else if (frame.kind === 'answer') {
      const asked = requests.get(frame.number);
      requests.delete(frame.number);
      if (asked !== undefined) sink.answered(asked.request, frame.answer);
    } else if (frame.kind === 'ended') {
      this.#channels.delete(number);
      sink.ended(frame.end);
    } else if (frame.kind === 'lost') {
      this.#channels.delete(number);
      const undone = frame.undone.flatMap((one) => requests.get(one)?.request ?? []);
      sink.lost(undone);
    }
  }

  #look(): void {
    const now = performance.now();
    if (this.#channels.size > 0) this.#usedAt = now;
    const wasOpen = this.#end.isOpen;
    this.#end.look();
    if (wasOpen && !this.#end.isOpen) this.#tellChanged();
    const isIdle = now - this.#usedAt > limits.lineIdleMillis && this.#end.unheardBytes === 0;
    if (isIdle || this.hasEnded) this.close();
    else if (!this.#end.isOpen) void this.#open();
  }

  async #open(): Promise<void> {
    if (this.#isOpening || this.#isOver) return;
    this.#isOpening = true;
    const { client, leader, me } = this.#options;
    const asked = { name: this.#name, me, isKnown: this.#isKnown, taken: this.#end.taken };
    const opened = await client
      .line(leader.address, leader.boot, asked)
      .catch((error: unknown) => error);
    this.#isOpening = false;
    if (opened instanceof UnknownPathError) {
      this.#takesNone = true;
      return this.close();
    }
    if (opened instanceof Error || !isOpened(opened)) return;
    if (this.#isOver) return opened.stream.close();
    const answer: LineAnswer | undefined = lineAnswerOf(opened.header);
    if (answer === undefined || answer.kind === 'lost') {
      opened.stream.close();
      return this.close();
    }
    const { stream } = opened;
    const isCurrent = (): boolean => this.#end.isOpen && way.isOpen;
    const way = {
      isOpen: true,
      write: (bytes: Buffer) => stream.write(bytes),
      close: () => {
        way.isOpen = false;
        stream.close();
      },
    };
    stream.onPiece = (piece) => {
      if (!isCurrent()) return;
      try {
        this.#end.receive(piece);
      } catch {
        this.close();
      }
    };
    stream.onEnd = () => {
      if (!way.isOpen) return;
      this.#end.end();
      this.#tellChanged();
    };
    this.#isKnown = true;
    this.#end.begin(way, answer.taken);
    this.#tellChanged();
  }
}

function isOpened(opened: unknown): opened is OpenedLine {
  return typeof opened === 'object' && opened !== null && 'stream' in opened;
}

/** What of a request is for the leader. */
function plainRequest(request: AttachedRequest): AttachedRequest {
  const { kind, requestId, args, schemaVersion } = request;
  const rest = { requestId, args, schemaVersion };
  if (kind === 'call') return { kind, reducer: request.reducer, ...rest };
  return { kind, procedure: request.procedure, ...rest };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeskPlace, DeskSink, LeaderDesk } from '../host/replication/leader-desk.ts';
import type { AttachedEnd, AttachedRequest } from '../host/replication/leader-line.ts';
import { limits } from '../limits.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { LineEnd } from './line-end.ts';
import {
  type FaultyFrame,
  faultyFrameEnd,
  type LineFrame,
  LongFrameError,
  longFrameEnd,
} from './line-frames.ts';
import { encodeLineAnswer, type LineAsk, lineAskOf, lineHeader } from './line-name.ts';

export interface DeskLinesOptions {
  /** Where clients of databases that this host leads are taken; `undefined`: it does not serve. */
  readonly desk: () => LeaderDesk | undefined;
  /** True if nothing will come of a process any more. */
  readonly isGone: (boot: BootId) => boolean;
  /** Resolves when this host knows the registry so far; `undefined`: it does. */
  readonly untilKnown: (registryOffset: number) => Promise<unknown> | undefined;
}

/**
 * The lines of other hosts, whose clients are connected with them, while this host leads. A way
 * that breaks ends nothing. When a host is gone, its clients are disconnected, a batch at a time.
 */
export class DeskLines {
  readonly #options: DeskLinesOptions;
  readonly #lines = new Map<bigint, DeskLine>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: DeskLinesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), limits.linkPingMillis).unref();
  }

  /** Clients of other hosts that are attached. */
  get clientCount(): number {
    return [...this.#lines.values()].reduce((sum, line) => sum + line.clientCount, 0);
  }

  /** Another host opens a line, or goes on with one. */
  open(request: IncomingMessage, response: ServerResponse): void {
    const ask = lineAskOf(request.headers[lineHeader]);
    const desk = this.#options.desk();
    if (ask === undefined || desk === undefined) {
      response.writeHead(503).end();
      return;
    }
    const known = this.#lines.get(ask.name);
    // What came over one that is over was counted, and does not come again.
    if (known === undefined ? ask.isKnown : known.isOver) {
      response.writeHead(200, { [lineHeader]: encodeLineAnswer({ kind: 'lost' }) }).end();
      return;
    }
    // A process that begins another one does not go on with the one before.
    if (known === undefined) this.#end(ask.me);
    const { untilKnown } = this.#options;
    const line = known ?? new DeskLine({ boot: ask.me, desk, untilKnown });
    this.#lines.set(ask.name, line);
    line.open(request, response, ask);
  }

  /** Nobody is served any more; the databases have been closed before. */
  close(): void {
    clearInterval(this.#timer);
    for (const line of this.#lines.values()) line.end();
    this.#lines.clear();
  }

  #end(boot: BootId): void {
    for (const line of this.#lines.values()) if (line.boot === boot) void line.disconnect();
  }

  #look(): void {
    for (const [name, line] of this.#lines) {
      line.look();
      const isUnused = line.clientCount === 0 && !line.isOpen;
      if (isUnused || (!line.isOpen && this.#options.isGone(line.boot))) {
        this.#lines.delete(name);
        void line.disconnect();
      }
    }
  }
}

interface Channel {
  /** Absent: what its host knows of the registry is waited for. */
  place: DeskPlace | undefined;
  readonly early: LineFrame[];
  unanswered: number;
  hasLeft: boolean;
}

/** The line of one other host. */
class DeskLine {
  readonly boot: BootId;
  readonly #desk: LeaderDesk;
  readonly #untilKnown: DeskLinesOptions['untilKnown'];
  readonly #channels = new Map<number, Channel>();
  readonly #end: LineEnd;
  #isOver = false;

  constructor({
    boot,
    desk,
    untilKnown,
  }: {
    readonly boot: BootId;
    readonly desk: LeaderDesk;
    readonly untilKnown: DeskLinesOptions['untilKnown'];
  }) {
    this.boot = boot;
    this.#desk = desk;
    this.#untilKnown = untilKnown;
    this.#end = new LineEnd(
      (frame) => this.#take(frame),
      () => undefined,
    );
  }

  get isOpen(): boolean {
    return this.#end.isOpen;
  }

  /** True: no client is served over it any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get clientCount(): number {
    return this.#channels.size;
  }

  /** See `LineEnd`. */
  look(): void {
    this.#end.look();
  }

  open(request: IncomingMessage, response: ServerResponse, { taken }: LineAsk): void {
    let isOpen = true;
    const gone = (): void => {
      if (isOpen) this.#end.end();
    };
    for (const stream of [request, response]) stream.on('error', gone).once('close', gone);
    const heads = { 'content-type': 'application/octet-stream' };
    const answer = encodeLineAnswer({ kind: 'begun', taken: this.#end.taken });
    response.writeHead(200, { ...heads, [lineHeader]: answer });
    response.flushHeaders();
    this.#end.begin(
      {
        write: (bytes) => void response.write(bytes),
        close: () => {
          isOpen = false;
          response.destroy();
        },
      },
      taken,
    );
    request.on('data', (piece: Buffer) => {
      if (!isOpen) return;
      try {
        this.#end.receive(piece);
      } catch {
        this.end();
        void this.disconnect();
      }
    });
  }

  /** The way is not opened again. */
  end(): void {
    this.#isOver = true;
    this.#end.end();
  }

  /** Its host is gone: all its clients have left. */
  async disconnect(): Promise<void> {
    this.end();
    const places = [...this.#channels.values()];
    this.#channels.clear();
    for (let at = 0; at < places.length; at += limits.leftoversPerTurnMax) {
      const some = places.slice(at, at + limits.leftoversPerTurnMax);
      await Promise.race([
        Promise.all(
          some.map((channel) => {
            channel.hasLeft = true;
            return channel.place?.close();
          }),
        ),
        new Promise((resolve) => setTimeout(resolve, limits.leaveBatchMillisMax).unref()),
      ]);
    }
  }

  #take(frame: LineFrame | FaultyFrame): void {
    if (this.#isOver || !('channel' in frame)) return;
    const { channel: number } = frame;
    const channel = this.#channels.get(number);
    if (frame.kind === 'faulty') {
      this.#endOne(number, channel, faultyFrameEnd);
      return;
    }
    if (frame.kind === 'attach') {
      if (channel !== undefined) throw new Error('a client is attached once');
      if (this.#channels.size >= limits.lineClientsMax) throw new Error('too many clients');
      this.#attach(number, frame);
    } else if (channel === undefined) return;
    else if (channel.place === undefined) {
      // A request more than it may have, and that it leaves.
      if (channel.early.length > limits.attachedRequestsMax) {
        this.#endOne(number, channel, tooManyEnd);
      } else channel.early.push(frame);
    } else this.#go(number, channel, frame);
  }

  #attach(number: number, frame: Extract<LineFrame, { kind: 'attach' }>): void {
    const channel: Channel = { place: undefined, early: [], unanswered: 0, hasLeft: false };
    this.#channels.set(number, channel);
    const begin = (): void => {
      if (channel.hasLeft || this.#channels.get(number) !== channel) return;
      channel.place = this.#desk.admit(frame.client, this.#sinkOf(number, channel));
      for (const early of channel.early.splice(0)) this.#go(number, channel, early);
    };
    const news = this.#untilKnown(frame.registryOffset);
    if (news === undefined) begin();
    else void news.then(begin);
  }

  #go(number: number, channel: Channel, frame: LineFrame): void {
    if (frame.kind === 'leave') {
      this.#channels.delete(number);
      void channel.place?.close();
    } else if (frame.kind === 'request') {
      if (channel.unanswered >= limits.attachedRequestsMax) {
        // Hosts of this version never send more. The others on the line have no part in it.
        this.#endOne(number, channel, tooManyEnd);
        return;
      }
      channel.unanswered += 1;
      numbers.set(frame.request, frame.number);
      channel.place?.send(frame.request);
    }
  }

  #sinkOf(channel: number, state: Channel): DeskSink {
    const isThere = (): boolean => this.#channels.get(channel) === state;
    return {
      changed: () => undefined,
      connected: (offset) => {
        if (isThere()) this.#end.send({ kind: 'connected', channel, offset });
      },
      answered: (request, answer) => {
        if (!isThere()) return;
        state.unanswered -= 1;
        try {
          this.#end.send({ kind: 'answer', channel, number: numberOf(request), answer });
        } catch (error) {
          if (!(error instanceof LongFrameError)) throw error;
          this.#endOne(channel, state, longFrameEnd);
        }
        this.#endSlow();
      },
      ended: (end) => {
        if (!this.#channels.delete(channel)) return;
        this.#end.send({ kind: 'ended', channel, end });
      },
      lost: (undone) => {
        if (!this.#channels.delete(channel)) return;
        this.#end.send({ kind: 'lost', channel, undone: undone.map(numberOf) });
      },
    };
  }

  /** If its host takes answers too slowly, those go who have the most of them. */
  #endSlow(): void {
    while (this.#end.unheardBytes > limits.lineAnswersBytesMax) {
      const number = this.#end.heaviest;
      if (number === undefined) return;
      this.#end.forget(number);
      const channel = this.#channels.get(number);
      if (channel !== undefined) this.#endOne(number, channel, slowEnd);
    }
  }

  /** Ends one client, at both ends of the line. */
  #endOne(number: number, channel: Channel | undefined, end: AttachedEnd): void {
    this.#channels.delete(number);
    if (channel !== undefined) {
      channel.hasLeft = true;
      void channel.place?.close();
    }
    this.#end.send({ kind: 'ended', channel: number, end });
  }
}

const slowEnd: AttachedEnd = { kind: 'live', reason: 'slow' };
/** As a leader ends one of its own clients that has sent more than it may. */
const tooManyEnd: AttachedEnd = { kind: 'closed', code: 1013, reason: 'too many requests' };

/** Numbers of requests on their channels. */
const numbers = new WeakMap<AttachedRequest, number>();

function numberOf(request: AttachedRequest): number {
  return numbers.get(request) ?? 0;
}

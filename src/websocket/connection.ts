import { unreachable } from '../assert.ts';
import type { CommitOffset } from '../database/outcome.ts';
import type { Client } from '../doors/clients.ts';
import type { Stay } from '../doors/stay.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveSink,
} from '../host/feeds/live-connection.ts';
import type { Loss } from '../host/registry/grants.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { JsonTooLongError } from '../values/json.ts';
import type { Backlog } from './backlog.ts';
import { Intake } from './intake.ts';
import { LateMessage } from './late-message.ts';
import type { MessageCodec } from './message-codec.ts';
import { goesAway, type PartingCause, restartOf } from './partings.ts';
import type { LateGrown, QueuedMessage, SendQueue } from './send-queue.ts';
import { SendRate } from './send-rate.ts';
import { closeReason, type Socket, type SocketEvents } from './socket.ts';
import type { SocketLimits } from './socket-limits.ts';

/** The door's side of a connection. */
export interface ConnectionOwner {
  /** Called when there are messages to write; `flush` is called before the process waits. */
  hasMessages(connection: Connection): void;
  gone(connection: Connection): void;
  /** Called for an unexpected error; only this connection ends. */
  failed(error: unknown): void;
  /** Called when the queues of all connections together are too large and one has to be dropped. */
  relieve(): void;
  readonly backlog: Backlog;
  /** Counts incoming and outgoing traffic. */
  readonly traffic: Traffic;
}

export interface Traffic {
  messagesIn: number;
  bytesIn: number;
  messagesOut: number;
  framesOut: number;
  bytesOut: number;
  /** Connections dropped because they read too slowly or sent too many requests at once. */
  dropped: number;
}

/** Who is connected, and to what. */
export interface ConnectedClient
  extends Pick<Client, 'id' | 'identity' | 'sinceMillis' | 'address' | 'protocol'> {
  readonly database: DatabaseIdentity;
}

export interface ConnectionParts {
  readonly socket: Socket;
  /** The database's side, which answers the client's requests. */
  readonly live: LiveConnection;
  readonly client: ConnectedClient;
  readonly codec: MessageCodec;
  readonly queue: SendQueue;
  readonly stay: Stay;
  /** Counts requests; returns the seconds for which reading must pause. */
  readonly pace: (requestCount: number) => number;
  readonly limits: SocketLimits;
  readonly owner: ConnectionOwner;
  /** Whether its client, when the database or the service goes away, can find another host. */
  readonly isInCluster: boolean;
}

/**
 * One client:
 *
 * ```
 *  open ──finish──▶ finishing ──all answered and written, or deadline──▶ closing
 *  open, finishing ──closeWith──▶ closing     bad message, flood, database gone: close frame sent
 *  closing ──the client answers, or deadline──▶ gone
 *  any ──drop──▶ gone                         refused, too slow, silent: no close frame
 *  any ──the socket ends──▶ gone
 * ```
 *
 * `finishing` reads no further messages; from `closing` on, none are sent. The database is notified
 * of the end of an open connection at once, by `live.close()`.
 */
export class Connection implements LiveSink, SocketEvents {
  readonly #parts: ConnectionParts;
  readonly #intake: Intake;
  readonly #rate: SendRate;
  #state: State = { kind: 'open' };
  #isPaused = false;
  /** The client has used up its request rate until this time; 0 if it has not. */
  #pausedUntil = 0;
  #heardAt: number;
  #bytesHeard = 0;
  #pingAt: number;
  #isPingUnanswered = false;

  constructor(parts: ConnectionParts, nowMillis: number) {
    this.#parts = parts;
    const { messagesInMax, bytesInMax } = parts.limits;
    this.#intake = new Intake({
      live: parts.live,
      messagesMax: messagesInMax,
      bytesMax: bytesInMax,
      failed: (error) => this.#refuse(error),
    });
    this.#rate = new SendRate(nowMillis);
    this.#heardAt = nowMillis;
    this.#pingAt = nowMillis;
  }

  get queuedMessages(): number {
    return this.#parts.queue.messageCount;
  }

  get queuedBytes(): number {
    return this.#parts.queue.byteCount;
  }

  /** The client; `undefined` once it is going. */
  client(nowMillis: number): (Client & ConnectedClient) | undefined {
    const { client, live } = this.#parts;
    if (this.#state.kind !== 'open') return undefined;
    return {
      ...client,
      queuedBytes: this.queuedBytes,
      sentBytesPerSecond: this.#rate.perSecond(nowMillis),
      queries: live.queryCount,
    };
  }

  /** Closes it for a reason of the owner's. */
  disconnect(reason: string): void {
    this.#closeWith(1008, reason);
  }

  waitingMillis(): number {
    return this.#parts.queue.waitingMillis(performance.now());
  }

  message(bytes: Uint8Array, isBinary: boolean): void {
    if (this.#state.kind !== 'open') return;
    const { traffic } = this.#parts.owner;
    traffic.bytesIn += bytes.length;
    let count = 0;
    if (this.#endsFlood()) return;
    try {
      for (const request of this.#parts.codec.decode(bytes, isBinary)) {
        if (this.#endsFlood()) return;
        count += 1;
        this.#intake.add(request);
      }
    } catch (error) {
      this.#intake.fail(error);
      return;
    }
    traffic.messagesIn += count;
    this.#intake.count(bytes, count);
    const seconds = this.#parts.pace(count);
    if (seconds > 0) this.#pausedUntil = performance.now() + seconds * 1000;
    this.#regulate();
  }

  pong(): void {
    this.#isPingUnanswered = false;
  }

  closed(): void {
    this.#leave();
  }

  deliver(events: readonly LiveEvent[], position?: CommitOffset): void {
    if (this.#state.kind !== 'open' && this.#state.kind !== 'finishing') return;
    try {
      this.#send(events, position);
    } catch (error) {
      this.#refuse(error);
    }
  }

  ended(reason: LiveEnd): void {
    switch (reason) {
      case 'refused':
        this.#drop();
        return;
      case 'slow':
        this.giveUp();
        return;
      case 'database':
        this.#part('database');
        return;
      case 'schema':
        this.#closeWith(1001, 'schema changed');
        return;
      default:
        unreachable(reason);
    }
  }

  /** The host that leads the database has ended it. */
  endedWith(code: number, reason: string): void {
    this.#closeWith(code, reason);
  }

  /** This host does not know any more who has which rights; another one may. */
  leave(): void {
    this.#part('cluster');
  }

  /** Drops and counts a client that reads too slowly. */
  giveUp(): void {
    if (this.#state.kind === 'gone') return;
    this.#parts.owner.traffic.dropped += 1;
    this.#drop();
  }

  /** Closes the connection if its client has lost a role or a token that it needs. */
  examine(loss?: Loss): void {
    const { stay } = this.#parts;
    const fault = loss === undefined || stay.concerns(loss) ? stay.fault : undefined;
    if (fault !== undefined) this.#closeWith(1008, fault);
  }

  /** Writes the messages delivered since the last flush. */
  flush(nowMillis = performance.now()): void {
    if (this.#state.kind !== 'open' && this.#state.kind !== 'finishing') return;
    this.#parts.owner.traffic.framesOut += this.#parts.queue.flush(nowMillis);
    this.#finishIfDone();
  }

  /** Stops the connection with the service: sends pending answers, then closes. */
  finish(deadlineMillis: number): void {
    if (this.#state.kind !== 'open') return;
    this.#state = { kind: 'finishing', deadlineMillis };
    this.#finishIfDone();
  }

  /** Called periodically: sends pings, and drops clients that are silent or late. */
  tick(nowMillis: number): void {
    const state = this.#state;
    this.#rate.tick(nowMillis);
    switch (state.kind) {
      case 'open':
        if (this.#parts.stay.isOver) this.#closeWith(1008, 'token expired');
        else this.#listen(nowMillis);
        return;
      case 'finishing':
        if (nowMillis >= state.deadlineMillis) this.#part('host');
        else this.#finishIfDone();
        return;
      case 'closing':
        if (nowMillis >= state.deadlineMillis) this.#drop();
        return;
      case 'gone':
        return;
      default:
        unreachable(state);
    }
  }

  #send(events: readonly LiveEvent[], position: CommitOffset | undefined): void {
    const { codec, queue, owner } = this.#parts;
    const { messages, offsets, requests } = codec.encode(events, position);
    for (const request of requests) this.#intake.add(request);
    let at = 0;
    for (const message of messages) {
      owner.traffic.messagesOut += message.messageCount;
      const counted = this.#counting(message);
      if (queue.push(message, offsets?.[at++], counted)) continue;
      this.giveUp();
      return;
    }
    if (owner.backlog.isOver) owner.relieve();
    this.#intake.settle();
    this.#regulate();
    owner.hasMessages(this);
  }

  /** Counts the bytes of a message; those of one that is being written when it is whole. */
  #counting(message: QueuedMessage): LateGrown | undefined {
    if (message instanceof LateMessage && message.whole === undefined) {
      return (fault) => this.#grown(message, fault);
    }
    this.#parts.owner.traffic.bytesOut += message.byteCount;
    this.#rate.sent(message.byteCount);
    return undefined;
  }

  /** A queued message that is being written has grown, or is whole and on its way. */
  #grown(message: LateMessage, fault: unknown): void {
    const { queue, owner } = this.#parts;
    if (fault !== undefined) {
      this.#refuse(fault);
      return;
    }
    if (message.whole !== undefined) this.#counting(message);
    if (!queue.fits) this.giveUp();
    else if (owner.backlog.isOver) owner.relieve();
  }

  /** Ends the connection if one more request would be too many. */
  #endsFlood(): boolean {
    const { codec, owner } = this.#parts;
    if (!this.#intake.isFull(codec.keptCount)) return false;
    owner.traffic.dropped += 1;
    this.#closeWith(1013, 'too many requests');
    return true;
  }

  #listen(nowMillis: number): void {
    if (this.#pausedUntil > 0) this.#regulate();
    const { socket, limits } = this.#parts;
    const { bytesRead } = socket;
    if (bytesRead !== this.#bytesHeard || this.#isPaused) {
      this.#bytesHeard = bytesRead;
      this.#heardAt = nowMillis;
    } else if (nowMillis - this.#heardAt >= limits.idleMillis) {
      this.#drop();
      return;
    }
    if (nowMillis < this.#pingAt || this.#isPingUnanswered) return;
    this.#pingAt = nowMillis + limits.pingMillis;
    this.#isPingUnanswered = true;
    socket.ping();
  }

  /**
   * Pauses or resumes reading. A client waits while too many bytes of its requests are unanswered,
   * or while it exceeds its request rate.
   */
  #regulate(): void {
    if (this.#pausedUntil > 0 && performance.now() >= this.#pausedUntil) this.#pausedUntil = 0;
    const shallPause = this.#intake.isSated || this.#pausedUntil > 0;
    if (shallPause === this.#isPaused) return;
    this.#isPaused = shallPause;
    if (shallPause) this.#parts.socket.pause();
    else this.#parts.socket.resume();
  }

  #finishIfDone(): void {
    if (this.#state.kind !== 'finishing') return;
    const { live, queue } = this.#parts;
    const isDone = this.#intake.unanswered + live.heldCount === 0;
    if (!isDone || queue.messageCount > 0) return;
    this.#part('host');
  }

  #part(cause: PartingCause): void {
    const { code, reason } = this.#parts.isInCluster ? restartOf(cause) : goesAway;
    this.#closeWith(code, reason);
  }

  #closeWith(code: number, reason: string): void {
    if (this.#state.kind === 'closing' || this.#state.kind === 'gone') return;
    const { live, queue, socket, limits } = this.#parts;
    queue.flush();
    const deadlineMillis = performance.now() + limits.closeMillis;
    this.#state = { kind: 'closing', deadlineMillis };
    // Messages still being written or compressed must not follow the close frame.
    queue.abandon();
    this.#intake.abandon();
    if (this.#isPaused) socket.resume();
    socket.close(code, closeReason(reason));
    live.close();
  }

  /** Ends the connection after a message that cannot be decoded, or rows that it cannot be sent. */
  #refuse(error: unknown): void {
    const isExpected = error instanceof DecodeError || error instanceof JsonTooLongError;
    if (isExpected) this.#closeWith(1011, error.message);
    else this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#parts.owner.failed(error);
    this.#drop();
  }

  #drop(): void {
    if (this.#state.kind === 'gone') return;
    this.#leave();
    this.#parts.socket.destroy();
  }

  #leave(): void {
    if (this.#state.kind === 'gone') return;
    this.#state = { kind: 'gone' };
    this.#parts.queue.abandon();
    this.#intake.abandon();
    this.#parts.live.close();
    this.#parts.owner.gone(this);
  }
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'finishing'; readonly deadlineMillis: number }
  | { readonly kind: 'closing'; readonly deadlineMillis: number }
  | { readonly kind: 'gone' };

/**
 * The link to the server: one socket after another, as drawn in `connection-state.ts`. It does not
 * interpret messages, except for the first one of each socket.
 *
 * | transition | made by |
 * |---|---|
 * | → connecting | `#connect` |
 * | connecting → live | `#welcome` |
 * | connecting, live → waiting | `#lost` |
 * | waiting → connecting | `retryNow` (timer, network, page seen again) |
 * | → closed | `close` |
 */
import type { Resumed } from '../protocol/v2/resume.ts';
import type { ServerMessage } from '../protocol/v2/server-message.ts';
import { packClientMessages } from '../protocol/v3.ts';
import { packedProtocol, plainProtocol, resumableProtocol } from '../protocol/versions.ts';
import { ConnectionId } from '../values/connection-id.ts';
import { Identity } from '../values/identity.ts';
import { type ConnectionState, delayBefore, type ReconnectOptions } from './connection-state.ts';
import { asError, ConnectionRefusedError, IdentityChangedError } from './errors.ts';
import { FrameReader } from './frames.ts';
import { Observable } from './observable.ts';
import type { Platform } from './platform.ts';
import type { Resuming } from './resuming.ts';
import type { OpenSocket, Socket, SocketRequest } from './socket.ts';

export type Target = { uri: URL } & Omit<SocketRequest, 'uri' | 'token' | 'protocols'>;

export interface LinkOptions {
  /** Its `uri` is replaced when another host is tried. */
  readonly target: Target;
  readonly token: () => string | undefined | Promise<string | undefined>;
  readonly reconnect: ReconnectOptions | undefined;
  readonly openSocket: OpenSocket;
  readonly platform: Platform;
}

/** Events for the owner of a link, in this order for each socket. */
export interface LinkOwner {
  /**
   * Messages can be sent. After a reconnect this waits until the identity is known to be the same.
   */
  ready(): void;
  /** This client had no token; it now has this one. */
  issued(token: string): void;
  /** The first message of a socket has arrived. */
  welcomed(identity: Identity, token: string): void;
  received(message: ServerMessage | Resumed): void;
  /** The socket is gone. `wasOpen`: it had been open; `error`: the reason, if known. */
  lost(wasOpen: boolean, error: Error | undefined): void;
  /** There will be no other socket. */
  closed(error: Error | undefined): void;
}

/** A connection that lasted this long resets the delays. */
const steadyMillis = 5_000;

export class Link {
  readonly state: Observable<ConnectionState>;
  readonly #options: LinkOptions;
  readonly #owner: LinkOwner;
  #socket: Socket | undefined;
  #frames: FrameReader | undefined;
  /** Counts attempts and their ends: events of older sockets are ignored. */
  #run = 0;
  /** Goes on where the last connection was; `undefined` before it is loaded. */
  resuming: Resuming | undefined;
  /** The subprotocol of the last connection. */
  protocol: string | undefined;
  #isOpen = false;
  #attempt = 0;
  #lostAt: number | undefined;
  /** When the server was last heard, in milliseconds since 1970. */
  heardAt = 0;
  #identity: Identity | undefined;
  #token: string | undefined;
  #cancelTimer = () => {};
  #stopWaking = () => {};

  constructor(options: LinkOptions, owner: LinkOwner) {
    this.#options = options;
    this.#owner = owner;
    const { report } = options.platform;
    this.state = new Observable<ConnectionState>({ kind: 'connecting', attempt: 0 }, report);
  }

  start(): void {
    this.#stopWaking = this.#options.platform.onWake(() => this.retryNow());
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get identity(): Identity | undefined {
    return this.#identity;
  }

  get token(): string | undefined {
    return this.#token;
  }

  /** Sends messages in as few frames as the protocol allows. */
  send(messages: readonly Uint8Array[]): void {
    const isPlain = this.protocol === plainProtocol;
    const frames = isPlain ? messages : packClientMessages(messages);
    try {
      for (const frame of frames) this.#socket?.send(frame);
    } catch (error) {
      // A socket that cannot be written to is lost, whatever state it reports.
      this.#lost(asError(error), false);
    }
  }

  /** Ends the wait for the next attempt. */
  retryNow(): void {
    if (this.state.get().kind === 'waiting') this.#connect();
  }

  /** Closes the link permanently. */
  close(error?: Error): void {
    const { kind } = this.state.get();
    if (kind === 'closed') return;
    const wasOpen = this.#isOpen;
    this.#dropSocket();
    this.#setClosed(error);
    // Between two sockets the loss was already reported.
    if (kind !== 'waiting') this.#owner.lost(wasOpen, undefined);
    this.#owner.closed(error);
  }

  /** Treats the socket as lost: it can no longer be used. */
  fail(error: Error, isSilent = false): void {
    this.#lost(error, isSilent);
  }

  #connect(): void {
    this.#cancelTimer();
    this.#attempt += 1;
    this.#run += 1;
    this.state.set({ kind: 'connecting', attempt: this.#attempt });
    const ask = async () => this.#options.token();
    ask().then(
      this.#unlessOver((token) => this.#open(token ?? this.#token)),
      this.#unlessOver((error: unknown) => this.#lost(asError(error), false)),
    );
  }

  /** Wraps an event handler of this attempt: ignored once the attempt is over. */
  #unlessOver<Given>(then: (given: Given) => void): (given: Given) => void {
    const run = this.#run;
    return (given) => {
      if (run === this.#run) then(given);
    };
  }

  #open(token: string | undefined): void {
    if (token !== undefined) this.#token = token;
    const { target, openSocket, platform } = this.#options;
    const run = this.#run;
    const lost = this.#unlessOver((error: Error | undefined) => this.#lost(error, false));
    const frames = new FrameReader(this, platform, (message) => this.#receive(message), lost);
    this.#frames = frames;
    const socket = openSocket(
      { ...target, token, protocols: [resumableProtocol, packedProtocol, plainProtocol] },
      {
        opened: this.#unlessOver((protocol) => this.#opened(protocol)),
        frame: this.#unlessOver((bytes) => {
          this.heardAt = platform.now();
          frames.push(bytes);
        }),
        closed: lost,
      },
    );
    if (run === this.#run) this.#socket = socket;
  }

  #opened(protocol: string): void {
    this.#isOpen = true;
    this.protocol = protocol;
    this.heardAt = this.#options.platform.now();
    if (this.#identity === undefined) this.#owner.ready();
  }

  #receive(message: ServerMessage | Resumed): void {
    if (message.kind === 'initialConnection') {
      this.#welcome(message.identity, message.connectionId, message.token);
    } else {
      this.#owner.received(message);
    }
  }

  #welcome(rawIdentity: bigint, rawConnectionId: bigint, token: string): void {
    const identity = new Identity(rawIdentity);
    const before = this.#identity;
    const { reconnect, platform } = this.#options;
    const isOther = before !== undefined && !before.isEqual(identity);
    if (isOther && reconnect?.allowIdentityChange !== true) {
      this.close(new IdentityChangedError());
      return;
    }
    this.#identity = identity;
    // The server may answer with a short-lived token: the one that was given is kept.
    if (this.#token === undefined) {
      this.#token = token;
      this.#owner.issued(token);
    }
    const connectionId = new ConnectionId(rawConnectionId);
    this.#lostAt = undefined;
    this.state.set({ kind: 'live', identity, connectionId, since: platform.now() });
    this.#owner.welcomed(identity, token);
    if (before !== undefined && this.#isOpen) this.#owner.ready();
  }

  #lost(error: Error | undefined, isSilent: boolean): void {
    const { platform, reconnect } = this.#options;
    const state = this.state.get();
    if (state.kind === 'closed' || state.kind === 'waiting') return;
    const now = platform.now();
    const wasOpen = this.#isOpen;
    if (state.kind === 'live' && now - state.since >= steadyMillis) this.#attempt = 0;
    this.#dropSocket();
    this.#lostAt ??= now;
    // Nothing is lost for as long as since 1970: without a limit it never gives up.
    const gaveUp = now - this.#lostAt >= (reconnect?.giveUpAfterMillis ?? now);
    if (reconnect === undefined || gaveUp || error instanceof ConnectionRefusedError) {
      this.#setClosed(error);
      this.#owner.lost(wasOpen, error);
      this.#owner.closed(error);
      return;
    }
    const attempt = Math.max(1, this.#attempt);
    const delay = delayBefore(attempt, reconnect, platform.random());
    const offline = isSilent || !platform.isOnline();
    const retryAt = now + delay;
    platform.debug(error?.message ?? 'connection lost');
    // Set first: a listener of the state may end the wait, or the connection.
    this.#cancelTimer = platform.after(delay, () => this.retryNow());
    this.state.set({ kind: 'waiting', attempt, retryAt, offline, ...(error && { error }) });
    this.#owner.lost(wasOpen, error);
  }

  #setClosed(error: Error | undefined): void {
    this.#stopWaking();
    this.state.set({ kind: 'closed', ...(error && { error }) });
  }

  #dropSocket(): void {
    this.#run += 1;
    this.#cancelTimer();
    this.#frames?.close();
    this.#frames = undefined;
    this.#isOpen = false;
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }
}

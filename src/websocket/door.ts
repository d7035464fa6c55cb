import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { unreachable } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import { type ClientAddresses, networkOf } from '../auth/client-address.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import { judgePage, type PageRules } from '../auth/page-rules.ts';
import type { RequestRates } from '../auth/rate-limiter.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import { hintHeaders } from '../cluster/leader-hint.ts';
import {
  type ForwardedClient,
  type ForwardedHead,
  forwardedHeadOf,
} from '../cluster/settled-caller.ts';
import { Refusal } from '../database/outcome.ts';
import type { Client, Clients } from '../doors/clients.ts';
import { statusOf } from '../doors/refusal-status.ts';
import { tooManyRequestsText } from '../doors/request-faults.ts';
import { hostFault, splitTarget } from '../doors/request-target.ts';
import { Stay } from '../doors/stay.ts';
import type { LiveConnection, LiveSink } from '../host/feeds/live-connection.ts';
import type { Host } from '../host/host.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import { noEngine } from '../host/replication/engine-state.ts';
import { lostElsewhere, noLeader, noPlace } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { type Admitted, admit, type Refused } from './admission.ts';
import { Backlog } from './backlog.ts';
import {
  type ConnectedClient,
  Connection,
  type ConnectionOwner,
  type Traffic,
} from './connection.ts';
import { CopyClients } from './copy-clients.ts';
import type { MessageCodec } from './message-codec.ts';
import { callerHeaders, type RefusedUpgrade, refuse } from './refuse.ts';
import { passAnswer, Relay } from './relay.ts';
import { ResumableV3 } from './resumable-v3.ts';
import { forgetJoined, SendQueue } from './send-queue.ts';
import { SlicedEnd } from './sliced-end.ts';
import { completeSocketLimits, type SocketLimits } from './socket-limits.ts';
import { type UpgradedSocket, Upgrader } from './upgrade.ts';
import { v1Codec } from './v1.ts';
import { V2 } from './v2.ts';
import { forgetApplied } from './v2-rows.ts';
import { forgetUpdates } from './v2-updates.ts';

export interface WebSocketDoorOptions {
  readonly host: Host;
  readonly tokens: HostTokens;
  readonly addresses: ClientAddresses;
  readonly rates: RequestRates;
  /** Which pages can connect, and the names by which the service is known. */
  readonly pages: PageRules;
  readonly limits: Partial<SocketLimits>;
  /** Absent: the service is alone. Present, and databases may be led by other hosts. */
  readonly cluster?: ClusterPart | undefined;
  /** Maximum number of open WebSockets; more are rejected. */
  readonly socketsMax: number;
  /** Called for an unexpected error; the client's connection ends without a close frame. */
  readonly onError: (error: unknown, doing: string) => void;
}

export interface SocketStatistics extends Readonly<Traffic> {
  readonly connections: number;
  /** Messages waiting to be written, over all connections. */
  readonly queuedMessages: number;
  readonly queuedBytes: number;
}

/**
 * The WebSocket door: admits clients and holds their connections until they end. It flushes all
 * connections together, so everything that one turn of a database has for a client is one write.
 */
export class WebSocketDoor implements Clients {
  readonly #options: WebSocketDoorOptions;
  readonly #limits: SocketLimits;
  readonly #upgrader = new Upgrader();
  readonly #connections = new Set<Connection>();
  readonly #copies: CopyClients | undefined;
  /** Connections that other hosts serve. */
  readonly #relays = new Set<Relay>();
  /** Ends clients of a host that drains. */
  readonly #slices = new SlicedEnd<Relay | Connection>({
    open: () => [...this.#relays, ...this.#connections],
    end: (client) => {
      if (client instanceof Relay) client.close('host');
      else client.finish(performance.now() + this.#limits.closeMillis);
    },
  });
  /** Handshakes in progress; they count as connections. */
  #handshakes = 0;
  readonly #owner: ConnectionOwner;
  readonly #traffic: Traffic = {
    messagesIn: 0,
    bytesIn: 0,
    messagesOut: 0,
    framesOut: 0,
    bytesOut: 0,
    dropped: 0,
  };
  readonly #backlog = new Backlog(limits.socketsBytesOutMax);
  #toFlush = new Set<Connection>();
  #isFlushing = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(options: WebSocketDoorOptions) {
    this.#options = options;
    options.host.grants.onLoss((loss) => {
      for (const connection of [...this.#connections]) connection.examine(loss);
    });
    this.#limits = completeSocketLimits(options.limits);
    this.#copies = options.cluster && new CopyClients(options.cluster);
    options.cluster?.membership.onDrain((isDraining) => {
      // Where no other host is, they would come back to this one.
      const mayGo = (options.cluster?.membership.living.length ?? 0) > 1;
      if (isDraining && mayGo) this.#slices.begin();
      else this.#slices.stop();
    });
    this.#owner = {
      traffic: this.#traffic,
      backlog: this.#backlog,
      relieve: () => this.#relieve(),
      failed: (error) => this.#options.onError(error, 'serving a WebSocket'),
      hasMessages: (connection) => this.#flushSoon(connection),
      gone: (connection) => {
        this.#connections.delete(connection);
        this.#copies?.delete(connection);
        this.#toFlush.delete(connection);
      },
    };
  }

  /** Handles an upgrade request and the connection it came on. Never throws. */
  handle(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => stream.destroy());
    this.#handshakes += 1;
    this.#answer(request, stream, head)
      .catch((error: unknown) => {
        this.#options.onError(error, `upgrading ${splitTarget(request.url).path}`);
        refuse(stream, { status: 500, text: 'internal error' });
      })
      .finally(() => {
        this.#handshakes -= 1;
      });
  }

  statistics(): SocketStatistics {
    let queuedMessages = 0;
    for (const connection of this.#connections) queuedMessages += connection.queuedMessages;
    const connections = this.#connections.size;
    const queuedBytes = this.#backlog.byteCount;
    return { connections, queuedMessages, queuedBytes, ...this.#traffic };
  }

  of(database: DatabaseIdentity): readonly Client[] {
    const now = performance.now();
    return [...this.#connections].flatMap((connection) => {
      const client = connection.client(now);
      return client?.database === database ? [client] : [];
    });
  }

  disconnect(database: DatabaseIdentity, id: ConnectionNumber, reason: string): number {
    const now = performance.now();
    const meant = [...this.#connections].filter((connection) => {
      const client = connection.client(now);
      return client?.database === database && client.id === id;
    });
    for (const connection of meant) connection.disconnect(reason);
    return meant.length;
  }

  /** Resolves when a host that drains has no clients left to end, or after `millisMax`. */
  async untilDrained(millisMax: number): Promise<void> {
    const until = performance.now() + millisMax;
    const isLeft = () => this.#connections.size + this.#relays.size > 0;
    while (this.#slices.isOn && isLeft() && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, closingLookMillis));
    }
  }

  /** Stops admitting clients, answers requests for at most `millis`, and closes all connections. */
  async close(millis: number): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    this.#slices.stop();
    const deadlineMillis = performance.now() + millis;
    while (this.#connections.size + this.#relays.size + this.#handshakes > 0) {
      for (const relay of [...this.#relays]) relay.close('host');
      for (const connection of [...this.#connections]) {
        connection.finish(deadlineMillis);
        connection.tick(performance.now());
      }
      await new Promise((resolve) => setTimeout(resolve, closingLookMillis));
    }
  }

  async #answer(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    if (this.#isClosing) return refuse(stream, stopping);
    const { socketsMax, rates, cluster } = this.#options;
    if (this.#connections.size + this.#relays.size + this.#handshakes > socketsMax)
      return refuse(stream, full(socketsMax));
    const { url = '', headers } = request;
    const badHost = hostFault(request.rawHeaders);
    if (badHost !== undefined) return refuse(stream, { status: 400, text: badHost });
    const forwarded = cluster && forwardedHeadOf(request);
    const from = forwarded === undefined ? this.#judge(request) : forwarded;
    if ('status' in from) return refuse(stream, from);
    const { client } = from;
    const { address } = client;
    const app = this.#options.pages.apps?.databaseOf(headers.host);
    const settled = forwarded?.caller;
    const confirms = cluster !== undefined;
    const outcome = await admit(
      { url, headers, address, app, settled },
      { ...this.#options, confirms },
    );
    const { caller } = outcome;
    // Anonymous clients are counted by address alone.
    const isKnown = caller !== undefined && !caller.isAnonymous && forwarded === undefined;
    const wait = isKnown ? rates.byIdentity.take(caller.identity.toString(16)) : 0;
    if (wait > 0) return refuse(stream, tooOften(wait));
    if (this.#isClosing && outcome.kind !== 'refused') return refuse(stream, stopping);
    const upgrade = { request, stream, head, client, forwarded };
    if (cluster !== undefined) {
      const place = placeFor(outcome, forwarded, cluster);
      const isHere = place !== undefined && (await this.#readsHere(outcome, forwarded));
      if (stream.destroyed || this.#isClosing) return refuse(stream, stopping);
      if (isHere && outcome.kind === 'admitted') return this.#connect(outcome, upgrade, true);
      if (place !== undefined) return await this.#relay(place, caller, { ...upgrade, cluster });
    }
    if (outcome.kind === 'refused') refuse(stream, outcome);
    else this.#connect(outcome, upgrade);
  }

  /** Who asks, where no other host has said so; or why it may not. */
  #judge(request: IncomingMessage): { readonly client: ForwardedClient } | RefusedUpgrade {
    const { headers, socket } = request;
    const { addresses, rates, pages } = this.#options;
    const { localAddress = '', remoteAddress = '' } = socket;
    const page = { localAddress, host: headers.host, origin: headers.origin };
    const verdict = judgePage(page, pages);
    if (verdict.kind === 'refused') return { status: 403, text: verdict.text };
    const passage = { remoteAddress, forwardedFor: firstHeader(headers['x-forwarded-for']) };
    const address = addresses.of(passage);
    const seconds = rates.byAddress.take(networkOf(address));
    if (seconds > 0) return tooOften(seconds);
    const isOnMachine = addresses.isOnMachine(passage, headers.host ?? '');
    const isConfidential = isOnMachine || 'encrypted' in socket;
    const rest = { sender: verdict.sender, origin: '', isOnMachine, isConfidential };
    return { client: { address, ...rest } };
  }

  /** Has the host serve the client that leads the database. */
  async #relay(
    { database, isAsked }: Pick<ForwardedHead, 'database' | 'isAsked'>,
    caller: RequestCaller | undefined,
    { request, stream, head, client, forwarded, cluster }: Upgrade & { cluster: ClusterPart },
  ): Promise<void> {
    const { method = 'GET', url: path = '', rawHeaders } = request;
    const left = new AbortController();
    stream.once('close', () => left.abort());
    const hops = forwarded?.hops ?? 0;
    const waitsMillis = forwarded?.waitsMillis ?? limits.waitLeaderMillis;
    const forwardedHead = { database, isAsked, caller, client, waitsMillis, hops };
    const led = await cluster.upgrade(
      { method, path, rawHeaders, body: undefined, head: forwardedHead, signal: left.signal },
      head,
    );
    switch (led.kind) {
      case 'upgraded': {
        const { answer, stream: leader, leader: leaderAddress } = led;
        if (stream.destroyed || this.#isClosing) {
          leader.destroy();
          return refuse(stream, stopping);
        }
        const onEnd = (relay: Relay): void => void this.#relays.delete(relay);
        const { closeMillis } = this.#limits;
        const socket = { client: stream, answer, leader, leaderAddress, closeMillis, onEnd };
        this.#relays.add(new Relay(socket));
        return;
      }
      case 'answered':
        return passAnswer(stream, led.answer, led.leader);
      case 'here':
        // It has become the leader meanwhile.
        return await this.#answer(request, stream, head);
      case 'unknown':
      case 'slowBody':
        return refuse(stream, refusedBy(lostElsewhere()));
      case 'noLeader':
        return refuse(stream, refusedBy(cluster.engine.isAway ? noEngine() : noLeader()));
      case 'overloaded':
        return refuse(stream, refusedBy(noPlace(led.full)));
      default:
        return unreachable(led);
    }
  }

  /** Whether a client of a database that another host leads reads this host's copy. */
  async #readsHere(outcome: Admitted | Refused, forwarded: ForwardedHead | undefined) {
    if (outcome.kind === 'refused' || forwarded !== undefined) return false;
    return (await this.#copies?.serves(outcome)) === true;
  }

  /** Connects to the database before upgrading: it can refuse, which an open socket cannot say. */
  #connect(admitted: Admitted, upgrade: Upgrade, readsCopy = false): void {
    const { request, stream, head, forwarded } = upgrade;
    const { caller, database, connectionId, confirmed, dialect } = admitted;
    let connection: Connection | undefined;
    let live: LiveConnection;
    let stay: Stay;
    try {
      const { host } = this.#options;
      const databaseCaller = host.callerFor(caller, database);
      stay = new Stay(host, { caller, database, rights: databaseCaller.rights });
      const options = { caller: databaseCaller, connectionId, confirmed, dialect };
      const sink: LiveSink = {
        deliver: (events, position) => connection?.deliver(events, position),
        ended: (reason) => connection?.ended(reason),
        closed: (code, reason) => connection?.endedWith(code, reason),
        moved: () => connection && this.#copies?.add(connection, database),
        waitingMillis: () => connection?.waitingMillis() ?? 0,
      };
      // Where the leader is asked for, or another host relays the client, it ends with the leader.
      const mayMove = admitted.wish.from !== 'leader' && forwarded === undefined;
      const client = mayMove ? this.#copies?.clientOf(database, admitted) : undefined;
      const { handle } = database;
      live =
        client !== undefined && readsCopy
          ? handle.copy.live(options, client, sink)
          : handle.live(options, sink, client);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { code } = error.body;
      const target = identityToHex(database.identity);
      if (code === 'token.limited') this.#options.host.ledger.turnedAway(target, caller, code);
      const isForHost = code === 'database.notLeader' && forwarded !== undefined;
      // 421 stays among hosts: a client asks again, and is then led to the leader.
      const fault = code === 'database.notLeader' && !isForHost ? noLeader() : error;
      const hint = isForHost ? this.#options.cluster?.hintFor(database.identity) : undefined;
      const headers = hintHeaders(hint);
      refuse(stream, { ...refusedBy(fault), caller, ...(isForHost && { headers }) });
      return;
    }
    const socket = this.#upgrader.complete(request, stream, head, {
      protocol: admitted.protocol,
      headers: callerHeaders(caller),
    });
    if (socket === undefined) live.close();
    else connection = this.#open(admitted, socket, { live, stay });
    if (connection !== undefined && readsCopy) this.#copies?.add(connection, database);
  }

  #open(admitted: Admitted, socket: UpgradedSocket, { live, stay }: Let): Connection {
    const { protocol, compression } = admitted;
    const now = performance.now();
    const queue = new SendQueue(socket, {
      opcode: protocol === 'v1.json.spacetimedb' ? 'text' : 'binary',
      compression,
      packs: protocol.startsWith('v3'),
      tellsOffset: protocol === 'v3.bsatn.reducerdb',
      messagesMax: this.#limits.messagesOutMax,
      bytesMax: this.#limits.bytesOutMax,
      backlog: this.#backlog,
    });
    const codec = codecOf(admitted, live, () => {
      const { cluster } = this.#options;
      return cluster?.clientAddresses ?? [];
    });
    const client = clientOf(admitted);
    const parts = { socket, live, client, codec, queue, stay, pace: this.#paceOf(admitted) };
    const isInCluster = this.#options.cluster !== undefined;
    const bounds = { limits: this.#limits, owner: this.#owner, isInCluster };
    const connection = new Connection({ ...parts, ...bounds }, now);
    this.#connections.add(connection);
    socket.listen(connection);
    // A token may have been revoked during the handshake.
    connection.examine();
    connection.tick(now);
    this.#timer ??= this.#startTimer();
    return connection;
  }

  /** Counts the client's requests against the rates of its identity and its address. */
  #paceOf({ caller }: Admitted): (requestCount: number) => number {
    const { byIdentity, byAddress } = this.#options.rates;
    const identity = caller.identity.toString(16);
    const network = networkOf(caller.address ?? '');
    return (requestCount) =>
      Math.max(byIdentity.spend(identity, requestCount), byAddress.spend(network, requestCount));
  }

  #startTimer(): NodeJS.Timeout {
    const { pingMillis, idleMillis, closeMillis } = this.#limits;
    const lookMillis = Math.max(10, Math.min(1_000, pingMillis, idleMillis / 2, closeMillis));
    const look = (): void => {
      const now = performance.now();
      for (const connection of [...this.#connections]) connection.tick(now);
    };
    // Run after pending input was read: the process may have been blocked for longer than the
    // bounds.
    const timer = setInterval(() => setImmediate(look), lookMillis);
    return timer.unref();
  }

  /** Drops the connections with the largest queues until the backlog is within its bound. */
  #relieve(): void {
    while (this.#backlog.isOver) {
      let slowest: Connection | undefined;
      for (const connection of this.#connections) {
        const isSlower = slowest === undefined || connection.queuedBytes > slowest.queuedBytes;
        if (isSlower) slowest = connection;
      }
      if (slowest === undefined) return;
      slowest.giveUp();
    }
  }

  #flushSoon(connection: Connection): void {
    this.#toFlush.add(connection);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => {
      this.#isFlushing = false;
      const connections = this.#toFlush;
      this.#toFlush = new Set();
      const now = performance.now();
      for (const one of connections) one.flush(now);
      forgetJoined();
      forgetApplied();
      forgetUpdates();
    });
  }
}

/** A request for a WebSocket, the connection on which it came, and what is known of its client. */
interface Upgrade {
  readonly request: IncomingMessage;
  readonly stream: Duplex;
  readonly head: Buffer;
  readonly client: ForwardedClient;
  /** Absent: no other host has sent it. */
  readonly forwarded: ForwardedHead | undefined;
}

/** Where a client is served, if not here. */
function placeFor(
  outcome: Admitted | Refused,
  forwarded: ForwardedHead | undefined,
  cluster: ClusterPart,
): Pick<ForwardedHead, 'database' | 'isAsked'> | undefined {
  if (forwarded !== undefined && !forwarded.isAsked) return undefined;
  if (outcome.kind === 'admitted') {
    const { identity: database } = outcome.database;
    return cluster.isLedElsewhere(database) ? { database, isAsked: false } : undefined;
  }
  const isUnknown = outcome.code === 'name.unknown' || outcome.code === 'database.unknown';
  const isNews = isUnknown && forwarded === undefined && cluster.isLedElsewhere(registryIdentity);
  // The host that leads the registry knows of databases that have just been created.
  return isNews ? { database: registryIdentity, isAsked: true } : undefined;
}

function refusedBy({ body: { code, message, retryAfterSeconds } }: Refusal): RefusedUpgrade {
  const retry = { 'retry-after': String(retryAfterSeconds) };
  const headers = retryAfterSeconds === undefined ? {} : { headers: retry };
  return { status: statusOf(code), text: message, code, ...headers };
}

/** The host's objects for an admitted client. */
interface Let {
  readonly live: LiveConnection;
  readonly stay: Stay;
}

/** Interval of checks while the door closes. */
const closingLookMillis = 10;

const stopping: RefusedUpgrade = {
  status: 503,
  text: 'The service is stopping; try again when it runs.',
};
function tooOften(seconds: number): RefusedUpgrade {
  return {
    status: 429,
    text: tooManyRequestsText,
    headers: { 'retry-after': String(seconds) },
  };
}

function full(socketsMax: number): RefusedUpgrade {
  const text = `The service has ${socketsMax} connections and takes no more for now.`;
  return { status: 503, text };
}

function clientOf({ caller, connectionId, database, protocol }: Admitted): ConnectedClient {
  const { identity, address = '' } = caller;
  const sinceMillis = Date.now();
  return {
    id: connectionId,
    identity,
    sinceMillis,
    address,
    protocol,
    database: database.identity,
  };
}

function codecOf(
  { protocol, caller, connectionId }: Admitted,
  live: LiveConnection,
  hosts: () => readonly string[],
): MessageCodec {
  const person = { identity: caller.identity, connectionId, token: caller.token };
  switch (protocol) {
    case 'v3.bsatn.reducerdb':
      return new ResumableV3(person, hosts);
    case 'v3.bsatn.spacetimedb':
      return new V2('v3', person);
    case 'v2.bsatn.spacetimedb':
      return new V2('v2', person);
    case 'v1.bsatn.spacetimedb':
    case 'v1.json.spacetimedb':
      return v1Codec(protocol, person, live);
    default:
      return unreachable(protocol);
  }
}

function firstHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

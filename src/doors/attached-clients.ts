import { settledElsewhere } from '../auth/caller.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import { type CommitOffset, Refusal } from '../database/outcome.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveRequest,
  LiveSink,
} from '../host/feeds/live-connection.ts';
import type { Host } from '../host/host.ts';
import type {
  ArrivingClient,
  DeskPlace,
  DeskSink,
  LeaderDesk,
} from '../host/replication/leader-desk.ts';
import type { AttachedEnd, AttachedRequest } from '../host/replication/leader-line.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Client, Clients, ClientTraffic } from './clients.ts';
import { Stay } from './stay.ts';

export interface AttachedClientsOptions {
  readonly host: Host;
  readonly tokens: HostTokens;
}

/** Asks the hosts with these names what they know of their clients. Never rejects. */
export type AskTraffic = (
  database: DatabaseIdentity,
  hosts: readonly string[],
) => Promise<ReadonlyMap<ConnectionNumber, ClientTraffic>>;

/**
 * Clients of databases that this host leads, which are connected with other hosts. Each has a
 * connection here, as if its client were here, but watches nothing: its own host shows it what
 * changes.
 */
export class AttachedClients implements LeaderDesk, Clients {
  readonly #options: AttachedClientsOptions;
  readonly #places = new Map<DatabaseIdentity, Set<Place>>();

  constructor(options: AttachedClientsOptions) {
    this.#options = options;
    options.host.grants.onLoss((loss) => {
      for (const place of this.#all()) place.examine(loss);
    });
  }

  get count(): number {
    return this.#all().length;
  }

  of(database: DatabaseIdentity): readonly Client[] {
    return [...(this.#places.get(database) ?? [])].map((place) => place.client);
  }

  disconnect(database: DatabaseIdentity, id: ConnectionNumber, reason: string): number {
    const meant = [...(this.#places.get(database) ?? [])].filter(({ client }) => client.id === id);
    for (const place of meant) place.end({ kind: 'closed', code: 1008, reason });
    return meant.length;
  }

  admit(client: ArrivingClient, sink: DeskSink): DeskPlace {
    const places = this.#places.get(client.database) ?? new Set();
    this.#places.set(client.database, places);
    const place = new Place(client, sink, () => {
      places.delete(place);
      if (places.size === 0 && this.#places.get(client.database) === places) {
        this.#places.delete(client.database);
      }
    });
    places.add(place);
    // Not before this returns: what it answers would come out of order.
    queueMicrotask(() => place.begin(this.#options));
    return place;
  }

  #all(): Place[] {
    return [...this.#places.values()].flatMap((places) => [...places]);
  }
}

/** Those of a door, and those of other hosts. */
export class ClientsOfHosts implements Clients {
  readonly #own: Clients;
  readonly #attached: AttachedClients;
  readonly #ask: AskTraffic;

  constructor(own: Clients, attached: AttachedClients, ask: AskTraffic) {
    this.#own = own;
    this.#attached = attached;
    this.#ask = ask;
  }

  of(database: DatabaseIdentity): readonly Client[] {
    return [...this.#own.of(database), ...this.#attached.of(database)];
  }

  async list(database: DatabaseIdentity): Promise<readonly Client[]> {
    const attached = this.#attached.of(database);
    const hosts = new Set(attached.flatMap(({ host }) => host ?? []));
    if (hosts.size === 0) return this.of(database);
    const traffic = await this.#ask(database, [...hosts]);
    const known = attached.map((client) => ({ ...client, ...traffic.get(client.id) }));
    const all = [...this.#own.of(database), ...known];
    return all.sort((one, other) => one.sinceMillis - other.sinceMillis);
  }

  disconnect(database: DatabaseIdentity, id: ConnectionNumber, reason: string): number {
    const attached = this.#attached.disconnect(database, id, reason);
    return attached > 0 ? attached : this.#own.disconnect(database, id, reason);
  }
}

/** One client. */
class Place implements DeskPlace, LiveSink {
  readonly isFull = false;
  readonly isReached = true;
  readonly client: Client;
  readonly #arriving: ArrivingClient;
  readonly #sink: DeskSink;
  readonly #gone: () => void;
  #live: LiveConnection | undefined;
  #stay: Stay | undefined;
  #early: LiveRequest[] = [];
  #isOver = false;
  /** Of requests that were refused because this host does not lead. */
  #undone: AttachedRequest[] = [];
  #left: () => void = () => undefined;

  constructor(arriving: ArrivingClient, sink: DeskSink, gone: () => void) {
    this.#arriving = arriving;
    this.#sink = sink;
    this.#gone = gone;
    const { caller, connectionId: id, sinceMillis, protocol } = arriving;
    const traffic = { queuedBytes: 0, sentBytesPerSecond: 0, queries: 0 };
    const { identity, address = '' } = caller;
    const { through: host } = arriving;
    this.client = { id, identity, sinceMillis, address, protocol, ...traffic, host };
  }

  begin({ host, tokens }: AttachedClientsOptions): void {
    if (this.#isOver) return;
    const { database, connectionId, confirmed, stays } = this.#arriving;
    try {
      const settled = settledElsewhere(tokens, this.#arriving.caller);
      if (settled.kind === 'refused') {
        this.end({ kind: 'closed', code: 1008, reason: 'token revoked' });
        return;
      }
      const hosted = host.database(identityToHex(database));
      const caller = host.callerFor(settled.caller, hosted);
      const guest = { caller: settled.caller, database: hosted, rights: caller.rights };
      this.#stay = new Stay(host, guest);
      const attached = { stays, left: () => this.#left() };
      const live = hosted.handle.live({ caller, connectionId, confirmed, attached }, this);
      this.#live = live;
      for (const request of this.#early) live.send(request);
      this.#early = [];
      this.examine();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#turnAway(error);
    }
  }

  send(request: AttachedRequest): void {
    if (this.#isOver) return;
    const asked = liveRequest(request);
    if (this.#live === undefined) this.#early.push(asked);
    else this.#live.send(asked);
  }

  close(): Promise<void> {
    const live = this.#live;
    if (this.#isOver || live === undefined) {
      this.#over();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#left = resolve;
      this.#over();
      live.close();
    });
  }

  /** Ends it for a reason that its client gets. */
  end(end: AttachedEnd): void {
    if (this.#isOver) return;
    this.#over();
    this.#live?.close();
    this.#sink.ended(end);
  }

  /** Ends it if its client has lost a role or a token that it needs. */
  examine(loss?: Parameters<Stay['concerns']>[0]): void {
    const stay = this.#stay;
    const fault = loss === undefined || stay?.concerns(loss) ? stay?.fault : undefined;
    if (fault !== undefined) this.end({ kind: 'closed', code: 1008, reason: fault });
  }

  deliver(events: readonly LiveEvent[], position: CommitOffset | undefined): void {
    for (const event of events) {
      if (this.#isOver) return;
      this.#tell(event, position);
    }
  }

  ended(reason: LiveEnd, undone: readonly LiveRequest[]): void {
    this.#left();
    if (this.#isOver) return;
    this.#over();
    const isLate = reason === 'refused' && this.#arriving.stays === 'announced';
    if (reason === 'database') this.#sink.lost([...this.#undone, ...asked(undone)]);
    else this.#sink.ended({ kind: 'live', reason: isLate ? 'database' : reason });
  }

  #tell(event: LiveEvent, offset: CommitOffset | undefined): void {
    switch (event.kind) {
      case 'connected':
        // Without it the actor has just ended.
        if (offset !== undefined) this.#sink.connected(offset);
        return;
      case 'called': {
        const { outcome, timestampMicros } = event;
        this.#sink.answered(requestOf(event), { kind: 'called', outcome, timestampMicros, offset });
        return;
      }
      case 'procedure':
        this.#sink.answered(requestOf(event), {
          ...{ kind: 'procedure', outcome: event.outcome, offset },
        });
        return;
      case 'refused': {
        const { body } = event;
        // The next leader does it.
        if (body.code === 'database.notLeader') this.#undone.push(requestOf(event));
        else this.#sink.answered(requestOf(event), { kind: 'refused', body });
        return;
      }
      default:
        // It watches nothing.
        return;
    }
  }

  #turnAway({ body }: Refusal): void {
    if (this.#isOver) return;
    const undone = asked(this.#early);
    this.#over();
    if (elsewhereCodes.has(body.code)) this.#sink.lost(undone);
    else this.#sink.ended({ kind: 'turnedAway', body });
  }

  #over(): void {
    this.#isOver = true;
    this.#early = [];
    this.#gone();
  }
}

/** A next leader may take it. */
const elsewhereCodes: ReadonlySet<string> = new Set([
  'database.notLeader',
  'database.stopped',
  'database.broken',
]);

/** Requests of the other host, by those that the database was asked. */
const requests = new WeakMap<LiveRequest, AttachedRequest>();

function liveRequest(request: AttachedRequest): LiveRequest {
  const live = request.kind === 'call' ? { ...request, isCaller: true } : request;
  requests.set(live, request);
  return live;
}

function requestOf({ request }: { readonly request: LiveRequest }): AttachedRequest {
  return requests.get(request) as AttachedRequest;
}

function asked(undone: readonly LiveRequest[]): AttachedRequest[] {
  return undone.map((request) => requestOf({ request }));
}

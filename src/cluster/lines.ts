import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LeaderDesk } from '../host/replication/leader-desk.ts';
import { limits } from '../limits.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { connectionIdFromHex, connectionIdToHex } from '../values/connection-id.ts';
import { type ConnectionNumber, connectionNumber } from '../values/connection-number.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { Attachments } from './attachments.ts';
import { ClientLine } from './client-line.ts';
import { DeskLines } from './desk-lines.ts';
import type { LinkClient } from './link-client.ts';
import { isGone, type RelaysOptions } from './relays.ts';

export interface LinesOptions extends RelaysOptions {
  readonly client: Pick<LinkClient, 'line' | 'askHost'>;
  readonly me: Pick<Lead, 'boot' | 'name'>;
  readonly now: () => number;
  /** The other host that leads a database, while it is there. */
  readonly leaderOf: (database: DatabaseIdentity) => Pick<Lead, 'boot' | 'address'> | undefined;
  /** How far this host knows the registry; resolves when it knows it so far. */
  readonly registryOffset: () => number;
  readonly untilKnown: (registryOffset: number) => Promise<unknown> | undefined;
}

/** Clients of this host whose databases others lead, and clients of others; since now. */
export interface LineFigures {
  readonly away: number;
  readonly here: number;
  /** Lines to leaders, over which the two hosts are in touch. */
  readonly open: number;
}

/** What of a client only its own host knows. */
export interface ClientTraffic {
  readonly queuedBytes: number;
  readonly sentBytesPerSecond: number;
  readonly queries: number;
}

/** The clients that are connected with this host. */
export interface OwnClients {
  of(database: DatabaseIdentity): readonly ({ readonly id: ConnectionNumber } & ClientTraffic)[];
}

const clientsPath = 'clients/';

/** The lines between this host and the others, in both directions. */
export class Lines {
  readonly #options: LinesOptions;
  readonly #away: Attachments;
  readonly #here: DeskLines;
  readonly #lines = new Map<BootId, ClientLine>();
  /** Processes of an earlier version, which take no lines; those of which that is known. */
  readonly #without = new Set<BootId>();
  readonly #tried = new Set<BootId>();
  #desk: LeaderDesk | undefined;
  #clients: OwnClients | undefined;
  #isClosed = false;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#away = new Attachments({
      ...{ now: options.now, me: options.me.name },
      leaderOf: (database) => this.#lineOf(database),
      reaches: (database) => {
        const leader = options.leaderOf(database);
        return leader === undefined || !this.#without.has(leader.boot);
      },
    });
    this.#here = new DeskLines({
      ...options,
      desk: () => this.#desk,
      isGone: (boot) => isGone(boot, options),
    });
  }

  /** The way of this host's clients to their leaders. */
  get leaderLine(): Attachments {
    return this.#away;
  }

  get figures(): LineFigures {
    const open = [...this.#lines.values()].filter(({ isOpen }) => isOpen).length;
    return { away: this.#away.count, here: this.#here.clientCount, open };
  }

  /** From now on clients of other hosts are taken, and those of this one are known. */
  attach(desk: LeaderDesk, clients: OwnClients): void {
    this.#desk = desk;
    this.#clients = clients;
  }

  /** Asks other hosts, by their names, what they know of their clients. Never rejects. */
  async ask(
    database: DatabaseIdentity,
    names: readonly string[],
  ): Promise<Map<ConnectionNumber, ClientTraffic>> {
    const { client, membership } = this.#options;
    const asked = membership.hosts.filter(({ name }) => names.includes(name));
    const path = clientsPath + identityToHex(database);
    const answers = asked.map(({ address }) => client.askHost(address, path).catch(() => []));
    const known = (await Promise.all(answers)).flatMap(trafficsOf);
    return new Map(known);
  }

  /** What another host asks; `undefined`: something else. */
  answer(path: string): unknown {
    if (!path.startsWith(clientsPath)) return undefined;
    const database = identityFromHex(path.slice(clientsPath.length));
    if (database === undefined) return undefined;
    const clients = this.#clients?.of(databaseIdentity(database)) ?? [];
    return clients.slice(0, limits.clientsAskedMax).map(({ id, ...client }) => {
      const { queuedBytes, sentBytesPerSecond, queries } = client;
      return [connectionIdToHex(id), queuedBytes, sentBytesPerSecond, queries];
    });
  }

  /** Somebody else may lead a database now; whether that host takes lines is tried beforehand. */
  changed(database: DatabaseIdentity): void {
    this.#away.changed(database);
    const boot = this.#options.leaderOf(database)?.boot;
    if (boot === undefined || this.#tried.has(boot)) return;
    if (this.#tried.size > limits.clusterHostsMax) this.#tried.clear();
    this.#tried.add(boot);
    this.#lineOf(database);
  }

  /** Another host opens a line, or goes on with one. */
  open(request: IncomingMessage, response: ServerResponse): ServerResponse {
    this.#here.open(request, response);
    return response;
  }

  close(): void {
    this.#isClosed = true;
    this.#here.close();
    for (const line of [...this.#lines.values()]) line.close();
  }

  #lineOf(database: DatabaseIdentity): ClientLine | undefined {
    const leader = this.#options.leaderOf(database);
    if (leader === undefined || this.#isClosed) return undefined;
    const { boot, address } = leader;
    const known = this.#lines.get(boot);
    if (known !== undefined || this.#without.has(boot)) return known;
    const line = new ClientLine({
      ...{ ...this.#options, me: this.#options.me.boot, leader: { boot, address } },
      hasEnded: () => this.#options.membership.hasEnded(boot),
      onEnd: (takesNone) => {
        this.#lines.delete(boot);
        if (takesNone) this.#without.add(boot);
      },
    });
    this.#lines.set(boot, line);
    return line;
  }
}

/** Of the answer of another host. */
function trafficsOf(answer: unknown): [ConnectionNumber, ClientTraffic][] {
  if (!Array.isArray(answer)) return [];
  return (answer as readonly unknown[]).flatMap((row): [ConnectionNumber, ClientTraffic][] => {
    if (!Array.isArray(row)) return [];
    const [hex, ...numbers] = row as readonly unknown[];
    const id = connectionIdFromHex(String(hex));
    const [queuedBytes, sentBytesPerSecond, queries] = numbers.map(Number);
    const areThere = numbers.length === 3 && numbers.every((one) => Number.isFinite(one));
    if (id === undefined || !areThere) return [];
    const traffic = { queuedBytes, sentBytesPerSecond, queries } as ClientTraffic;
    return [[connectionNumber(id), traffic]];
  });
}

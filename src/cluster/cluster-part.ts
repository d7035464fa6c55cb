import type { TimeFigures } from '../database/time-counts.ts';
import type { ReplicationControl } from '../host/databases/replication-control.ts';
import { registryIdentity } from '../host/registry/registry.ts';
import type { DatabaseRole, FollowerRole } from '../host/replication/database-role.ts';
import type { HostCluster } from '../host/replication/host-cluster.ts';
import { limits } from '../limits.ts';
import type { LogPoint } from '../log/log-point.ts';
import type { Report } from '../node/report-line.ts';
import type { HostRow, SeenHost } from '../shared-log/directory.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { LookAround } from '../shared-log/member.ts';
import { bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { ClusterSecret } from './cluster-secret.ts';
import { type ForwardCount, ForwardMeter } from './forward-meter.ts';
import { checkHostFacts, type JoinedHost } from './join-cluster.ts';
import type { LeaderHint } from './leader-hint.ts';
import {
  type ForwardAnswer,
  type ForwardRequest,
  LinkClient,
  type UpgradeAnswer,
} from './link-client.ts';
import { LinkServer, type LinkServerOptions } from './link-server.ts';
import { LinkIdentity } from './link-tls.ts';
import { LinkWatch } from './link-watch.ts';
import { Membership, type MembershipOptions } from './membership.ts';
import { type AppendFigures, MeteredLog } from './metered-log.ts';
import { isReadyToLead, Moving } from './moving.ts';
import { type Copy, Operations } from './operations.ts';
import { type HostedRegistry, RegistryLine } from './registry-line.ts';
import { type RoleFigures, RoleWatch } from './role-watch.ts';
import { type LeaderPlace, type Routed, Routing, type Send } from './routing.ts';
import type { ForwardedHead } from './settled-caller.ts';
import { UnderWay } from './under-way.ts';

export interface ClusterPartOptions
  extends Pick<LinkServerOptions, 'listen' | 'onRequest' | 'onUpgrade'>,
    Pick<MembershipOptions, 'leaseMillis' | 'now' | 'onReplaced'> {
  readonly joined: JoinedHost;
  readonly secret: ClusterSecret;
  readonly facts: Pick<
    HostRow,
    'name' | 'clientAddress' | 'version' | 'formats' | 'memoryBytes' | 'zone'
  >;
  /** Where other hosts reach this one; absent: where it listens. */
  readonly advertise: string | undefined;
  readonly waitsForLocalSync: boolean;
  readonly report: Report;
}

export interface ClusterPartFigures {
  readonly appends: AppendFigures;
  readonly roles: RoleFigures;
  readonly forwarded: readonly ForwardCount[];
  readonly forwardTimes: TimeFigures;
}

/** The databases of this host. */
export interface HostedDatabases
  extends Pick<ReplicationControl, 'wake' | 'handOver'>,
    HostedRegistry {
  /** Last commit of a database that runs here, and the last durable one. */
  offsetsOf?(database: DatabaseIdentity): Pick<Copy, 'offset' | 'acknowledged'> | undefined;
}

/**
 * This host's part in its cluster: the others see it, it hears of those that end, and requests get
 * to the host that leads their database. The databases themselves are of `host`, which is given
 * `forHost`.
 */
export class ClusterPart {
  readonly #options: ClusterPartOptions;
  readonly #server: LinkServer;
  readonly #client: LinkClient;
  readonly #membership: Membership;
  readonly #watch: LinkWatch;
  readonly #routing: Routing;
  readonly #roles: RoleWatch;
  readonly #log: MeteredLog;
  readonly #forwards = new ForwardMeter();
  readonly #underWay = new UnderWay();
  readonly #me: Omit<Lead, 'history'>;
  readonly #registry: RegistryLine;
  #databases: HostedDatabases | undefined;
  #moving: Moving | undefined;
  #operations: Operations | undefined;

  private constructor(
    options: ClusterPartOptions,
    parts: {
      readonly server: LinkServer;
      readonly client: LinkClient;
      readonly membership: Membership;
      readonly me: Omit<Lead, 'history'>;
    },
  ) {
    this.#options = options;
    this.#server = parts.server;
    this.#client = parts.client;
    this.#membership = parts.membership;
    this.#me = parts.me;
    const { joined, now, leaseMillis, report } = options;
    this.#roles = new RoleWatch({ now, leaseMillis, report });
    this.#log = new MeteredLog({ sharedLog: joined.engine, now, report });
    this.#watch = new LinkWatch({
      client: this.#client,
      others: () => this.#membership.hosts.filter((host) => host.host !== this.#me.host),
      onRefused: (_, boot) => {
        this.#membership.refuses(boot);
        this.#wakeFollowersOf(boot);
      },
    });
    this.#registry = new RegistryLine({
      ask: (address, path, ask) => this.#client.askHost(address, path, ask),
      others: () => this.#others().map(({ address }) => address),
    });
    this.#routing = new Routing({
      placeOf: (database) => this.#placeOf(database),
      now: options.now,
    });
  }

  /** Rejects with `ClusterError`, and with `EngineError`. */
  static async start(options: ClusterPartOptions): Promise<ClusterPart> {
    const { joined, secret, facts, listen, advertise } = options;
    const { host, boot, cluster, engine } = joined;
    const identity = new LinkIdentity(secret, cluster);
    let part: ClusterPart | undefined;
    const server = await LinkServer.listen({
      ...{ identity, listen, boot, onRequest: options.onRequest, onUpgrade: options.onUpgrade },
      untilKnown: (head) => part?.untilKnown(head),
      isHere: (head) => part?.placeOf(head.database).kind === 'here',
      hintFor: (head) => part?.hintFor(head.database),
      onAsk: async (path, body) => (path === 'ping' ? {} : part?.answer(path, body)),
    });
    const client = new LinkClient(identity);
    try {
      const shown = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
      const address = advertise ?? `${shown}:${server.port}`;
      checkHostFacts({ name: facts.name, address });
      const { leaseMillis, now, onReplaced, report } = options;
      const { skewMillis } = joined;
      const membership = await Membership.join({
        ...{ directory: engine, me: { host, boot, address, ...facts } },
        ...{ leaseMillis, now, onReplaced, report },
        ...(skewMillis !== undefined && { skewMillis }),
      });
      const me = { host, boot, name: facts.name, address, format: facts.formats[0] };
      part = new ClusterPart(options, { server, client, membership, me });
      return part;
    } catch (error) {
      client.close();
      await server.close();
      throw error;
    }
  }

  /** What the databases of this host are given. */
  get forHost(): HostCluster {
    const { joined, leaseMillis, waitsForLocalSync } = this.#options;
    return {
      ...{ cluster: joined.cluster, me: this.#me, sharedLog: this.#log },
      entryBytesMax: joined.capabilities.entryBytesMax,
      ...{ leaseMillis, waitsForLocalSync },
      history: () => joined.history(),
      look: (database, leader) => this.#look(database, leader),
      acknowledgedElsewhere: (database) => this.#acknowledgedElsewhere(database),
      changeRegistry: ({ address }, change) => this.#registry.change(address, change),
      untilCopied: (offset) => this.#registry.untilCopied(offset),
      onRole: (database, role) => this.#changed(database, role),
    };
  }

  get membership(): Membership {
    return this.#membership;
  }

  /** The databases run, and can be woken and given away. */
  attach(databases: HostedDatabases): void {
    this.#databases = databases;
    const { joined, report } = this.#options;
    const moving = new Moving({
      ...{ control: databases, report, me: this.#me.host, history: () => joined.history() },
      led: () => this.#led(),
      living: () => this.#membership.living,
      isReady: (host, database) => this.#isReady(host, database),
      gaveAway: (database, to) => this.#roles.gaveAway(database, to),
    });
    this.#moving = moving;
    this.#registry.attach(databases);
    this.#operations = new Operations({
      ...{ me: this.#me.host, membership: this.#membership, client: this.#client, moving },
      placeOf: (database) => this.#placeOf(database),
      ownCopies: () => this.ownCopies,
      forget: (host) => joined.engine.forget(host),
    });
  }

  /** What operators do with hosts; `undefined` before the databases run. */
  get operations(): Operations | undefined {
    return this.#operations;
  }

  /** This host's part in each database, as it was told last. */
  get roles(): ReadonlyMap<DatabaseIdentity, DatabaseRole> {
    return this.#roles.roles;
  }

  /** Time since this host had all of a database that the engine showed. */
  ageMillisOf(database: DatabaseIdentity): number | undefined {
    return this.#roles.ageMillisOf(database);
  }

  get figures(): ClusterPartFigures {
    const { counts: forwarded, times: forwardTimes } = this.#forwards;
    return { appends: this.#log.figures, roles: this.#roles.figures, forwarded, forwardTimes };
  }

  /**
   * Takes no leaders any more, and gives away those that it has, until `signal` ends it. Returns
   * how many are left. Requests are answered meanwhile.
   */
  async drain(signal: AbortSignal): Promise<number> {
    await this.#membership.drain(true);
    return this.#moving?.moveAll(signal) ?? 0;
  }

  /** The name of this host. */
  get name(): string {
    return this.#me.name;
  }

  /** Takes a request to the host that leads its database; see `Routing`. */
  forward(request: ForwardRequest): Promise<Led<ForwardAnswer>> {
    return this.#route(request, (address, passed) => this.#client.forward(address, passed));
  }

  /** The same for the request of a WebSocket; `first`: what the client sent behind it. */
  upgrade(request: ForwardRequest, first: Buffer): Promise<Led<UpgradeAnswer>> {
    return this.#route(request, (address, passed) => this.#client.upgrade(address, passed, first));
  }

  /** Where a database is led, as far as this host knows. */
  placeOf(database: DatabaseIdentity): LeaderPlace {
    return this.#placeOf(database);
  }

  /** True if the last term of a database is another host's; requests are refused here. */
  isLedElsewhere(database: DatabaseIdentity): boolean {
    const role = this.#roles.roleOf(database);
    return role?.kind === 'follower' && role.isLedElsewhere;
  }

  /** Waits for what the sender of a request knew of the registry; `undefined`: it is known here. */
  untilKnown({ registryOffset = 0 }: ForwardedHead): Promise<unknown> | undefined {
    const registry = this.#databases;
    if (registry === undefined || registryOffset <= registry.registryOffset) return undefined;
    return registry.untilRegistry(registryOffset, limits.registryWaitMillisMax);
  }

  /** What the answer 421 says. */
  hintFor(database: DatabaseIdentity): LeaderHint | undefined {
    const place = this.#placeOf(database);
    return place.kind === 'elsewhere' ? { term: place.term, address: place.address } : undefined;
  }

  /**
   * What another host asks: where acknowledged history of a database ends here, and whether this
   * host could lead it.
   */
  answer(path: string, body: Uint8Array): unknown {
    const answered = this.#registry.answer(path, body);
    if (answered !== undefined) return answered;
    const [, question, hex] = /^(acknowledged|ready)\/([0-9a-f]{64})$/.exec(path) ?? [];
    if (hex === undefined) return this.#operations?.answer(path);
    const role = this.#roles.roleOf(databaseIdentity(BigInt(`0x${hex}`)));
    if (question === 'ready') return { isReady: isReadyToLead(role) };
    if (role?.kind !== 'follower' || role.end.offset > role.settledOffset) return undefined;
    const { position, chain, offset } = role.end;
    return { position, chain: bigintToHex(chain, 16), offset };
  }

  /** Answers no other host any more. */
  stopListening(): Promise<void> {
    this.#watch.close();
    return this.#server.close();
  }

  /** Says goodbye, so that others need not wait. The databases have been closed before. */
  async close(): Promise<void> {
    await this.#membership.leave();
    this.#client.close();
    await this.stopListening();
    await this.#options.joined.close();
  }

  /** Adds by which address clients reach the host that answered. */
  async #route<Answer extends { readonly kind: string }>(
    request: ForwardRequest,
    send: Send<Answer>,
  ): Promise<Led<Answer>> {
    const { now } = this.#options;
    const begun = now();
    let leader: string | undefined;
    const routed = await this.#routing.route<Answer>(request, (address, passed) => {
      leader = this.#membership.clientAddressAt(address);
      const registryOffset = this.#databases?.registryOffset;
      const told = { ...passed, head: { ...passed.head, registryOffset } };
      return this.#underWay.run({ address, database: passed.head.database }, told, send);
    });
    this.#forwards.count(request.path, resultOf(routed), now() - begun);
    return { ...routed, leader };
  }

  #changed(database: DatabaseIdentity, role: DatabaseRole): void {
    this.#roles.changed(database, role);
    this.#routing.changed(database);
    const { kind, address } = { address: undefined, ...this.#placeOf(database) };
    // While nobody is known to lead, the one who was asked may still answer.
    if (kind !== 'unknown') this.#underWay.leads(database, address);
  }

  #look(database: DatabaseIdentity, leader: Lead | undefined): LookAround {
    const around = this.#membership.look(database, leader);
    const row = leader === undefined ? undefined : this.#membership.hostOf(leader.host);
    this.#roles.looked(database, leader, { ...around, hasLeft: row?.state === 'gone' });
    return around;
  }

  #placeOf(database: DatabaseIdentity): LeaderPlace {
    const role = this.#roles.roleOf(database);
    if (role?.kind === 'leader') return { kind: 'here' };
    const leader = role?.kind === 'follower' && role.isLedElsewhere ? role.leader : undefined;
    if (leader === undefined || this.#membership.look(database, leader).isGone) {
      return { kind: 'unknown' };
    }
    return { kind: 'elsewhere', term: (role as FollowerRole).term, address: leader.address };
  }

  #wakeFollowersOf(boot: Lead['boot']): void {
    for (const [database, role] of this.roles) {
      if (role.kind === 'follower' && role.leader?.boot === boot) this.#databases?.wake(database);
    }
  }

  /** What can be given away. The registry is taken over by another host when this one leaves. */
  #led(): DatabaseIdentity[] {
    const isLed = ([database, { kind }]: readonly [DatabaseIdentity, DatabaseRole]) =>
      kind === 'leader' && database !== registryIdentity;
    return [...this.roles].filter(isLed).map(([database]) => database);
  }

  /** This host's part in each database, for others. */
  get ownCopies(): readonly Copy[] {
    return [...this.roles].map(([database, role]) => {
      const { offset = 0, acknowledged = 0 } = this.#databases?.offsetsOf?.(database) ?? {};
      const own = {
        ...{ database, kind: role.kind, offset, acknowledged, term: 0, isAtEnd: false },
        ageMillis: this.#roles.ageMillisOf(database),
      };
      if (role.kind === 'leader') return { ...own, term: role.term, isAtEnd: true };
      if (role.kind !== 'follower') return own;
      const { term, end, settledOffset, isAtEnd } = role;
      return { ...own, term, offset: end.offset, acknowledged: settledOffset, isAtEnd };
    });
  }

  async #isReady({ address }: SeenHost, database: DatabaseIdentity): Promise<boolean> {
    try {
      const answer = await this.#client.askHost(address, `ready/${bigintToHex(database, 64)}`);
      return (answer as { readonly isReady?: unknown }).isReady === true;
    } catch {
      return false;
    }
  }

  #others(): readonly SeenHost[] {
    const others = this.#membership.living.filter(({ host }) => host !== this.#me.host);
    return others.slice(0, limits.clusterHostsMax);
  }

  async #acknowledgedElsewhere(database: DatabaseIdentity): Promise<readonly LogPoint[]> {
    const path = `acknowledged/${bigintToHex(database, 64)}`;
    const asked = this.#others().map(({ address }) =>
      this.#client.askHost(address, path).then(pointOf),
    );
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((one) =>
      one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
    );
  }
}

function resultOf({ kind }: { readonly kind: string }): ForwardCount['result'] {
  // A connection that was upgraded was answered, too.
  return kind === 'upgraded' ? 'answered' : (kind as ForwardCount['result']);
}

/** What became of a request, and the client address of the host that it went to last. */
export type Led<Answer extends { readonly kind: string }> = Routed<Answer> & {
  readonly leader: string | undefined;
};

function pointOf(answer: unknown): LogPoint | undefined {
  const { position, chain, offset } = answer as Readonly<Record<string, unknown>>;
  const areCounts = Number.isSafeInteger(position) && Number.isSafeInteger(offset);
  if (!areCounts || typeof chain !== 'string' || !/^[0-9a-f]{16}$/.test(chain)) return undefined;
  return { position: Number(position), chain: BigInt(`0x${chain}`), offset: Number(offset) };
}

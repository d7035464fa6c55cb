import { registryIdentity } from '../host/registry/registry.ts';
import type { CopyTimes } from '../host/replication/copy-times.ts';
import type { DatabaseRole } from '../host/replication/database-role.ts';
import type { HostCluster } from '../host/replication/host-cluster.ts';
import { limits } from '../limits.ts';
import type { PlaceHint, SeenHost } from '../shared-log/directory.ts';
import { restartFormat } from '../shared-log/entry.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { BootId } from '../shared-log/host-ids.ts';
import { databaseIn, type LogName, logName } from '../shared-log/log-name.ts';
import type { LookAround } from '../shared-log/member-options.ts';
import type { StoredSnapshots } from '../shared-log/stored-snapshots.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { clientAddresses } from './client-addresses.ts';
import { ClockCare } from './clock-care.ts';
import type { ClusterPartOptions } from './cluster-part-options.ts';
import { CopyLine } from './copy-line.ts';
import {
  acknowledgedEnds,
  databaseQuestion,
  isReadyAt,
  shownEnd,
  wakeAt,
} from './database-questions.ts';
import { EngineWatch } from './engine-watch.ts';
import { snapshotsIn, storedWith } from './fetch-snapshot.ts';
import { Forgetting } from './forgetting.ts';
import { ForwardMeter, resultOf } from './forward-meter.ts';
import type { HostedDatabases } from './hosted-databases.ts';
import { JobLine, placeOfHost } from './job-line.ts';
import { checkHostFacts } from './join-cluster.ts';
import { LeadProofs } from './lead-proofs.ts';
import type { LeaderHint } from './leader-hint.ts';
import { LeaderPlaces } from './leader-places.ts';
import { Lines } from './lines.ts';
import {
  type ForwardAnswer,
  type ForwardRequest,
  LinkClient,
  type UpgradeAnswer,
} from './link-client.ts';
import { LinkServer } from './link-server.ts';
import { LinkIdentity } from './link-tls.ts';
import { LinkWatch } from './link-watch.ts';
import { Membership } from './membership.ts';
import { MeteredLog } from './metered-log.ts';
import { ModuleLogs } from './module-logs.ts';
import { isReadyToLead, Moving, type NotGiven } from './moving.ts';
import { type Copy, Operations } from './operations.ts';
import { ownCopy } from './own-copy.ts';
import type { ClusterPartFigures } from './part-figures.ts';
import { Placing } from './placing.ts';
import { RegistryLine } from './registry-line.ts';
import { RoleWatch } from './role-watch.ts';
import { type LeaderPlace, type Led, Routing, type Send } from './routing.ts';
import type { ForwardedHead } from './settled-caller.ts';
import { SteppingDown } from './stepping-down.ts';
import { StreamedLog } from './streamed-log.ts';
import { UnderWay } from './under-way.ts';

/**
 * This host's part in its cluster: the others see it, it hears of those that end, and requests get
 * to the host that leads their database. The databases themselves are of `host`, which is given
 * `forHost`.
 */
export class ClusterPart {
  readonly #options: ClusterPartOptions;
  readonly server: LinkServer;
  readonly #client: LinkClient;
  readonly #membership: Membership;
  readonly #watch: LinkWatch;
  readonly #routing: Routing;
  readonly #places: LeaderPlaces;
  readonly #roles: RoleWatch;
  readonly #log: MeteredLog;
  /** The same, with what other hosts send of it. */
  readonly #streams: StreamedLog;
  readonly #engine: EngineWatch;
  readonly #forwards = new ForwardMeter();
  readonly #underWay = new UnderWay();
  readonly #me: Omit<Lead, 'history'>;
  readonly #registry: RegistryLine;
  readonly #logs: ModuleLogs;
  readonly #steppingDown: SteppingDown;
  readonly #copies: CopyLine;
  readonly #proofs: LeadProofs;
  readonly #jobs: JobLine;
  readonly #placing: Placing;
  readonly #lines: Lines;
  #databases: HostedDatabases | undefined;
  #moving: Moving | undefined;
  #forgetting: Forgetting | undefined;
  #clock: ClockCare | undefined;
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
    this.server = parts.server;
    this.#client = parts.client;
    this.#membership = parts.membership;
    this.#me = parts.me;
    const { joined, now, leaseMillis, isReadByLease, report } = options;
    this.#roles = new RoleWatch({ now, leaseMillis, report, me: parts.me.host });
    const proofs = new LeadProofs(now, isReadByLease === true ? leaseMillis : undefined);
    this.#proofs = proofs;
    this.#log = new MeteredLog({
      ...{ sharedLog: joined.engine, now, report, proofs },
      removed: (log) => this.snapshotsOf(log)?.clear(),
      onAcknowledged: (begunAt) => this.#engine.acknowledged(begunAt),
    });
    this.#streams = new StreamedLog({
      ...{ inner: this.#log, client: this.#client },
      leaderOf: (log) => this.#places.followedLeader(databaseIn(log)),
    });
    this.#engine = new EngineWatch({
      ...{ now, report },
      probe: () => this.#probe(),
      trouble: () => this.#trouble(),
    });
    this.#watch = new LinkWatch({
      client: this.#client,
      others: () => this.#membership.hosts.filter((host) => host.host !== this.#me.host),
      now,
      onRefused: (_, boot) => {
        this.#membership.refuses(boot);
        this.#wakeFollowersOf(boot);
      },
    });
    const silentMillis = (boot: BootId) => this.#watch.silentMillis(boot);
    const signs = { membership: this.#membership, leaseMillis, silentMillis };
    this.server.relays.begin(signs);
    this.#lines = new Lines({
      ...{ ...signs, client: this.#client, me: parts.me, now },
      leaderOf: (database) => this.#places.followedLeader(database),
      registryOffset: () => this.#databases?.registryOffset ?? 0,
      untilKnown: (registryOffset) => this.untilKnown({ registryOffset }),
    });
    this.#registry = new RegistryLine({
      ask: (address, path, ask) => this.#client.askHost(address, path, ask),
      others: () => this.#others().map(({ address }) => address),
    });
    this.#steppingDown = new SteppingDown({
      ...{ me: this.#me.boot, now, client: this.#client, others: () => this.#others() },
      wake: (database) => this.#databases?.wake(database),
    });
    this.#logs = new ModuleLogs({
      client: this.#client,
      others: () => this.#membership.hosts.filter(({ host }) => host !== this.#me.host),
      living: () => this.#membership.living,
      own: async (database, lines) => this.#databases?.ownLog?.(database, lines) ?? '',
    });
    this.#copies = new CopyLine({
      ...{ cluster: joined.cluster, boot: this.#me.boot, now, sharedLog: this.#log, proofs },
      ask: (address, path, ask) => this.#client.askHost(address, path, ask),
      roleOf: (database) => this.#roles.roleOf(database),
      logOf: (database) => this.#log.logOf(identityToHex(database)),
    });
    this.#jobs = new JobLine({
      ...{ client: this.#client, others: () => this.#others() },
      hasJob: (id) => this.#databases?.hasJob?.(id) === true,
    });
    this.#placing = new Placing({
      ...{ me: this.#me.host, now, report, directory: joined.engine, roles: this.#roles },
      ...{ membership: this.#membership, client: this.#client },
      copiesDefault: options.copies ?? limits.copiesDefault,
    });
    this.#places = new LeaderPlaces({
      roleOf: (database) => this.#roles.roleOf(database),
      lastLeadOf: (database) => this.#roles.lastLeadOf(database),
      isGone: (database, leader) => this.#around(database, leader).isGone,
      others: () => this.#others(),
      mayLive: () => this.#membership.mayLive((boot) => this.#watch.silentMillis(boot)),
      hintOf: (database) => this.hintOf(database),
    });
    this.#routing = new Routing({
      placeOf: (database) => this.#places.wayTo(database),
      ...{ now: options.now, me: this.#me.address },
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
      isHere: ({ database }) =>
        database === placeOfHost(host) || part?.placeOf(database).kind === 'here',
      untilHere: (head) => part?.untilHere(head),
      hintFor: (head) => part?.hintFor(head.database),
      onStream: (request, response) => {
        if (part === undefined) response.destroy();
        else part.#streams.sender.open(request, response);
      },
      onLine: (request, response) => part?.lines.open(request, response) ?? response.end(),
      onAsk: async (path, body) => (path === 'ping' ? {} : part?.answer(path, body)),
    });
    const client = new LinkClient(identity);
    try {
      const shown = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
      const address = advertise ?? `${shown}:${server.port}`;
      checkHostFacts({ name: facts.name, address });
      const { leaseMillis, beatMillis, now, onReplaced, report } = options;
      const { skewMillis } = joined;
      const membership = await Membership.join({
        ...{ directory: engine, me: { host, boot, address, ...facts } },
        ...{ leaseMillis, beatMillis, now, onReplaced, report },
        ...(skewMillis !== undefined && { skewMillis }),
        onLate: () => void (part === undefined || part.#renewLeads()),
        mayHold: (database, holder) =>
          part === undefined || part.#placing.wishes.mayHold(database, holder),
      });
      const me = { host, boot, name: facts.name, address, format: facts.formats[0] };
      part = new ClusterPart(options, { server, client, membership, me });
      await part.#placing.wishes.read();
      return part;
    } catch (error) {
      client.close();
      await server.close();
      throw error;
    }
  }

  /** What the databases of this host are given. */
  get forHost(): HostCluster {
    const { joined, leaseMillis, isReadByLease, waitsForLocalSync } = this.#options;
    return {
      ...{ cluster: joined.cluster, me: this.#me, sharedLog: this.#streams },
      entryBytesMax: joined.capabilities.entryBytesMax,
      ...{ leaseMillis, isReadByLease, waitsForLocalSync },
      ...{ engine: this.#engine, history: () => joined.history() },
      look: (database, leader) => this.#look(database, leader),
      readRestarts: () => this.#membership.formatRead >= restartFormat,
      acknowledgedElsewhere: (database) => acknowledgedEnds(this.#client, this.#others(), database),
      changeRegistry: ({ address }, change) => this.#registry.change(address, change),
      untilCopied: (offset) => this.#registry.untilCopied(offset),
      leaderLine: this.#lines.leaderLine,
      provesLead: (database, generation) =>
        this.#proofs.prove(logName(joined.cluster, database, generation), this.#log),
      provesRead: (database, generation) => {
        const log = logName(joined.cluster, database, generation);
        const renew = () => this.#databases?.renewLead?.(database);
        return this.#proofs.proveRead(log, this.#log, renew);
      },
      ...(joined.snapshots && storedWith(joined.snapshots)),
      logsElsewhere: (database, lines) => this.#logs.elsewhere(database, lines),
      onRole: (database, role) => this.#changed(database, role),
      holds: (database) => this.#placing.wishes.holds(database),
      onGone: (database) => {
        this.#roles.forget(database);
        this.#routing.changed(database);
      },
    };
  }

  /** False if somebody may have lost a right since this host has heard of such things. */
  get knowsRights(): boolean {
    const age = this.ageMillisOf(registryIdentity);
    return age !== undefined && age <= this.#options.leaseMillis && !this.#engine.isAway;
  }

  /** The lines between this host and others, about clients. */
  get lines(): Lines {
    return this.#lines;
  }

  /** Whether the engine takes commits. */
  get engine(): EngineWatch {
    return this.#engine;
  }

  /** The snapshots of a log that hosts share; `undefined`: there is no place for them. */
  snapshotsOf(log: LogName): StoredSnapshots | undefined {
    const { snapshots } = this.#options.joined;
    return snapshots && snapshotsIn(snapshots, log);
  }

  /** Where clients reach the hosts that live. */
  get clientAddresses(): readonly string[] {
    return clientAddresses(this.#membership);
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
      isReady: (host, database) => isReadyAt(this.#client, host, database),
      givesAway: (database, to, work) => this.#roles.givesAway(database, to, work),
      wake: (host, database) => wakeAt(this.#client, host, database),
    });
    this.#moving = moving;
    this.#clock = new ClockCare({
      ...{ membership: this.#membership, me: this.#me.host, moving },
      ...{ now: this.#options.now, leads: () => this.#led().length > 0 },
    });
    this.#registry.attach(databases);
    this.#forgetting = new Forgetting({
      ...{ me: this.#me.host, report, hosts: () => this.#membership.hosts },
      isEngineReached: () => this.#membership.isEngineReached,
      leadsRegistry: () => this.#roles.roleOf(registryIdentity)?.kind === 'leader',
      roles: () => this.roles.values(),
      forget: (host) => joined.engine.forget(host),
    });
    this.#copies.attach(databases);
    // Before that nothing can be asked of the engine that waits for its standby.
    this.#engine.start();
    this.#operations = new Operations({
      ...{ me: this.#me.host, membership: this.#membership, client: this.#client, moving },
      placeOf: (database) => this.#places.placeOf(database),
      takeUp: (database) => this.#placing.wishes.ask(database),
      ...{ repair: databases.repair?.bind(databases), keys: joined.keys },
      ownCopies: () => this.ownCopies,
      forget: (host) => joined.engine.forget(host),
    });
    this.#placing.attach({ databases, moving, operations: this.#operations });
  }

  /** What operators do with hosts; `undefined` before the databases run. */
  get operations(): Operations | undefined {
    return this.#operations;
  }

  /** Who shall have a database, and who led it, when the placer looked last. */
  hintOf(database: DatabaseIdentity): PlaceHint | undefined {
    return this.#placing.wishes.hintOf(database);
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
    return {
      ...{ appends: this.#log.figures, roles: this.#roles.figures, forwarded, forwardTimes },
      streams: this.#streams.figures,
      lines: this.#lines.figures,
      moves: this.#moving?.counts ?? { operator: 0, placer: 0, drain: 0 },
      copies: this.#placing.counts,
    };
  }

  /**
   * Takes no leaders any more, and gives away those that it has, until `signal` ends it. Returns
   * what is left. Requests are answered meanwhile.
   */
  async drain(signal: AbortSignal): Promise<readonly NotGiven[]> {
    await this.#membership.drain(true);
    return this.#moving?.moveAll(signal) ?? [];
  }

  /** What this host knows of the age of its copies. */
  get copies(): CopyTimes {
    return this.#copies;
  }

  /** Databases that this host leads, without the registry. */
  get ledCount(): number {
    return this.#led().filter((database) => database !== registryIdentity).length;
  }

  /** The name of this host. */
  get name(): string {
    return this.#me.name;
  }

  /** Takes a request to the host that leads its database; see `Routing`. */
  forward(request: ForwardRequest): Promise<Led<ForwardAnswer>> {
    return this.#route(request, (address, passed) => this.#client.forward(address, passed));
  }

  /** Takes a request to the host that has a job; `undefined`: none that answers has it. */
  forwardJob(id: string, request: ForwardRequest): Promise<ForwardAnswer | undefined> {
    return this.#jobs.forward(id, request);
  }

  /** The same for the request of a WebSocket; `first`: what the client sent behind it. */
  upgrade(request: ForwardRequest, first: Buffer): Promise<Led<UpgradeAnswer>> {
    return this.#route(request, (address, passed) => this.#client.upgrade(address, passed, first));
  }

  /** Where a database is led, as far as this host knows. */
  placeOf(database: DatabaseIdentity): LeaderPlace {
    return this.#places.placeOf(database);
  }

  /**
   * True if requests for a database go to other hosts: its last term is another one's, or this
   * host's copy is broken, or not open yet, and another host may live.
   */
  isLedElsewhere(database: DatabaseIdentity): boolean {
    return this.#places.isElsewhere(database);
  }

  /** True if this host's copy of a database is of no use: others may serve it. */
  isBroken(database: DatabaseIdentity): boolean {
    return this.#roles.roleOf(database)?.kind === 'broken' && this.#others().length > 0;
  }

  /** Waits for what the sender of a request knew of the registry; `undefined`: it is known here. */
  untilKnown({
    registryOffset = 0,
  }: Pick<ForwardedHead, 'registryOffset'>): Promise<unknown> | undefined {
    const registry = this.#databases;
    if (registry === undefined || registryOffset <= registry.registryOffset) return undefined;
    return registry.untilRegistry(registryOffset, limits.registryWaitMillisMax);
  }

  /**
   * Waits until this host leads, if the sender of a request has read that it will; `undefined`:
   * this host knows better.
   */
  untilHere({ database, term = 0 }: ForwardedHead): Promise<boolean> | undefined {
    const role = this.#roles.roleOf(database);
    // Its sender has read that this host leads, which had let its copy go in that moment.
    const isNews = term > (this.hintOf(database)?.term ?? 0);
    if (role === undefined && isNews) this.#placing.wishes.ask(database);
    if (role?.kind !== 'follower') return undefined;
    const isNamed = role.leader?.boot === this.#me.boot && role.term >= term;
    if (!isNamed && role.term >= term) return undefined;
    this.#databases?.wake(database);
    return this.#routing.untilHere(database, limits.handOverMillisMax);
  }

  /** What the answer 421 says. */
  hintFor(database: DatabaseIdentity): LeaderHint | undefined {
    const place = this.#places.wayTo(database);
    const isKnown = place.kind === 'elsewhere' && place.term > 0;
    return isKnown ? { term: place.term, address: place.address } : undefined;
  }

  /**
   * What another host asks: where acknowledged history of a database ends here, and whether this
   * host could lead it.
   */
  answer(path: string, body: Uint8Array): unknown {
    const answered =
      this.#registry.answer(path, body) ??
      this.#logs.answer(path) ??
      this.#jobs.answer(path) ??
      this.#placing.answer(path) ??
      this.#steppingDown.answer(path) ??
      this.#copies.answer(path, body) ??
      this.#lines.answer(path);
    if (answered !== undefined) return answered;
    const question = databaseQuestion(path);
    if (question === undefined) return this.#operations?.answer(path);
    const { kind, database } = question;
    if (kind === 'wake') return this.#databases?.wake(database) ?? {};
    const role = this.#roles.roleOf(database);
    if (kind === 'acknowledged') return shownEnd(role);
    // Who asks may not have seen yet that this host drains: its view of others is a beat old.
    const takesLeaders = this.#membership.state === 'up' && this.#clock?.isOff !== true;
    return { isReady: takesLeaders && isReadyToLead(role) };
  }

  /** Answers no other host any more. */
  stopListening(): Promise<void> {
    this.#copies.stop();
    this.#streams.close();
    this.#lines.close();
    this.#watch.close();
    return this.server.close();
  }

  /** Says goodbye, so that others need not wait. The databases have been closed before. */
  async close(): Promise<void> {
    this.#engine.close();
    this.#clock?.stop();
    this.#forgetting?.close();
    this.#placing.close();
    await this.#membership.leave();
    this.#client.close();
    await this.stopListening();
    await this.#options.joined.close();
  }

  /** Any log will do: what counts is the commit that a confirmation waits for. */
  async #probe(): Promise<boolean> {
    const log = logName(this.#options.joined.cluster, registryIdentity, 0);
    const [result] = await this.#log.confirm([{ log, seq: 0 }]);
    return result !== undefined && result !== 'unknown';
  }

  async #trouble(): Promise<string | undefined> {
    return this.#options.joined.trouble?.().catch((error: Error) => error.message);
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
      const head = { ...passed.head, registryOffset, sender: this.#me.boot };
      const told = { ...passed, head };
      return this.#underWay.run({ address, database: passed.head.database }, told, send);
    });
    this.#forwards.count(request.path, resultOf(routed), now() - begun);
    return { ...routed, leader };
  }

  #changed(database: DatabaseIdentity, role: DatabaseRole): void {
    const before = this.#roles.roleOf(database);
    if (before?.kind === 'leader' && role.kind === 'broken') this.#steppingDown.tell(database);
    const leader = role.kind === 'leader' ? this.#me : leaderIn(role);
    if (leader !== undefined) this.#steppingDown.led(database, leader.boot);
    this.#roles.changed(database, role);
    this.#routing.changed(database);
    this.#copies.changed(database, role);
    this.#lines.changed(database);
    const { kind, address } = { address: undefined, ...this.#places.placeOf(database) };
    // While nobody is known to lead, the one who was asked may still answer.
    if (kind !== 'unknown') this.#underWay.leads(database, address);
  }

  #look(database: DatabaseIdentity, leader: Lead | undefined): LookAround {
    const around = this.#around(database, leader);
    const row = leader === undefined ? undefined : this.#membership.hostOf(leader.host);
    this.#roles.looked(database, leader, { ...around, hasLeft: row?.state === 'gone' });
    return around;
  }

  #around(database: DatabaseIdentity, leader: Lead | undefined): LookAround {
    const around = this.#membership.look(database, leader);
    return this.#steppingDown.has(database, leader?.boot) ? { ...around, isGone: true } : around;
  }

  #wakeFollowersOf(boot: Lead['boot']): void {
    for (const [database, role] of this.roles) {
      if (role.kind === 'follower' && role.leader?.boot === boot) this.#databases?.wake(database);
    }
  }

  /** What can be given away; the registry comes last, because the others may have to change it. */
  /** Others may lead by now what this host has led: an append has it hear of that. */
  #renewLeads(): void {
    for (const database of this.#led()) this.#databases?.renewLead?.(database);
  }

  #led(): DatabaseIdentity[] {
    const led = [...this.roles].filter(([, { kind }]) => kind === 'leader').map(([one]) => one);
    const isLast = (database: DatabaseIdentity) => Number(database === registryIdentity);
    return led.sort((one, other) => isLast(one) - isLast(other));
  }

  /** This host's part in each database, for others. */
  get ownCopies(): readonly Copy[] {
    return [...this.roles].map(([database, role]) =>
      ownCopy(database, role, {
        ...this.#databases?.offsetsOf?.(database),
        ageMillis: this.#roles.ageMillisOf(database),
      }),
    );
  }

  #others(): readonly SeenHost[] {
    const others = this.#membership.living.filter(({ host }) => host !== this.#me.host);
    return others.slice(0, limits.clusterHostsMax);
  }
}

function leaderIn(role: DatabaseRole): Lead | undefined {
  return role.kind === 'follower' ? role.leader : undefined;
}

import type { LogPoint } from '../../../src/log/log-point.ts';
import { decodeEntry } from '../../../src/shared-log/entry.ts';
import { type Beginning, decodeBeginning } from '../../../src/shared-log/entry-payloads.ts';
import { clusterId, type LogName, logName } from '../../../src/shared-log/log-name.ts';
import type { MemoryEngine } from '../../../src/shared-log/memory-engine.ts';
import { truncationPlace } from '../../../src/shared-log/truncation.ts';
import { Random } from '../../../src/testing/random.ts';
import { databaseIdentity } from '../../../src/values/identity-roles.ts';
import { beginningOf } from '../../support/shared-log-people.ts';
import { SteadyClock } from '../../support/steady-clock.ts';
import { finalLogOf, type Violation, violationsOf } from './cluster-check.ts';
import { type ClusterParts, SimulatedHost, type World } from './simulated-host.ts';

export interface ClusterRunOptions {
  readonly seed: number;
  readonly parts: ClusterParts;
  /** True for an engine that acknowledges what only its primary has. */
  readonly isEngineLying?: boolean;
  readonly waitsForLocalSync?: boolean;
  /** True: hosts take snapshots, entries that those have are removed, and disks are lost. */
  readonly isShortened?: boolean;
  /** True: nothing fails, and leaders give their terms away again and again. */
  readonly isOnlyMoved?: boolean;
  /** True: leaders answer reads within a lease. */
  readonly isReadByLease?: boolean;
  /** Simulated time in which faults happen. */
  readonly faultMillis?: number;
}

export interface ClusterRun {
  readonly violations: readonly Violation[];
  /** What happened, in order, for people who look at a seed. */
  readonly story: readonly string[];
  readonly acknowledgedCount: number;
  readonly readCount: number;
  /** Reads for which the engine was not asked. */
  readonly leaseReadCount: number;
  readonly termCount: number;
  /** Calls that ran, and whose host lost its term before they were acknowledged. */
  readonly failedCount: number;
  /** The longest time without an acknowledged call, before everything healed. */
  readonly longestGapMillis: number;
  /** How often entries were removed. */
  readonly truncatedCount: number;
  /** How often a host began with a snapshot, because what it lacked was gone. */
  readonly restartCount: number;
}

export interface Acknowledged {
  readonly call: string;
  readonly offset: number;
  readonly term: number;
  readonly at: number;
}

/** Until messages that were under way when everything healed have arrived, or are given up. */
const settleMillis = 10_000;
/** Within this time, calls are acknowledged again. */
const liveMillis = 5_000;

/** Runs one cluster with faults, heals everything, and checks what came of it. */
export async function runCluster(options: ClusterRunOptions): Promise<ClusterRun> {
  const cluster = new Cluster(options);
  await cluster.begin();
  await cluster.suffer(options.faultMillis ?? 15_000);
  await cluster.heal();
  return cluster.result();
}

class Cluster implements World {
  readonly parts: ClusterParts;
  readonly clock = new SteadyClock();
  readonly engine: MemoryEngine;
  readonly log: LogName = logName(clusterId(1n), databaseIdentity(9n), 1);
  readonly salt = 77;
  /** Places up to which somebody has made a snapshot. */
  readonly snapshots: LogPoint[] = [];
  readonly restartEvery: number;
  readonly beginning = beginningIn(beginningOf(77).bytes);
  truncatedCount = 0;
  readonly #removed: Uint8Array[] = [];
  readonly entryBytesMax = 64 * 1024;
  readonly leaseMillis = 2_000;
  readonly isReadByLease: boolean;
  readonly waitsForLocalSync: boolean;
  readonly random: Random;
  readonly hosts: SimulatedHost[];
  readonly #isEngineLying: boolean;
  readonly #isOnlyMoved: boolean;
  readonly #isShortened: boolean;
  #failedCount = 0;
  #healedAt = 0;
  readonly #story: string[] = [];
  readonly #acknowledged: Acknowledged[] = [];
  readonly #shown: { host: string; offset: number; chain: bigint }[] = [];
  readonly #violations: Violation[] = [];
  /** Largest acknowledged offset, at each moment at which it grew. */
  readonly #heights: { readonly at: number; readonly offset: number }[] = [];
  #callCount = 0;
  #readCount = 0;
  #leaseReadCount = 0;
  #isSlow = false;
  #calls: 'usual' | 'rare' | 'last' | 'none' = 'usual';

  constructor(options: ClusterRunOptions) {
    this.parts = options.parts;
    this.random = new Random(options.seed);
    this.waitsForLocalSync = options.waitsForLocalSync ?? true;
    this.isReadByLease = options.isReadByLease ?? false;
    this.#isEngineLying = options.isEngineLying ?? false;
    this.#isOnlyMoved = options.isOnlyMoved ?? false;
    this.#isShortened = options.isShortened ?? false;
    this.restartEvery = this.#isShortened ? 8 : Number.MAX_SAFE_INTEGER;
    this.engine = new this.parts.MemoryEngine({
      clock: this.clock,
      network: {
        travel: (client) => this.#travel(client),
        deliver: (client, work) => {
          if (client === 'operator') work();
          else this.#hostOf(client)?.deliver(client, work);
        },
      },
      replicationMillis: () => this.random.between(1, this.#isSlow ? 60 : 4),
      entryBytesMax: this.entryBytesMax,
    });
    const count = this.random.between(3, 5);
    this.hosts = Array.from({ length: count }, (_, at) => new SimulatedHost(this, at + 1));
  }

  async begin(): Promise<void> {
    const client = this.engine.connect('operator');
    const created = client.create(this.log, beginningOf(this.salt).bytes);
    await this.clock.pass(100);
    await created;
    for (const host of this.hosts) host.start();
    this.#work();
    await this.clock.pass(3_000);
  }

  async suffer(millis: number): Promise<void> {
    if (this.#isEngineLying) return this.#sufferLie(millis);
    if (this.#isOnlyMoved) return this.#move(millis);
    const end = this.clock.now() + millis;
    while (this.clock.now() < end) {
      await this.clock.pass(this.random.between(20, 1_200));
      this.#fault();
    }
  }

  async heal(): Promise<void> {
    this.#tell('everything heals');
    this.#healedAt = this.clock.now();
    this.engine.isLying = false;
    this.#isSlow = false;
    this.engine.isStandbyAway = false;
    for (const host of this.hosts) {
      host.isCut = false;
      host.isOnlyRead = false;
      host.skewMillis = 0;
      host.isDeceived = false;
      this.engine.rejoin(host.client);
      host.resume();
      host.start();
    }
    this.#calls = 'rare';
    await this.clock.pass(settleMillis);
    this.#calls = 'last';
    await this.clock.pass(liveMillis);
    this.#calls = 'none';
    await this.clock.pass(settleMillis);
  }

  result(): ClusterRun {
    const final = finalLogOf(this.#allEntries());
    const violations = violationsOf({
      final,
      acknowledged: this.#acknowledged,
      shown: this.#shown,
      hosts: this.hosts,
      mayRefuse: this.#isEngineLying,
      isLive: this.#acknowledged.some(({ call }) => call.startsWith('last')),
    });
    return {
      violations: [...this.#violations, ...violations],
      story: this.#story,
      acknowledgedCount: this.#acknowledged.length,
      readCount: this.#readCount,
      leaseReadCount: this.#leaseReadCount,
      failedCount: this.#failedCount,
      longestGapMillis: this.#longestGap(),
      truncatedCount: this.truncatedCount,
      restartCount: this.hosts.reduce((sum, { folder }) => sum + folder.restartCount, 0),
      termCount: final.kind === 'whole' ? final.termCount : 0,
    };
  }

  /** Those that are there, behind those that were removed. */
  #allEntries(): readonly Uint8Array[] {
    const all = [...this.#removed];
    for (const bytes of this.engine.settledEntries(this.log)) all[seqOf(bytes)] = bytes;
    return all;
  }

  /** A host takes a snapshot of what is acknowledged, and another one removes what nobody needs. */
  async #truncate(): Promise<void> {
    const host = this.random.pick(this.hosts);
    const end = host.settledEnd;
    const last = this.snapshots.at(-1);
    if (end !== undefined && end.position > (last?.position ?? 0)) this.snapshots.push(end);
    const { position } = this.snapshots.at(-2) ?? { position: 0 };
    const living = this.hosts.map(({ hasOffset }) => hasOffset);
    // Who is far behind is not waited for every time.
    const offset = this.random.chance(0.5) ? Number.POSITIVE_INFINITY : Math.min(...living);
    const bounds = { position, offset, seq: Number.POSITIVE_INFINITY };
    const sharedLog = this.engine.connect('operator');
    const place = await truncationPlace(sharedLog, this.log, bounds, this.restartEvery);
    if (place === undefined) return;
    for (const bytes of this.engine.settledEntries(this.log)) {
      if (seqOf(bytes) < place.seq) this.#removed[seqOf(bytes)] = bytes;
    }
    this.#tell(`entries before ${place.seq} are removed`);
    this.truncatedCount++;
    await sharedLog.truncate(this.log, place.seq);
  }

  /** An engine that lies is quicker than the disks, or waiting for them would prove nothing. */
  syncMillis(): number {
    return this.random.between(0, this.#isEngineLying ? 120 : 4);
  }

  shown(host: string, offset: number, chain: bigint): void {
    this.#shown.push({ host, offset, chain });
  }

  acknowledged(call: string, offset: number, term: number): void {
    const at = this.clock.now();
    this.#acknowledged.push({ call, offset, term, at });
    const height = this.#heights.at(-1)?.offset ?? 0;
    if (offset > height) this.#heights.push({ at, offset });
  }

  crashed(host: string, error: unknown): void {
    const text = `${host}: ${error instanceof Error ? error.stack : String(error)}`;
    this.#violations.push({ kind: 'crash', text });
  }

  failed(call: string): void {
    this.#failedCount++;
    this.#tell(`${call} was not acknowledged`);
  }

  released(offset: number, begun: number, isByLease: boolean): void {
    this.#readCount++;
    if (isByLease) this.#leaseReadCount++;
    const before = this.#heights.findLast(({ at }) => at < begun)?.offset ?? 0;
    if (offset >= before) return;
    const text = `a read that began at ${begun} saw commit ${offset}, and ${before} was there`;
    this.#violations.push({ kind: 'stale read', text });
  }

  /** Callers try hosts that may lead. */
  #work(): void {
    const next = () => {
      const leaders = this.hosts.filter((host) => host.isLeading);
      if (leaders.length > 0 && this.#calls !== 'none') {
        const host = this.random.pick(leaders);
        this.#callCount++;
        if (host.isOnlyRead || this.random.chance(this.isReadByLease ? 0.6 : 0.2)) host.read();
        else host.call(`${this.#calls === 'last' ? 'last' : 'call'} ${this.#callCount}`);
      }
      this.clock.after(this.random.between(1, this.#calls === 'rare' ? 400 : 80), next);
    };
    next();
  }

  /** Planned moves alone. */
  async #move(millis: number): Promise<void> {
    const end = this.clock.now() + millis;
    while (this.clock.now() < end) {
      await this.clock.pass(this.random.between(300, 1_500));
      const leader = this.hosts.find((one) => one.isLeading);
      const others = this.hosts.filter((one) => one !== leader);
      if (leader === undefined) continue;
      const to = this.random.pick(others);
      this.#tell(`${leader.client} gives its term to host ${to.number}`);
      leader.handOver(to);
    }
  }

  #longestGap(): number {
    const times = this.#acknowledged.map(({ at }) => at).filter((at) => at <= this.#healedAt);
    return times.slice(1).reduce((gap, at, before) => Math.max(gap, at - (times[before] ?? at)), 0);
  }

  #fault(): void {
    const host = this.random.pick(this.hosts);
    const { engine, random } = this;
    const leader = this.hosts.find((one) => one.isLeading) ?? host;
    const victim = random.chance(0.5) ? leader : host;
    const faults: readonly [string, () => void][] = [
      [`${victim.client} is killed`, () => victim.kill(true)],
      [`${victim.client} loses its power`, () => victim.kill(false)],
      [`host ${host.number} starts`, () => host.start()],
      [`host ${host.number} starts`, () => host.start()],
      [`${victim.client} is paused`, () => victim.pause()],
      ['all go on', () => this.#resumeAll()],
      ['all go on', () => this.#resumeAll()],
      [`${victim.client} is cut off from the engine`, () => this.#cut(victim)],
      [`the clock of ${host.client} jumps`, () => this.#jump(host)],
      ['the network is slow', () => this.#setSlow(true)],
      ['the network is quick', () => this.#setSlow(false)],
      ['the standby is away', () => this.#setAway(true)],
      ['the standby is back', () => this.#setAway(false)],
      ['the primary restarts', () => engine.restartPrimary()],
      ['the primary restarts while its standby is away', () => this.#restartAlone()],
      ['waits for the standby are cancelled', () => this.#cancelAlone()],
      ['the standby is promoted', () => engine.promote()],
      [`${victim.client} stays with the old primary`, () => engine.promote([victim.client])],
      [`${victim.client} stays there, and is only read`, () => this.#strandQuietly(victim)],
      [`${victim.client} stays there, and is only read`, () => this.#strandQuietly(victim)],
      [`${leader.client} gives its term to host ${host.number}`, () => leader.handOver(host)],
    ];
    const shortening: typeof faults = [
      ['a snapshot is taken', () => void this.#truncate().catch(() => undefined)],
      ['a snapshot is taken', () => void this.#truncate().catch(() => undefined)],
      [`the disk of host ${host.number} is lost`, () => host.loseDisk()],
    ];
    const leased: typeof faults = [
      [`host ${host.number} takes the others for gone`, () => this.#deceive(host)],
      [`host ${host.number} takes the others for gone`, () => this.#deceive(host)],
      [`${leader.client} is cut off, and taken for gone`, () => this.#cutDeceived(leader)],
      [`${leader.client} is cut off, and taken for gone`, () => this.#cutDeceived(leader)],
    ];
    const [text, work] = random.pick([
      ...faults,
      ...(this.#isShortened ? shortening : []),
      ...(this.isReadByLease ? leased : []),
    ]);
    this.#tell(text);
    work();
  }

  /**
   * The engine acknowledges what its standby lacks, and then loses it. The leader lives, or all hosts
   * lose their power at once: what only a host had that nobody can reach, nobody can restore.
   */
  async #sufferLie(millis: number): Promise<void> {
    await this.clock.pass(this.random.between(0, millis / 3));
    this.#tell('the engine lies');
    this.engine.isLying = true;
    this.engine.isStandbyAway = true;
    await this.clock.pass(this.random.between(50, 2_000));
    const isOutage = this.random.chance(0.5);
    this.#tell(
      isOutage ? 'all lose their power, and what was told in lies' : 'what it told is lost',
    );
    if (isOutage) for (const host of this.hosts) host.kill(false);
    this.engine.promote();
    this.engine.isLying = false;
    if (isOutage) for (const host of this.hosts) host.start();
    await this.clock.pass(millis / 2);
  }

  #cut(host: SimulatedHost, millisMin = 100): void {
    host.isCut = true;
    this.clock.after(this.random.between(millisMin, 6_000), () => {
      host.isCut = false;
    });
  }

  /** Only read: a read waits for what its host has written before, and that waits for the engine. */
  #cutDeceived(leader: SimulatedHost): void {
    leader.isOnlyRead = true;
    this.clock.after(this.random.between(1, 400), () => this.#cut(leader, 3_000));
    for (const host of this.hosts) if (host !== leader) this.#deceive(host, 3_000);
  }

  #deceive(host: SimulatedHost, millisMin = 100): void {
    host.isDeceived = true;
    this.clock.after(this.random.between(millisMin, 4_000), () => {
      host.isDeceived = false;
    });
  }

  #resumeAll(): void {
    for (const host of this.hosts) {
      host.resume();
      host.isOnlyRead = false;
      this.engine.rejoin(host.client);
    }
  }

  #strandQuietly(host: SimulatedHost): void {
    host.isOnlyRead = true;
    this.engine.promote([host.client]);
  }

  #jump(host: SimulatedHost): void {
    host.skewMillis = this.random.between(-5_000, 5_000);
  }

  #setSlow(isSlow: boolean): void {
    this.#isSlow = isSlow;
  }

  #setAway(isAway: boolean): void {
    this.engine.isStandbyAway = isAway;
    if (!isAway) this.engine.isLying = false;
  }

  /** F1: what waits becomes visible, and nobody acknowledged it. */
  #restartAlone(): void {
    this.engine.isStandbyAway = true;
    this.clock.after(this.random.between(5, 300), () => {
      this.engine.restartPrimary();
      if (this.random.chance(0.5)) this.#promoteSoon();
    });
  }

  /** F2: what waits is answered as a success, with a notice. */
  #cancelAlone(): void {
    this.engine.isStandbyAway = true;
    this.clock.after(this.random.between(5, 300), () => {
      this.engine.cancelWaits();
      if (this.random.chance(0.5)) this.#promoteSoon();
    });
  }

  #promoteSoon(): void {
    this.clock.after(this.random.between(1, 400), () => {
      this.#tell('the standby is promoted');
      this.engine.promote();
    });
  }

  #travel(client: string): readonly number[] {
    if (client === 'operator') return [1];
    const { random } = this;
    const millis = () => random.between(0, this.#isSlow ? 200 : 3);
    if (this.#calls !== 'usual' || this.#isEngineLying || this.#isOnlyMoved) return [millis()];
    if (this.#hostOf(client)?.isCut === true || random.chance(0.005)) return [];
    // A few messages arrive again, much later.
    if (random.chance(0.01)) return [millis(), random.between(100, 8_000)];
    if (random.chance(0.003)) return [random.between(2_000, 15_000)];
    return [millis()];
  }

  #hostOf(client: string): SimulatedHost | undefined {
    const name = client.split('#')[0];
    return this.hosts.find((host) => `host-${host.number}` === name);
  }

  #tell(text: string): void {
    this.#story.push(`${Math.round(this.clock.now())} ms: ${text}`);
  }
}

function seqOf(bytes: Uint8Array): number {
  const reading = decodeEntry(bytes);
  return reading.kind === 'valid' ? reading.entry.seq : 0;
}

function beginningIn(bytes: Uint8Array): Beginning {
  const reading = decodeEntry(bytes);
  const found = reading.kind === 'valid' ? decodeBeginning(reading.entry.payload) : undefined;
  if (found?.kind !== 'valid') throw new Error('entry 0 says how a log begins');
  return found.beginning;
}

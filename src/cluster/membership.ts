import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { atMost } from '../node/at-most.ts';
import type { Report } from '../node/report-line.ts';
import type { Directory, HostRow, SeenHost } from '../shared-log/directory.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { BootId, HostId } from '../shared-log/host-ids.ts';
import { rankOf } from '../shared-log/leadership.ts';
import type { LookAround } from '../shared-log/member-options.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { ClusterError } from './cluster-error.ts';
import { versionGap } from './version-gap.ts';

export interface MembershipOptions {
  readonly directory: Directory;
  readonly me: Omit<HostRow, 'state'>;
  readonly leaseMillis: number;
  /** How often it beats, unless the lease is short; absent: as often as all but slow engines do. */
  readonly beatMillis?: number | undefined;
  /** Milliseconds of a clock of this host that never goes back. */
  readonly now: () => number;
  /** How far this host's clock is ahead of the engine's, if that can be asked. */
  readonly skewMillis?: () => Promise<number>;
  /** Whether a host has a copy of a database, and could lead it; absent: each has all. */
  readonly mayHold?: (database: DatabaseIdentity, host: HostId) => boolean;
  /** Called once, when another process has taken this host's id: it must stop. */
  readonly onReplaced: (message: string) => void;
  /** Called when so long no beat was answered that others may have taken this host for gone. */
  readonly onLate?: () => void;
  readonly report: Report;
}

type State = HostRow['state'];

/**
 * This host among the others: it beats in the directory, and sees how old the beats of others are,
 * by the engine's clock. What it says of them decides when somebody tries to lead, never who leads.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #beatMillis: number;
  readonly #refused = new Set<BootId>();
  /** When this host has first heard of each process, as a host or as a leader. */
  readonly #heardAt = new Map<BootId, number>();
  /** Called when this host begins to drain, and when it takes databases again. */
  readonly #drainListeners = new Set<(isDraining: boolean) => void>();
  #state: State = 'up';
  #hosts: readonly SeenHost[] = [];
  /** When the beat that brought `#hosts` was sent. */
  #seenAt = Number.NEGATIVE_INFINITY;
  #isLost = false;
  #skewMillis = 0;
  #isSkewTold = false;
  #skewAskedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #isEnded = false;

  private constructor(options: MembershipOptions) {
    this.#options = options;
    const { beatMillis = limits.beatMillis, leaseMillis } = options;
    this.#beatMillis = Math.min(beatMillis, leaseMillis / 4);
  }

  /**
   * Enters this host among the others, and beats from then on. Rejects with `ClusterError` if
   * another host has its name, and with `EngineError`.
   */
  static async join(options: MembershipOptions): Promise<Membership> {
    const membership = new Membership(options);
    const { directory, me } = options;
    // Nobody counts on a host in this state, so it can look first.
    const before = await directory.beat({ ...me, state: 'gone' });
    const gap = versionGap(
      me.version,
      before.filter(({ host }) => host !== me.host),
    );
    if (gap !== undefined) {
      await directory.forget(me.host);
      throw new ClusterError(gap);
    }
    const first = namesakes(before, me);
    // Two that come at the same moment do not see each other; then the lower id stays.
    const seen = first.length > 0 ? first : await membership.#appear();
    const [other] = seen;
    if (other !== undefined) {
      await directory.forget(me.host);
      throw new ClusterError(nameTakenText(other));
    }
    await membership.#measureSkew();
    membership.#beatLater();
    return membership;
  }

  /** All hosts, this one included, with the age of their beats now. */
  get hosts(): readonly SeenHost[] {
    const since = Math.max(0, this.#options.now() - this.#seenAt);
    return this.#hosts.map((host) => ({ ...host, ageMillis: host.ageMillis + since }));
  }

  get state(): State {
    return this.#state;
  }

  get skewMillis(): number {
    return this.#skewMillis;
  }

  /** Time since the beat that the engine answered last was sent. */
  get beatAgeMillis(): number {
    return this.#options.now() - this.#seenAt;
  }

  /** True if the engine answers this host. */
  get isEngineReached(): boolean {
    return !this.#isLost && this.beatAgeMillis < this.#options.leaseMillis / 2;
  }

  /** Where clients reach the host that others reach at this address. */
  clientAddressAt(address: string): string | undefined {
    return this.#hosts.find((host) => host.address === address)?.clientAddress;
  }

  hostOf(id: HostId): SeenHost | undefined {
    return this.hosts.find(({ host }) => host === id);
  }

  /** Hosts that live as far as this one knows. */
  get living(): readonly SeenHost[] {
    return this.hosts.filter((host) => this.#lives(host));
  }

  /**
   * Other hosts that may live: without the engine, and after a pause of this host, none seems to.
   * `silentMillis`: time since a process was heard of over a link.
   */
  mayLive(silentMillis: (boot: BootId) => number): readonly SeenHost[] {
    return this.hosts.filter(({ host, boot, state, ageMillis }) => {
      if (host === this.#options.me.host || state === 'gone' || this.hasEnded(boot)) return false;
      if (!this.isEngineReached) return true;
      return Math.min(ageMillis, silentMillis(boot)) < limits.copyLostMillis;
    });
  }

  /** The newest format of entries that all hosts read, those included that are away. */
  get formatRead(): number {
    const newest = this.#options.me.formats[1];
    return Math.min(newest, ...this.#hosts.map(({ formats }) => formats[1]));
  }

  /** What `Member` asks before each look. */
  look(database: DatabaseIdentity, leader: Lead | undefined): LookAround {
    const row = leader === undefined ? undefined : this.hostOf(leader.host);
    const isOther = row !== undefined && row.boot !== leader?.boot;
    const isRefused = leader !== undefined && this.#refused.has(leader.boot);
    // A process that has just begun to lead may not be in the beats that were answered before.
    const isOld = isOther && leader !== undefined && !this.#isNewsOf(leader.boot);
    return {
      isEngineReached: this.isEngineReached,
      beatAgeMillis: isOld ? 0 : row?.ageMillis,
      isGone: (!isOld && (row?.state === 'gone' || isOther)) || isRefused,
      rank: this.#rank(database, leader),
      skewMillis: this.#skewMillis,
      isCandidate: this.#state === 'up',
    };
  }

  /** True if the beats were asked for after this host has heard of a leader. */
  #isNewsOf(boot: BootId): boolean {
    return this.#seenAt > this.#heardOf(boot, this.#options.now());
  }

  /** When this host has first heard of a process: now, if it never has. */
  #heardOf(boot: BootId, now: number): number {
    const heardAt = this.#heardAt.get(boot);
    if (heardAt !== undefined) return heardAt;
    if (this.#heardAt.size >= 4 * limits.clusterHostsMax) this.#heardAt.clear();
    this.#heardAt.set(boot, now);
    return now;
  }

  /** The connection with a host broke, and its address refuses others: that process has ended. */
  refuses(boot: BootId): void {
    this.#refused.add(boot);
  }

  /** True if that process is known to have ended. */
  hasEnded(boot: BootId): boolean {
    return this.#refused.has(boot);
  }

  /** From now on this host takes no leaders. */
  async drain(isDraining: boolean): Promise<void> {
    this.#state = isDraining ? 'draining' : 'up';
    for (const tell of this.#drainListeners) tell(isDraining);
    await this.#beat();
  }

  /** Beats now, and so sees what others have said since the last beat. */
  beatNow(): Promise<void> {
    return this.#beat();
  }

  /** Has `tell` called when this host begins to drain, and when it takes databases again. */
  onDrain(tell: (isDraining: boolean) => void): void {
    this.#drainListeners.add(tell);
  }

  /** Beats no more, and says nothing. */
  stop(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  /** Says goodbye: others need not wait until this host is silent. */
  async leave(): Promise<void> {
    if (this.#isEnded) return;
    this.#state = 'gone';
    this.stop();
    const { directory, me } = this.#options;
    const said = this.#beating.then(() => directory.beat({ ...me, state: 'gone' }));
    // Without the engine's answer nobody hears of it; the lease tells them.
    await atMost(
      limits.stopWithoutEngineMillis,
      said.catch(() => undefined),
    );
  }

  async #appear(): Promise<readonly SeenHost[]> {
    const { me } = this.#options;
    await this.#beat();
    assert(this.#hosts.length > 0, 'a directory shows the host that beats');
    return namesakes(this.#hosts, me).filter(({ host }) => host < me.host);
  }

  #beatLater(): void {
    if (this.#isEnded) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().then(
        () => this.#beatLater(),
        () => {
          this.#isLost = true;
          this.#beatLater();
        },
      );
    }, this.#beatMillis).unref();
  }

  async #beat(): Promise<void> {
    const { directory, me, now, leaseMillis, onLate } = this.#options;
    const sentAt = now();
    const before = this.#seenAt;
    const hosts = await directory.beat({ ...me, state: this.#state });
    const mine = hosts.find(({ host }) => host === me.host);
    this.#hosts = hosts;
    this.#seenAt = sentAt;
    for (const { boot } of hosts) this.#heardOf(boot, sentAt);
    this.#isLost = false;
    this.#forgetRefused();
    if (mine !== undefined && mine.boot !== me.boot) this.#replaced(mine);
    else if (Number.isFinite(before) && now() - before >= leaseMillis) onLate?.();
    if (!this.#isEnded) await this.#measureSkew();
  }

  /** A boot that refused connections is only of interest while the directory shows it. */
  #forgetRefused(): void {
    const boots = new Set(this.#hosts.map(({ boot }) => boot));
    for (const boot of this.#refused) if (!boots.has(boot)) this.#refused.delete(boot);
  }

  #replaced({ name, address }: SeenHost): void {
    if (this.#isEnded) return;
    this.stop();
    this.#state = 'gone';
    this.#options.onReplaced(
      `Another process (${name}, ${address}) runs as this host: its data folder is a copy of ` +
        'this one, or was started twice. This process stops. A second host needs a data folder ' +
        'of its own.',
    );
  }

  async #measureSkew(): Promise<void> {
    const { skewMillis, report, now } = this.#options;
    if (skewMillis === undefined || now() - this.#skewAskedAt < limits.clockLookMillis) return;
    this.#skewAskedAt = now();
    this.#skewMillis = await skewMillis();
    const isOff = Math.abs(this.#skewMillis) > limits.clockSkewWarnMillis;
    if (isOff && !this.#isSkewTold) {
      const message =
        `The clock of this host is off from the engine's by ${Math.round(this.#skewMillis)} ms. ` +
        'Synchronize both; above 10 s this host leads no database';
      report({ level: 'warn', message });
    }
    this.#isSkewTold = isOff;
  }

  #lives({ boot, state, ageMillis }: SeenHost): boolean {
    const { leaseMillis } = this.#options;
    return state !== 'gone' && ageMillis < leaseMillis && !this.#refused.has(boot);
  }

  /** How many living hosts go before this one for a database: the order differs by database. */
  #rank(database: DatabaseIdentity, leader: Lead | undefined): number {
    const low = BigInt.asUintN(128, database);
    const { mayHold = () => true } = this.#options;
    const others = this.living.filter(
      ({ host, state }) => state === 'up' && host !== leader?.host && mayHold(database, host),
    );
    const candidate = (id: HostId) => ({
      ...{ id: id ^ low, isWarm: true, appliedOffset: 0, placement: 0 },
    });
    return rankOf(
      candidate(this.#options.me.host),
      others.map(({ host }) => candidate(host)),
    );
  }
}

/** Other hosts of the same name that were there a moment ago. */
function namesakes(hosts: readonly SeenHost[], me: Omit<HostRow, 'state'>): readonly SeenHost[] {
  return hosts.filter(
    ({ host, name, state, ageMillis }) =>
      host !== me.host && name === me.name && state !== 'gone' && ageMillis < limits.nameHeldMillis,
  );
}

function nameTakenText({ name, address, ageMillis }: SeenHost): string {
  const seconds = (ageMillis / 1_000).toFixed(1);
  return (
    `Another host named ${name} is in this cluster (${address}, seen ${seconds} s ago). ` +
    'Choose another --host-name.'
  );
}

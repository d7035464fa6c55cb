import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { LogPoint } from '../../log/log-point.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import { untilTaken } from '../replication/engine-state.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { type MemberPlace, memberPlaceOf } from '../replication/member-place.ts';
import { type LedOffsets, type MemberState, SeenRole } from '../replication/member-state.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { RegistryAnswer, RegistryChange } from '../replication/registry-change.ts';
import type { LocalSeat } from '../seats/local-seat.ts';

/** What a change is called with, at whichever host that is. */
export type WantedChange = Pick<RegistryChange, 'reducer' | 'args'>;

export interface RegistryCopyOptions {
  readonly cluster: HostCluster;
  readonly database: Parameters<typeof memberPlaceOf>[1];
  readonly report: (problem: string) => void;
}

/** Somebody else has changed the registry, so that what was decided may be wrong. */
class StaleError extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super('the registry has changed meanwhile');
    this.offset = offset;
  }
}

/**
 * This host's part in the registry of a cluster. Where another host leads it, its rows are read
 * from the copy that follows, as far as they are settled, and changes are asked of the leader.
 *
 * ```
 *  change ──▶ leader: unchanged since the caller looked? ──▶ commit ──▶ offset
 *                                                                        │
 *  caller ◀── its own copy has that offset, and the rows are read ◀──────┘
 * ```
 */
export class RegistryCopy {
  readonly place: MemberPlace;
  readonly #options: RegistryCopyOptions;
  #seat: LocalSeat | undefined;
  readonly #seen = new SeenRole(() => performance.now());
  /** Reads all rows; rejects while they cannot be read. */
  #read: (() => Promise<void>) | undefined;
  /** Where the copy ended whose rows were read last; `own`: this host led and changed it. */
  #shown: LogPoint | 'own' | undefined;
  #isReading = false;
  #changed: () => Promise<void> = async () => undefined;
  /** What is done after rows were read, one after another. */
  #told: Promise<void> = Promise.resolve();
  #isTellDue = false;
  /** Offset of the last change that this host knows of, while it leads. */
  #lastChange = 0;
  /** Offset up to which the registry was known when the work began that runs. */
  #basis: number | undefined;
  #waiting = new Set<() => void>();

  constructor(options: RegistryCopyOptions) {
    this.#options = options;
    // Hosts show what is settled, and callers wait for that.
    this.place = { ...memberPlaceOf(options.cluster, options.database), tellsAtOnce: true };
  }

  get leads(): boolean {
    return this.role.kind === 'leader';
  }

  get role(): DatabaseRole {
    return this.#seen.role;
  }

  /** For operators; `led`: of its database, where this host leads it. */
  stateOf(led: LedOffsets): MemberState {
    return this.#seen.state(led);
  }

  /** Offset of the last change that is in the rows which are shown. */
  get offset(): number {
    const shown = this.#shown;
    return shown === 'own' || shown === undefined ? this.#lastChange : shown.offset;
  }

  wake(): void {
    this.#seat?.wake();
  }

  renewLead(): void {
    this.#seat?.renewLead();
  }

  async handOver(to: Lead): Promise<void> {
    if (this.#seat === undefined) throw notLeaderRefusal(undefined);
    await this.#seat.handOver(to);
  }

  sits(seat: LocalSeat): LocalSeat {
    this.#seat = seat;
    return seat;
  }

  /** Has `read` called now and after each change by others; resolves when it has read once. */
  async begin(read: () => Promise<void>): Promise<void> {
    this.#read = read;
    this.#readOn();
    await this.#until(() => this.#shown !== undefined);
  }

  /** Has `changed` called after rows were read; one call at a time. */
  onChange(changed: () => Promise<void>): void {
    this.#changed = changed;
    this.#tell();
  }

  /** All rows of tables, encoded; `undefined` if some that this host has may still be lost. */
  rows<Name extends string>(names: readonly Name[]): ReadonlyMap<Name, Uint8Array> | undefined {
    const seat = this.#seat;
    const found = names.map((name) => [name, seat?.followedRows(name)] as const);
    const rows = new Map<Name, Uint8Array>();
    for (const [name, bytes] of found) if (bytes !== undefined) rows.set(name, bytes);
    return rows.size === found.length ? rows : undefined;
  }

  noteRole(role: DatabaseRole): void {
    this.#seen.note(role);
    this.#options.cluster.onRole(this.#options.database.identity, role);
    this.#wakeWaiting();
    this.#readOn();
    if (this.#isTellDue) this.#tell();
  }

  /** Resolves to true when the rows that are shown have everything up to `offset`. */
  untilShown(offset: number, millisMax?: number): Promise<boolean> {
    return this.#until(() => {
      const shown = this.#shown;
      if (shown === undefined) return false;
      return shown === 'own' ? this.leads : shown.offset >= offset;
    }, millisMax);
  }

  /** Every host that lives has it, or will not answer from its copy any more. */
  async untilEverywhere(offset: number): Promise<void> {
    await this.#options.cluster.untilCopied?.(offset);
  }

  /** Runs work that decides on changes; again if somebody else has changed something meanwhile. */
  async exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      // A host that begins to lead reads what its predecessor has left before it decides.
      await this.#until(() => !this.leads || this.#shown === 'own');
      this.#basis = this.offset;
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof StaleError)) throw error;
        if (tries === limits.registryTriesMax) throw notLeaderRefusal(undefined);
        await this.untilShown(error.offset, limits.registryCopyMillisMax);
      } finally {
        this.#basis = undefined;
      }
    }
  }

  /** Changes it, here or at its leader; `here` is how it is done here, and returns the offset. */
  async change(wanted: WantedChange, here: () => Promise<number>): Promise<number> {
    const offset = await this.#change(wanted, here);
    if (this.#basis !== undefined) this.#basis = offset;
    return offset;
  }

  /** What this host, which leads, has changed. */
  noteChange(offset: number): void {
    this.#lastChange = Math.max(this.#lastChange, offset);
  }

  /**
   * Makes a change that another host wants, in its turn. Does not wait behind work of this host
   * that waits for the next leader: that may be the host which asks.
   */
  changeFor(
    { after }: RegistryChange,
    inTurn: (work: () => Promise<RegistryAnswer>) => Promise<RegistryAnswer>,
    work: () => Promise<RegistryAnswer>,
  ): Promise<RegistryAnswer> {
    let state: 'waits' | 'begun' | 'left' = 'waits';
    const done = inTurn(async () => {
      if (state === 'left' || !this.leads) return notLeader;
      state = 'begun';
      if (after < this.#lastChange) return { kind: 'stale', offset: this.#lastChange };
      return work();
    }).finally(() => this.#wakeWaiting());
    const left = this.#until(() => !this.leads || state !== 'waits').then(() => {
      if (state !== 'waits') return done;
      state = 'left';
      return notLeader;
    });
    return Promise.race([done, left]);
  }

  /** Has the rows read and told that another host has changed through this one. */
  async changedForOther(read: () => Promise<void>): Promise<void> {
    try {
      await read();
    } catch {
      // The change is done all the same.
      this.#shown = undefined;
      this.#readOn();
    }
    this.#tell();
  }

  async #change(wanted: WantedChange, here: () => Promise<number>): Promise<number> {
    const until = performance.now() + limits.waitLeaderMillis;
    await untilTaken(this.#options.cluster.engine);
    for (;;) {
      const role = this.role;
      const answer = await this.#tryChange(wanted, here);
      if (typeof answer === 'number') return answer;
      const left = until - performance.now();
      const { changeRegistry } = this.#options.cluster;
      if (left <= 0 || changeRegistry === undefined) {
        throw notLeaderRefusal(role.kind === 'follower' ? role : undefined);
      }
      await this.#until(() => this.role !== role, Math.min(left, limits.routeLookMillis));
    }
  }

  /** Its offset; `undefined`: nothing was done, and another host may lead. */
  async #tryChange(wanted: WantedChange, here: () => Promise<number>): Promise<number | undefined> {
    const role = this.role;
    if (role.kind === 'leader') {
      const offset = await here().catch(ignoreNotLeader);
      if (offset !== undefined) this.noteChange(offset);
      return offset;
    }
    const { changeRegistry } = this.#options.cluster;
    const leader = role.kind === 'follower' && role.isLedElsewhere ? role.leader : undefined;
    if (leader === undefined || changeRegistry === undefined) return undefined;
    const change = { ...wanted, after: this.#basis ?? this.offset };
    const answer = await changeRegistry(leader, change).catch(refuseAsLost);
    if (answer.kind === 'stale') throw new StaleError(answer.offset);
    if (answer.kind === 'refused') throw new Refusal(answer.body);
    if (answer.kind === 'notLeader') return undefined;
    // However long that takes: the change is done, and what follows is decided by the rows here.
    await this.untilShown(answer.offset);
    return answer.offset;
  }

  get #followed(): LogPoint | undefined {
    const role = this.role;
    if (role.kind !== 'follower' || !role.isLedElsewhere || !role.isAtEnd) return undefined;
    const hasAll = role.end.offset > 0 && role.settledOffset >= role.end.offset;
    return hasAll ? role.end : undefined;
  }

  /** What changes while it is read is read after that. */
  #readOn(): void {
    const from = this.leads ? 'own' : this.#followed;
    if (this.#isReading || this.#read === undefined || from === undefined) return;
    if (isSamePlace(from, this.#shown)) return;
    this.#isReading = true;
    this.#read().then(
      () => this.#hasRead(from),
      // It has become unreadable meanwhile; the next look finds out what it is now.
      () => {
        this.#isReading = false;
        if (this.leads) setTimeout(() => this.#readOn(), limits.leaderLookMillis).unref();
      },
    );
  }

  #hasRead(from: LogPoint | 'own'): void {
    this.#isReading = false;
    this.#shown = from;
    this.#wakeWaiting();
    this.#tell();
    this.#readOn();
  }

  #tell(): void {
    this.#isTellDue = false;
    this.#told = this.#told
      .then(() => this.#changed())
      .catch((error: unknown) => {
        this.#isTellDue = true;
        this.#options.report(`what another host has changed is not in effect yet: ${error}`);
      });
  }

  #wakeWaiting(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** True when `test` holds; false if it did not in time. */
  async #until(test: () => boolean, millisMax?: number): Promise<boolean> {
    const until = performance.now() + (millisMax ?? Number.POSITIVE_INFINITY);
    while (!test()) {
      const left = until - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = millisMax === undefined ? undefined : setTimeout(done, left);
        this.#waiting.add(done);
      });
    }
    return true;
  }
}

const notLeader: RegistryAnswer = { kind: 'notLeader' };

function isSamePlace(one: LogPoint | 'own', other: LogPoint | 'own' | undefined): boolean {
  if (one === 'own' || other === 'own' || other === undefined) return one === other;
  return one.offset === other.offset && one.chain === other.chain;
}

/** Another host leads by now, and nothing was done. */
function ignoreNotLeader(error: unknown): undefined {
  if (error instanceof Refusal && error.body.code === 'database.notLeader') return undefined;
  throw error;
}

function refuseAsLost(cause: unknown): never {
  const message =
    'The registry of the cluster may have been changed: its leader did not answer. Look whether ' +
    'it was, and try again.';
  throw new Refusal({ code: 'database.lost', message }, { cause });
}

import type { LogPoint } from '../../../src/log/log-point.ts';
import type { HostRow, SeenHost } from '../../../src/shared-log/directory.ts';
import type { Beginning, Lead } from '../../../src/shared-log/entry-payloads.ts';
import { bootId, hostId } from '../../../src/shared-log/host-ids.ts';
import type { LogName } from '../../../src/shared-log/log-name.ts';
import type { Member } from '../../../src/shared-log/member.ts';
import type { LookAround } from '../../../src/shared-log/member-options.ts';
import type { MemoryEngine } from '../../../src/shared-log/memory-engine.ts';
import type { ReadLease } from '../../../src/shared-log/read-lease.ts';
import type { Replicator } from '../../../src/shared-log/replicator.ts';
import type { SharedLog, StreamedEntry } from '../../../src/shared-log/shared-log.ts';
import type { Random } from '../../../src/testing/random.ts';
import { LogWriter } from '../../support/log-writer.ts';
import type { SteadyClock } from '../../support/steady-clock.ts';
import { SimulatedFolder, SimulatedReplica } from './simulated-replica.ts';

/** The code that is tested: the real one, or a mutation of it. */
export interface ClusterParts {
  readonly Member: typeof Member;
  readonly MemoryEngine: typeof MemoryEngine;
  readonly ReadLease: typeof ReadLease;
}

/** What a host needs of the world around it. */
export interface World {
  readonly parts: ClusterParts;
  readonly clock: SteadyClock;
  readonly engine: MemoryEngine;
  readonly log: LogName;
  readonly salt: number;
  readonly entryBytesMax: number;
  readonly leaseMillis: number;
  /** True: leaders answer reads within a lease, and clocks of hosts run unlike by a tenth. */
  readonly isReadByLease: boolean;
  readonly waitsForLocalSync: boolean;
  readonly random: Random;
  readonly hosts: readonly SimulatedHost[];
  /** Places of snapshots that any host can have, in order. */
  readonly snapshots: readonly LogPoint[];
  readonly restartEvery: number;
  readonly beginning: Beginning;
  /** How long a sync of a local log takes. */
  syncMillis(): number;
  shown(host: string, offset: number, chain: bigint): void;
  acknowledged(call: string, offset: number, term: number): void;
  /** A call that ran was not acknowledged before its host lost its term. */
  failed(call: string): void;
  /** Code that is tested threw. */
  crashed(host: string, error: unknown): void;
  /** A confirmed read was released: it saw everything up to `offset`. */
  released(offset: number, begun: number, isByLease: boolean): void;
}

/** One host of the cluster: a process that can be killed, paused, cut off, and started again. */
export class SimulatedHost {
  readonly number: number;
  folder = new SimulatedFolder();
  readonly #world: World;
  #bootCount = 0;
  #isPaused = false;
  readonly #held: (() => void)[] = [];
  isAlive = false;
  isCut = false;
  /** True if its callers write nothing for a while. */
  isOnlyRead = false;
  skewMillis = 0;
  /** True if it takes every other host for gone, wrongly. */
  isDeceived = false;
  /** What its monotonic clock counts in a millisecond. */
  readonly #rate: number;
  #lease: ReadLease | undefined;
  member: Member | undefined;
  #replica: SimulatedReplica | undefined;
  #writer: LogWriter | undefined;
  #seen: readonly SeenHost[] = [];
  #seenAt = Number.NEGATIVE_INFINITY;
  #shownOffset = 0;
  /** What leaders have sent it, in the order in which it came. */
  #inbox: StreamedEntry[] = [];

  constructor(world: World, number: number) {
    this.#world = world;
    this.number = number;
    this.#rate = world.isReadByLease ? world.random.pick([0.9, 1, 1.1]) : 1;
  }

  /** How the engine knows this run of the process. */
  get client(): string {
    return `host-${this.number}#${this.#bootCount}`;
  }

  get lead(): Lead {
    return {
      host: hostId(BigInt(this.number)),
      boot: bootId(BigInt(this.number * 100_000 + this.#bootCount)),
      name: `host-${this.number}`,
      address: `10.0.0.${this.number}:3001`,
      history: this.#world.engine.history,
      format: 1,
    };
  }

  start(): void {
    if (this.isAlive) return;
    const { parts, engine, log, entryBytesMax, leaseMillis, waitsForLocalSync } = this.#world;
    const { isReadByLease } = this.#world;
    this.#lease = isReadByLease ? new parts.ReadLease(leaseMillis) : undefined;
    this.isAlive = true;
    this.#bootCount++;
    this.#seen = [];
    this.#seenAt = Number.NEGATIVE_INFINITY;
    this.#shownOffset = 0;
    this.#inbox = [];
    const pause = () => this.#pause(this.#world.syncMillis());
    const replica = new SimulatedReplica(this.folder, pause, this.#world.snapshots);
    this.#replica = replica;
    this.#writer = undefined;
    this.member = new parts.Member({
      ...{ sharedLog: this.#streamed(engine.connect(this.client)), log, me: this.lead, replica },
      ...{ entryBytesMax, leaseMillis, isReadByLease, waitsForLocalSync },
      ...{ beginning: () => this.#world.beginning, restartEvery: this.#world.restartEvery },
      now: () => this.#now(),
      pause: (millis) => this.#pause(millis),
      history: () => engine.history,
      acknowledgedElsewhere: async () =>
        this.#world.hosts
          .filter((host) => host !== this && host.isAlive && !host.#isPaused)
          .map((host) => host.#acknowledgedEnd),
      look: (leader) => this.#look(leader),
      events: {
        onLead: () => {
          this.#writer = new LogWriter(this.#world.salt, replica.end);
        },
        onLost: () => {
          this.#writer = undefined;
        },
        warn: () => undefined,
      },
    });
    const { client } = this;
    for (const loop of [this.#follow(), this.#beat(), this.#settle()]) {
      loop.catch((error: unknown) => this.#world.crashed(client, error));
    }
  }

  /** The process ends; with `power`, the machine does, too. */
  kill(hasPower: boolean): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#isPaused = false;
    this.#held.length = 0;
    this.member?.stop();
    this.member = undefined;
    this.#writer = undefined;
    const unsynced = this.folder.records.length - this.folder.syncedCount;
    if (!hasPower) this.folder.cutPower(this.#world.random.below(unsynced + 1));
  }

  /** The machine comes back with an empty disk. */
  loseDisk(): void {
    this.kill(false);
    this.folder = new SimulatedFolder();
  }

  pause(): void {
    this.#isPaused = this.isAlive;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    for (const work of this.#held.splice(0)) work();
  }

  /** Something reaches the process; while it is paused it waits. */
  deliver(client: string, work: () => void): void {
    if (!this.isAlive || client !== this.client) return;
    if (this.#isPaused) this.#held.push(work);
    else work();
  }

  /** True if this host takes calls now. */
  get isLeading(): boolean {
    const replicator = this.#replicator;
    const isOpen = replicator !== undefined && !replicator.isHandingOver;
    return isOpen && !this.#isPaused && this.#writer !== undefined;
  }

  /** Runs a call that has that name; not to be used while the host does not lead. */
  call(name: string): void {
    const replicator = this.#replicator as Replicator;
    const writer = this.#writer as LogWriter;
    const term = this.member?.term ?? 0;
    if (replicator.isFull) return;
    writer.commit(name, new Uint8Array(this.#world.random.below(40)));
    const write = writer.take();
    this.#replica?.write(write);
    replicator.write(write);
    replicator.sync().then(
      () => {
        this.folder.acknowledgedOffset = Math.max(
          this.folder.acknowledgedOffset,
          replicator.acknowledgedOffset,
        );
        this.#world.acknowledged(name, write.end.offset, term);
      },
      () => this.#world.failed(name),
    );
  }

  /** A confirmed read of everything. */
  read(): void {
    const replicator = this.#replicator as Replicator;
    const offset = this.#replica?.end.offset ?? 0;
    const begun = this.#world.clock.now();
    const lease = this.#lease;
    if (lease !== undefined) {
      this.#readByLease(replicator, lease, { offset, begun });
      return;
    }
    Promise.all([replicator.sync(), replicator.proof()]).then(
      () => this.#world.released(offset, begun, false),
      () => undefined,
    );
  }

  #readByLease(
    replicator: Replicator,
    lease: ReadLease,
    { offset, begun }: { readonly offset: number; readonly begun: number },
  ): void {
    if (lease.wantsAppend(this.#now())) replicator.announce();
    const proved = async () => {
      await replicator.sync();
      const isByLease = lease.holds(this.#now());
      if (!isByLease) await replicator.proof();
      this.#world.released(offset, begun, isByLease);
    };
    proved().catch(() => undefined);
  }

  handOver(to: SimulatedHost): void {
    this.member?.handOver(to.lead);
  }

  /** Where acknowledged history ends here, as far as it is known. */
  get settledEnd(): LogPoint | undefined {
    const settled = this.member?.settledOffset ?? 0;
    return this.folder.records.findLast(({ end }) => end.offset <= settled)?.end;
  }

  /** What it has, for those who remove entries. */
  get hasOffset(): number {
    return this.isAlive ? this.folder.end.offset : Number.POSITIVE_INFINITY;
  }

  get #acknowledgedEnd(): LogPoint {
    const settled = this.member?.settledOffset ?? 0;
    const last = this.folder.records.findLast(({ end }) => end.offset <= settled);
    return last?.end ?? { position: 0, chain: 0n, offset: 0 };
  }

  get #replicator(): Replicator | undefined {
    return this.isAlive ? this.member?.replicator : undefined;
  }

  async #follow(): Promise<void> {
    const { client } = this;
    while (this.isAlive && client === this.client) {
      const isSent = this.#inbox.length > 0 && (await this.member?.takeStreamed());
      if (isSent !== true) await this.member?.step();
      this.#show();
      await this.#pause(this.#between(40, 120));
    }
  }

  /** What subscribers at this host see: a prefix, up to what is settled. */
  #show(): void {
    const { records } = this.folder;
    const settled = this.member?.settledOffset ?? 0;
    for (let at = records.length - 1; at >= 0; at--) {
      const { offset, chain } = records[at]?.end ?? { offset: 0, chain: 0n };
      if (offset <= this.#shownOffset) return;
      if (offset > settled) continue;
      this.#world.shown(this.client, offset, chain);
      this.#shownOffset = offset;
      return;
    }
  }

  /** What this host has stored goes to the others, some of it late, some of it never. */
  #streamed(inner: SharedLog): SharedLog {
    return {
      append: async (items) => {
        const lease = this.#lease;
        for (const item of items) lease?.appending(item, this.#now());
        const results = await inner.append(items);
        items.forEach(({ seq, bytes, after = new Uint8Array(0) }, at) => {
          if (results[at] !== 'stored') return;
          lease?.stored(seq);
          this.#send({ seq, bytes, after });
        });
        return results;
      },
      streamed: async (_, from) => {
        const at = this.#inbox.findIndex(({ seq }) => seq === from);
        const taken = at === -1 ? [] : this.#inbox.slice(at);
        this.#inbox = [];
        return taken;
      },
      read: (...asked) => inner.read(...asked),
      wait: (...asked) => inner.wait(...asked),
      confirm: (items) => inner.confirm(items),
      truncate: (...asked) => inner.truncate(...asked),
      create: (...asked) => inner.create(...asked),
      remove: (log) => inner.remove(log),
      capabilities: () => inner.capabilities(),
    };
  }

  #send(entry: StreamedEntry): void {
    const { clock, random, hosts } = this.#world;
    for (const host of hosts) {
      if (host === this || random.below(10) === 0) continue;
      const { client } = host;
      const millis = random.below(20) === 0 ? random.between(100, 3_000) : random.between(1, 30);
      clock.after(millis, () => host.deliver(client, () => host.#inbox.push(entry)));
    }
  }

  async #beat(): Promise<void> {
    const directory = this.#world.engine.directory(this.client);
    const { client } = this;
    while (this.isAlive && client === this.client) {
      try {
        this.#seen = await directory.beat(this.#row());
        this.#seenAt = this.#now();
      } catch {
        // The engine cannot be reached; the next beat may come through.
      }
      await this.#pause(500);
    }
  }

  async #settle(): Promise<void> {
    const { client } = this;
    while (this.isAlive && client === this.client) {
      await this.#pause(1_000);
      this.#replicator?.announceSettled();
    }
  }

  #look(leader: Lead | undefined): LookAround {
    const sinceMillis = this.#now() - this.#seenAt;
    const row = this.#seen.find((seen) => seen.host === leader?.host);
    const process = this.#world.hosts.find((host) => host.lead.host === leader?.host);
    const isNewer = row !== undefined && row.boot !== leader?.boot;
    const jumpMillis = this.#world.isReadByLease ? Math.abs(this.skewMillis) : 0;
    return {
      isEngineReached: sinceMillis < 1_200,
      beatAgeMillis: row === undefined ? undefined : row.ageMillis + sinceMillis + jumpMillis,
      isGone: this.isDeceived || isNewer || (process !== undefined && !process.isAlive),
      rank: this.number - 1,
      skewMillis: this.skewMillis,
      isCandidate: true,
    };
  }

  #row(): HostRow {
    const { host, boot, name, address } = this.lead;
    return {
      ...{ host, boot, name, address, clientAddress: '', state: 'up', version: '0.1.0' },
      ...{ formats: [1, 1], memoryBytes: 0, zone: '' },
    };
  }

  #now(): number {
    const now = this.#world.clock.now();
    return this.#world.isReadByLease ? now * this.#rate : now + this.skewMillis;
  }

  #pause(millis: number): Promise<void> {
    const { client } = this;
    return new Promise((resolve) => {
      this.#world.clock.after(millis, () => this.deliver(client, resolve));
    });
  }

  #between(first: number, last: number): number {
    return this.#world.random.between(first, last);
  }
}

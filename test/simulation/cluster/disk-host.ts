import { DatabaseCopy } from '../../../src/database/database-copy.ts';
import type { CommitLog } from '../../../src/log/commit-log.ts';
import type { Lead } from '../../../src/shared-log/entry-payloads.ts';
import { bootId, hostId } from '../../../src/shared-log/host-ids.ts';
import type { LogName } from '../../../src/shared-log/log-name.ts';
import { Member } from '../../../src/shared-log/member.ts';
import type { LookAround } from '../../../src/shared-log/member-options.ts';
import type { MemoryEngine } from '../../../src/shared-log/memory-engine.ts';
import type { Replicator } from '../../../src/shared-log/replicator.ts';
import { commitOffset } from '../../../src/store/commit-offset.ts';
import type { Random } from '../../../src/testing/random.ts';
import { SimulatedDisk } from '../../../src/testing/simulated-disk.ts';
import { noConnection } from '../../../src/values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../../../src/values/identity-roles.ts';
import type { SteadyClock } from '../../support/steady-clock.ts';

/** What a host needs of the world around it. */
export interface DiskWorld {
  readonly clock: SteadyClock;
  readonly engine: MemoryEngine;
  readonly log: LogName;
  readonly random: Random;
  readonly hosts: readonly DiskHost[];
  acknowledged(call: string, offset: number): void;
  wrong(text: string): void;
  warned(text: string): void;
}

export const simulatedDatabase = databaseIdentity(9n);

/** A host with a real local log, on a disk that loses power. Its calls write nothing but themselves. */
export class DiskHost {
  readonly number: number;
  readonly #world: DiskWorld;
  disk = new SimulatedDisk();
  isAlive = false;
  copy: DatabaseCopy | undefined;
  #bootCount = 0;
  #cutAt: number | undefined;
  #member: Member | undefined;
  #led: { readonly log: CommitLog; readonly replicator: Replicator } | undefined;

  constructor(world: DiskWorld, number: number) {
    this.#world = world;
    this.number = number;
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

  /** For people who look at a seed. */
  get shownState(): string {
    const { state, term, next } = this.#member ?? {};
    const what = this.#led === undefined ? 'not led' : 'led';
    return `${this.client} ${this.isAlive ? 'alive' : 'dead'} ${state?.kind} ${term} ${next} ${what}`;
  }

  get isCut(): boolean {
    return this.#cutAt !== undefined;
  }

  get isLeading(): boolean {
    return this.#led !== undefined && !this.#led.replicator.isHandingOver;
  }

  start(): void {
    if (this.isAlive) return;
    this.isAlive = true;
    this.#bootCount++;
    const { client } = this;
    this.disk.beforeSync = () => this.#world.clock.pause(this.#world.random.between(0, 4));
    this.#live(client).catch((error: unknown) => {
      // What a process does after its end is nobody's concern.
      if (!this.#isRun(client)) return;
      this.#world.wrong(`${client}: ${error instanceof Error ? error.stack : String(error)}`);
    });
  }

  /** The process ends; without power, the machine does, too. */
  kill(hasPower: boolean): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#member?.stop();
    this.#led = undefined;
    this.disk = hasPower ? this.disk.afterKill() : this.disk.crash(this.#world.random);
  }

  cut(millis: number): void {
    const { clock } = this.#world;
    this.#cutAt ??= clock.now();
    clock.after(millis, () => this.heal());
  }

  heal(): void {
    this.#cutAt = undefined;
  }

  /** Runs calls of one turn; not to be used while the host does not lead. */
  call(names: readonly string[]): void {
    const led = this.#led;
    if (led === undefined || led.log.isFull) return;
    const { log } = led;
    const offsets = names.map((reducer) => {
      const offset = commitOffset(log.offset + 1);
      log.appendCommit(
        { offset, tables: [], sequences: [] },
        {
          ...{ reducer, caller: callerIdentity(1n), connectionId: noConnection },
          ...{ timestampMicros: BigInt(Math.floor(this.#world.clock.now() * 1_000)) },
          ...{ seed: new Uint8Array(0), args: this.#world.random.bytes(40) },
        },
      );
      return offset;
    });
    log.sync().then(
      () => {
        for (const [at, name] of names.entries()) {
          this.#world.acknowledged(name, offsets[at] ?? 0);
        }
      },
      () => undefined,
    );
  }

  handOver(to: DiskHost): void {
    if (this.isLeading) this.#led?.replicator.handOver(to.lead);
  }

  /** One life after the other, as seats have them: each follows, and may lead once. */
  async #live(client: string): Promise<void> {
    const { random, warned } = this.#world;
    let handedTerm: number | undefined;
    while (this.#isRun(client)) {
      const copy = await DatabaseCopy.open({
        disk: this.disk,
        identity: simulatedDatabase,
        entropy: { fill: (bytes) => void bytes.set(random.bytes(bytes.length)) },
        warn: (text) => warned(text),
        later: (work) => this.#world.clock.after(1_000, work),
        full: undefined,
        segmentBytes: 3_000,
      });
      if (!this.#isRun(client)) return;
      this.copy = copy;
      handedTerm = await this.#term(client, copy, handedTerm);
      // By now another run of this host may lead.
      if (this.#isRun(client)) this.#led = undefined;
      await copy.close();
    }
  }

  /** Until a term of this host has ended; returns the one that it gave away. */
  async #term(
    client: string,
    copy: DatabaseCopy,
    handedTerm: number | undefined,
  ): Promise<number | undefined> {
    const { engine, log, random, wrong } = this.#world;
    let isOver = false;
    let given: number | undefined;
    const member = new Member({
      ...{ sharedLog: engine.connect(client), log, me: this.lead, replica: copy, handedTerm },
      ...{ entryBytesMax: 64 * 1024, leaseMillis: 2_000, waitsForLocalSync: true },
      now: () => this.#world.clock.now(),
      pause: (millis) => this.#world.clock.pause(millis),
      history: () => engine.history,
      acknowledgedElsewhere: async () => [],
      look: (leader) => this.#look(leader),
      events: {
        onLead: (replicator) => {
          const led = copy.lead(replicator, replicator.storedEnd);
          if (this.#isRun(client)) this.#led = { log: led, replicator };
        },
        onLost: (end) => {
          isOver = true;
          if (end.kind === 'handedOver') given = end.term;
        },
        warn: () => undefined,
      },
    });
    this.#member = member;
    while (!isOver && this.#isRun(client)) {
      await member.step();
      if (member.state.kind === 'failed') wrong(`${client}: ${member.state.reason}`);
      this.#led?.replicator.announceSettled();
      await this.#world.clock.pause(random.between(40, 120));
    }
    member.stop();
    return given;
  }

  #isRun(client: string): boolean {
    return this.isAlive && client === this.client;
  }

  #look(leader: Lead | undefined): LookAround {
    const process = this.#world.hosts.find(({ lead }) => lead.host === leader?.host);
    const isRunning = process?.isAlive === true && process.lead.boot === leader?.boot;
    const since = process === undefined ? undefined : process.#cutAt;
    return {
      isEngineReached: !this.isCut,
      beatAgeMillis: since === undefined ? 0 : this.#world.clock.now() - since,
      isGone: leader !== undefined && !isRunning,
      rank: this.number - 1,
      skewMillis: 0,
      isCandidate: true,
    };
  }
}

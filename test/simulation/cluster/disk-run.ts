import { decodeInputs } from '../../../src/log/decode-record.ts';
import { epoch } from '../../../src/log/epoch.ts';
import { isCommitRecord } from '../../../src/log/record.ts';
import { recordsIn } from '../../../src/log/records-in.ts';
import { encodeSegmentHeader } from '../../../src/log/segment.ts';
import { beginningEntry } from '../../../src/shared-log/create-log.ts';
import { bootId } from '../../../src/shared-log/host-ids.ts';
import { clusterId, logName } from '../../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../../src/shared-log/memory-engine.ts';
import { Tail } from '../../../src/shared-log/tail.ts';
import { Random } from '../../../src/testing/random.ts';
import { ownerIdentity } from '../../../src/values/identity-roles.ts';
import { SteadyClock } from '../../support/steady-clock.ts';
import { DiskHost, type DiskWorld, simulatedDatabase } from './disk-host.ts';

export interface DiskRun {
  readonly wrong: readonly string[];
  readonly acknowledgedCount: number;
  readonly termCount: number;
  /** How often a host has set something of its log aside, or fetched all of it again. */
  readonly warnings: readonly string[];
  readonly story: readonly string[];
}

/** Three hosts with real local logs, and faults of everything; then all heals, and all agree. */
export async function runDisks(seed: number, faultMillis = 12_000): Promise<DiskRun> {
  const cluster = new DiskCluster(seed);
  await cluster.begin();
  await cluster.suffer(faultMillis);
  await cluster.heal();
  return cluster.result();
}

class DiskCluster implements DiskWorld {
  readonly clock = new SteadyClock();
  readonly random: Random;
  readonly engine: MemoryEngine;
  readonly log = logName(clusterId(1n), simulatedDatabase, 1);
  readonly hosts: readonly DiskHost[];
  readonly #wrong: string[] = [];
  readonly #warnings: string[] = [];
  readonly #story: string[] = [];
  readonly #acknowledged = new Map<string, number>();
  #callCount = 0;
  #phase: 'usual' | 'healing' | 'last' | 'none' = 'usual';
  readonly wrong = (text: string): void => void this.#wrong.push(text);
  readonly warned = (text: string): void => void this.#warnings.push(text);

  constructor(seed: number) {
    this.random = new Random(seed);
    this.engine = new MemoryEngine({
      clock: this.clock,
      network: { travel: (client) => this.#travel(client) },
      replicationMillis: () => this.random.between(1, 4),
      entryBytesMax: 64 * 1024,
    });
    this.hosts = [1, 2, 3].map((number) => new DiskHost(this, number));
  }

  acknowledged(call: string, offset: number): void {
    if (this.#acknowledged.has(call)) this.wrong(`${call} was acknowledged twice`);
    this.#acknowledged.set(call, offset);
  }

  async begin(): Promise<void> {
    const salt = 77;
    const segmentHeader = encodeSegmentHeader({
      ...{ salt, databaseIdentity: simulatedDatabase, sequence: 1, firstOffset: 1, position: 0 },
      ...{ durablePosition: 0, chainLow: salt, chainHigh: ~salt, epoch: epoch(3n) },
      ...{ lastMicros: 0n, hasMark: true, isAfterOrigin: false, hasRuns: false },
    });
    const more = { owner: ownerIdentity(4n), generation: 1, origin: new Uint8Array(0) };
    const bytes = beginningEntry({ segmentHeader, ...more }, bootId(0n));
    const created = this.engine.connect('operator').create(this.log, bytes);
    await this.clock.pass(100);
    await created;
    for (const host of this.hosts) host.start();
    this.#work();
    await this.clock.pass(2_000);
  }

  async suffer(millis: number): Promise<void> {
    const end = this.clock.now() + millis;
    while (this.clock.now() < end) {
      await this.clock.pass(this.random.between(20, 900));
      this.#fault();
    }
  }

  async heal(): Promise<void> {
    this.#phase = 'healing';
    this.engine.isStandbyAway = false;
    for (const host of this.hosts) {
      host.heal();
      host.start();
    }
    await this.clock.pass(15_000);
    this.#phase = 'last';
    await this.clock.pass(5_000);
    this.#phase = 'none';
    await this.clock.pass(5_000);
  }

  result(): DiskRun {
    const tail = new Tail();
    const found = new Map<string, number>();
    for (const [seq, bytes] of this.engine.settledEntries(this.log).entries()) {
      const step = tail.accept({ seq, bytes });
      if (step.kind === 'fault') this.wrong(`entry ${seq}: ${step.fault.reason}`);
      if (step.kind !== 'records') continue;
      for (const record of recordsIn(step.records)) {
        if (!isCommitRecord(record)) continue;
        const { reducer } = decodeInputs(record.inputs);
        if (found.has(reducer)) this.wrong(`${reducer} is in the log twice`);
        found.set(reducer, Number(record.kind === 'commit' ? record.changes.offset : 0));
      }
    }
    for (const [call, offset] of this.#acknowledged) {
      if (found.get(call) !== offset) this.wrong(`${call} at ${offset}: ${found.get(call)}`);
    }
    for (const { client, copy } of this.hosts) {
      if (copy?.end.position !== tail.point.position || copy.end.chain !== tail.point.chain) {
        this.wrong(`${client} ends at ${copy?.end.position}, the log at ${tail.point.position}`);
      }
    }
    if (![...this.#acknowledged.keys()].some((call) => call.startsWith('last'))) {
      const states = this.hosts.map(({ shownState }) => shownState).join('; ');
      this.wrong(`no call was acknowledged after all had healed: ${states}`);
      for (const line of this.#story.slice(-8)) this.wrong(line);
    }
    return {
      wrong: this.#wrong,
      acknowledgedCount: this.#acknowledged.size,
      termCount: tail.term,
      warnings: this.#warnings,
      story: this.#story,
    };
  }

  #work(): void {
    const next = (): void => {
      const leaders = this.hosts.filter((host) => host.isLeading);
      if (leaders.length > 0 && this.#phase !== 'none') {
        const names = Array.from({ length: this.random.between(1, 4) }, () => {
          this.#callCount++;
          return `${this.#phase} ${this.#callCount}`;
        });
        this.random.pick(leaders).call(names);
      }
      this.clock.after(this.random.between(1, 60), next);
    };
    next();
  }

  #fault(): void {
    const { engine, random } = this;
    const host = random.pick(this.hosts);
    const leader = this.hosts.find((one) => one.isLeading) ?? host;
    const victim = random.chance(0.6) ? leader : host;
    const faults: readonly [string, () => void][] = [
      [`${victim.client} is killed`, () => victim.kill(true)],
      [`${victim.client} is killed, and starts at once`, () => restart(victim, true)],
      [`${victim.client} loses its power`, () => victim.kill(false)],
      [`${victim.client} loses its power, and starts at once`, () => restart(victim, false)],
      ['all start', () => this.#startAll()],
      ['all start', () => this.#startAll()],
      [`${victim.client} is cut off`, () => victim.cut(random.between(100, 6_000))],
      [`${victim.client} is cut off`, () => victim.cut(random.between(2_500, 6_000))],
      ['the primary restarts', () => engine.restartPrimary()],
      ['the standby is away for a moment', () => this.#awayFor(random.between(20, 800))],
      ['the standby is promoted', () => engine.promote()],
      [`${leader.client} gives its term to host ${host.number}`, () => leader.handOver(host)],
    ];
    const [text, work] = random.pick(faults);
    this.#story.push(`${Math.round(this.clock.now())} ms: ${text}`);
    work();
  }

  #startAll(): void {
    for (const host of this.hosts) host.start();
  }

  #awayFor(millis: number): void {
    this.engine.isStandbyAway = true;
    this.clock.after(millis, () => {
      this.engine.isStandbyAway = false;
    });
  }

  #travel(client: string): readonly number[] {
    const { random } = this;
    if (client === 'operator') return [1];
    const host = this.hosts.find(({ number }) => client.startsWith(`host-${number}#`));
    if (host?.isCut === true || (this.#phase === 'usual' && random.chance(0.004))) return [];
    if (this.#phase === 'usual' && random.chance(0.01)) {
      return [random.between(0, 3), random.between(100, 4_000)];
    }
    return [random.between(0, 3)];
  }
}

function restart(host: DiskHost, hasPower: boolean): void {
  host.kill(hasPower);
  host.start();
}

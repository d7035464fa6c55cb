import { setTimeout as sleep } from 'node:timers/promises';
import { unreachable } from '../../src/assert.ts';
import type { NetworkLab } from '../support/network-lab.ts';
import { ServiceCluster, type SharedEngine } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { LiveClients, ledgerModule } from './live-clients.ts';
import type { Remote } from './remote.ts';

export interface ClusterKillReport {
  readonly acknowledged: number;
  /** Acknowledged, and not there in the end. */
  readonly lost: readonly string[];
  /** There twice, or never asked for. */
  readonly wrong: readonly string[];
  /** What clients of both libraries saw unlike what is there, or were told wrong. */
  readonly unlike: readonly string[];
  /** How often each client came anew. */
  readonly comeCounts: Readonly<Record<string, number>>;
  /** Milliseconds from the loss of a leader to the next acknowledged call that began after it. */
  readonly kills: readonly number[];
  readonly pauses: readonly number[];
  readonly cuts: readonly number[];
}

export interface ClusterKillPlan {
  readonly kills: number;
  readonly pauses: number;
  /** How often the network of a host breaks; see `Rounds.cut`. Needs a lab. */
  readonly cuts?: number;
}

const names = ['a', 'b', 'c'] as const;
type Name = (typeof names)[number];
const database = 'ledger';
const writers = 6;
const callMillisMax = 10_000;
/** Longer than a lease. */
const awhile = 4_000;

/**
 * What is cut: a leader from everybody; from its engine; from the other hosts, in one direction; and
 * a follower from the engine and the leader, likewise.
 */
const cutKinds = ['all', 'engine', 'hosts', 'follower'] as const;
type CutKind = (typeof cutKinds)[number];

/**
 * Writes through all three hosts of a cluster, over HTTP and by clients that stay connected, while
 * its leader is killed, or stopped for a while, again and again; then looks what is there, and what
 * the clients see.
 */
export async function clusterKillRounds(
  plan: ClusterKillPlan,
  start: () => Promise<ServiceCluster<SharedEngine>> = () => ServiceCluster.start(),
  lab?: NetworkLab,
): Promise<ClusterKillReport> {
  const cluster = await start();
  cluster.keepsPorts = true;
  let rounds: Rounds | undefined;
  try {
    rounds = await Rounds.begin(cluster);
    for (let kill = 0; kill < plan.kills; kill += 1) await rounds.kill();
    for (let pause = 0; pause < plan.pauses; pause += 1) await rounds.pause();
    for (let cut = 0; lab !== undefined && cut < (plan.cuts ?? 0); cut += 1) {
      await rounds.cut(lab, cutKinds[cut % cutKinds.length] ?? 'all');
    }
    return await rounds.end();
  } finally {
    await rounds?.close();
    await cluster.close();
  }
}

class Rounds {
  readonly #cluster: ServiceCluster<SharedEngine>;
  readonly #hosts: Map<Name, RunningService>;
  readonly #owner: Remote;
  readonly #clients: LiveClients;
  readonly #asked = new Set<string>();
  readonly #acknowledged = new Set<string>();
  readonly #load: Promise<unknown>;
  readonly #times = { kills: [] as number[], pauses: [] as number[], cuts: [] as number[] };
  #isOver = false;
  #probes = 0;

  private constructor(
    cluster: ServiceCluster<SharedEngine>,
    hosts: Map<Name, RunningService>,
    owner: Remote,
  ) {
    this.#cluster = cluster;
    this.#hosts = hosts;
    this.#owner = owner;
    this.#clients = new LiveClients({
      ...{ urls: [...hosts.values()].map(({ url }) => url), database, token: owner.token },
      asked: (key) => void this.#asked.add(key),
      acknowledged: (key) => void this.#acknowledged.add(key),
    });
    this.#load = Promise.all(Array.from({ length: writers }, (_, writer) => this.#write(writer)));
  }

  static async begin(cluster: ServiceCluster<SharedEngine>): Promise<Rounds> {
    await cluster.appoint();
    const hosts = new Map<Name, RunningService>();
    for (const name of names) hosts.set(name, await cluster.host(name));
    const [first] = hosts.values();
    if (first === undefined) throw new Error('there are hosts');
    const owner = await cluster.owner(first);
    const made = await owner.upload(database, await ledgerModule());
    if (made.status !== 200) throw new Error(made.text);
    return new Rounds(cluster, hosts, owner);
  }

  async kill(): Promise<void> {
    const name = await this.#leader();
    const host = this.#host(name);
    const back = this.#untilBack(name);
    await host.stop('SIGKILL');
    this.#times.kills.push(await back);
    this.#hosts.set(name, await this.#cluster.host(name));
  }

  async pause(): Promise<void> {
    const name = await this.#leader();
    const { child } = this.#host(name);
    const back = this.#untilBack(name);
    child.kill('SIGSTOP');
    try {
      this.#times.pauses.push(await back);
    } finally {
      child.kill('SIGCONT');
    }
  }

  /** Breaks a part of the network until calls are acknowledged again, or for a while, and mends it. */
  async cut(lab: NetworkLab, kind: CutKind): Promise<void> {
    const leader = await this.#leader();
    const others = names.filter((name) => name !== leader);
    const engine = ['primary', 'standby'];
    const [follower = 'b'] = others;
    switch (kind) {
      case 'all':
        lab.cut(leader);
        this.#times.cuts.push(await this.#untilBack(leader));
        lab.heal(leader);
        return;
      case 'engine':
        lab.silence(leader, engine);
        this.#times.cuts.push(await this.#untilBack(leader));
        lab.hear(leader, engine);
        return;
      case 'hosts':
        // It leads on: others reach it again, or wait.
        lab.silence(leader, others);
        await sleep(awhile);
        lab.hear(leader, others);
        return;
      case 'follower':
        lab.silence(follower, [...engine, leader]);
        await sleep(awhile);
        lab.hear(follower, [...engine, leader]);
        return;
      default:
        unreachable(kind);
    }
  }

  async end(): Promise<ClusterKillReport> {
    await this.#leader();
    this.#isOver = true;
    await Promise.all([this.#load, this.#clients.rest()]);
    const leader = this.#host(await this.#leader());
    const read = async (): Promise<string[]> => {
      const rows = await this.#owner.at(leader.url).rows(database, 'SELECT name FROM person');
      return rows.flat().map(String);
    };
    const there = await read();
    const once = new Set(there);
    return {
      acknowledged: this.#acknowledged.size,
      lost: [...this.#acknowledged].filter((key) => !once.has(key)),
      wrong: [...there.filter((key) => !this.#asked.has(key)), ...repeated(there)],
      unlike: await this.#clients.faults(read),
      comeCounts: this.#clients.comeCounts,
      ...this.#times,
    };
  }

  close(): Promise<void> {
    return this.#clients.close();
  }

  /** The host that leads, once all three are there and have everything. */
  async #leader(): Promise<Name> {
    for (;;) {
      for (const name of names) {
        const leader = await this.#leaderSeenBy(name).catch(() => undefined);
        if (leader !== undefined) return leader;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #leaderSeenBy(name: Name): Promise<Name | undefined> {
    const path = '/v1/cluster/databases';
    const seen = (await this.#cluster.asOperator(this.#host(name), path)) as SeenDatabases;
    const found = seen.databases.find((one) => one.names.includes(database));
    const isWhole = names.every((host) =>
      found?.copies.some((copy) => copy.host === host && (copy.warm ?? copy.age_seconds !== null)),
    );
    const leaders = found?.copies.filter(({ role }) => role === 'leader') ?? [];
    const isSettled = leaders.length === 1 && (leaders[0]?.host ?? '') === found?.leader;
    return isWhole && isSettled ? names.find((one) => one === found?.leader) : undefined;
  }

  #host(name: Name): RunningService {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new Error(`there is a host ${name}`);
    return host;
  }

  /** Milliseconds from now until a call is acknowledged that begins after now, elsewhere. */
  async #untilBack(lost: Name): Promise<number> {
    const lostAt = performance.now();
    const others = names.filter((name) => name !== lost);
    let isBack = false;
    const ask = async (name: Name): Promise<number> => {
      while (!isBack) {
        if (await this.#call(name, `probe-${this.#probes++}`)) isBack = true;
        else await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return performance.now() - lostAt;
    };
    return Promise.race(others.map(ask));
  }

  /** Each call has a key of its own: one whose outcome is not known is not repeated. */
  async #write(writer: number): Promise<void> {
    for (let count = 0; !this.#isOver; count += 1) {
      const name = names[(writer + count) % names.length] ?? 'a';
      if (await this.#call(name, `${writer}-${count}`)) continue;
      // Its host is gone, or starts: the others are asked meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** True if the call was acknowledged. */
  async #call(name: Name, key: string): Promise<boolean> {
    this.#asked.add(key);
    if (!(await this.#isDone(name, key))) return false;
    this.#acknowledged.add(key);
    return true;
  }

  async #isDone(name: Name, key: string): Promise<boolean> {
    const { token } = this.#owner;
    try {
      const answer = await fetch(`${this.#host(name).url}/v1/database/${database}/call/add`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify([0, key, 0]),
        signal: AbortSignal.timeout(callMillisMax),
      });
      await answer.text();
      return answer.status === 200;
    } catch {
      return false;
    }
  }
}

function repeated(keys: readonly string[]): string[] {
  const seen = new Set<string>();
  return keys.filter((key) => seen.size === seen.add(key).size);
}

interface SeenDatabases {
  readonly databases: readonly {
    readonly names: readonly string[];
    readonly leader: string | null;
    readonly copies: readonly {
      readonly host: string;
      readonly role: string;
      /** Hosts of an earlier version do not say it. */
      readonly warm?: boolean;
      readonly age_seconds: number | null;
    }[];
  }[];
}

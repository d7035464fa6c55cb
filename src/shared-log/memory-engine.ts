import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { Directory, HostRow, PlaceHint, SeenHost } from './directory.ts';
import { historyText } from './engine-history.ts';
import type { BootId, HostId } from './host-ids.ts';
import type { LogName } from './log-name.ts';
import { type EngineClock, type EngineDoor, MemoryClient } from './memory-client.ts';
import { MemoryServer, type ServerAnswer } from './memory-server.ts';
import { EngineError, type SharedLog } from './shared-log.ts';

/** What becomes of a message between a client and the engine. */
export interface EngineNetwork {
  /**
   * Milliseconds until each copy of the message arrives: none for one that is lost, several for one
   * that is delivered again.
   */
  travel(client: string, direction: 'request' | 'answer'): readonly number[];
  /** Hands something to a client, which may be paused, or gone. Absent: at once. */
  deliver?(client: string, work: () => void): void;
}

export interface MemoryEngineOptions {
  readonly clock: EngineClock;
  readonly network?: EngineNetwork;
  /** Milliseconds until the standby has an entry. */
  readonly replicationMillis?: () => number;
  readonly entryBytesMax?: number;
}

/**
 * A simulated engine: a primary with a synchronous standby, clients beyond a network, a clock that
 * somebody else keeps. It has the faults that were seen on a real PostgreSQL:
 *
 * - an entry that waits for the standby is invisible, and a restart of the primary makes it visible
 *   though nobody acknowledged it (`restartPrimary`);
 * - a wait that is cancelled is answered with success and a notice (`cancelWaits`);
 * - a promoted standby has what it was sent, and nothing else (`promote`); an old primary goes on
 *   answering reads to those who still talk to it (`strand`);
 * - an engine that lies acknowledges what only the primary has (`isLying`).
 */
export class MemoryEngine implements EngineDoor {
  readonly #clock: EngineClock;
  readonly #network: EngineNetwork;
  readonly #replicationMillis: () => number;
  readonly entryBytesMax: number;
  #primary: MemoryServer;
  /** Old primaries, and who still talks to them. */
  readonly #stranded = new Map<string, MemoryServer>();
  readonly #unreachable = new Set<string>();
  #timeline = 1;
  /** True while the standby gets nothing. */
  #isStandbyAway = false;
  readonly #hosts = new Map<HostId, { row: HostRow; beatAt: number }>();
  readonly #hints = new Map<string, PlaceHint>();
  readonly #boxes = new Map<string, Uint8Array>();
  /** True if entries are acknowledged before the standby has them. */
  isLying = false;

  constructor(options: MemoryEngineOptions) {
    this.#clock = options.clock;
    this.#network = options.network ?? { travel: () => [0] };
    this.#replicationMillis = options.replicationMillis ?? (() => 0);
    this.entryBytesMax = options.entryBytesMax ?? limits.entryBytesMax;
    this.#primary = new MemoryServer(this.#server());
  }

  /** A shared log as the client of that name sees it. */
  connect(client: string): SharedLog {
    return new MemoryClient(this, client);
  }

  /** A directory for one process. */
  directory(client: string): Directory {
    return new MemoryDirectory(this, client);
  }

  get clock(): EngineClock {
    return this.#clock;
  }

  get history(): string {
    return historyText({ kind: 'memory', identifier: 'simulated', timeline: this.#timeline });
  }

  /** Everything that is in the acknowledged history of a log: what the standby has, too. */
  settledEntries(log: LogName): readonly Uint8Array[] {
    return this.#primary.settledEntries(log);
  }

  set isStandbyAway(isAway: boolean) {
    this.#isStandbyAway = isAway;
    if (!isAway) this.#primary.replicateSoon();
  }

  get isStandbyAway(): boolean {
    return this.#isStandbyAway;
  }

  /** No message passes between that client and the engine. */
  cut(client: string): void {
    this.#unreachable.add(client);
  }

  heal(client: string): void {
    this.#unreachable.delete(client);
  }

  /** The primary restarts: those who wait get no answer, and what they stored is visible. */
  restartPrimary(): void {
    this.#primary.restart();
  }

  /** Waits for the standby are cancelled: success with a notice, as PostgreSQL answers. */
  cancelWaits(): void {
    this.#primary.cancelWaits();
  }

  /**
   * The standby becomes the primary, with what it has. Clients in `stranded` go on talking to the
   * old one, which can acknowledge nothing any more.
   */
  promote(stranded: readonly string[] = []): void {
    const old = this.#primary;
    this.#primary = old.promoted(this.#server());
    this.#timeline++;
    this.#isStandbyAway = false;
    for (const client of stranded) this.#stranded.set(client, old);
    old.restart();
    old.retire();
  }

  /** A client that talked to an old primary finds the current one. */
  rejoin(client: string): void {
    this.#stranded.delete(client);
  }

  /** Runs `work` at the server of a client, and brings its answer back, unless either is lost. */
  request<T>(client: string, work: (server: MemoryServer) => ServerAnswer<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const isCut = this.#unreachable.has(client);
      const delays = isCut ? [] : this.#network.travel(client, 'request');
      for (const delay of delays) {
        this.#clock.after(delay, () => {
          const server = this.#stranded.get(client) ?? this.#primary;
          work(server).whenDone((answer) => this.#answer(client, answer, resolve, reject));
        });
      }
      this.#clock.after(limits.appendAnswerMillisMax, () => {
        const error = new EngineError('the simulated engine did not answer');
        this.#deliver(client, () => reject(error));
      });
    });
  }

  #answer<T>(
    client: string,
    answer: T | EngineError,
    resolve: (answer: T) => void,
    reject: (error: EngineError) => void,
  ): void {
    if (this.#unreachable.has(client)) return;
    for (const delay of this.#network.travel(client, 'answer')) {
      this.#clock.after(delay, () => {
        this.#deliver(client, () => {
          if (answer instanceof EngineError) reject(answer);
          else resolve(answer);
        });
      });
    }
  }

  #deliver(client: string, work: () => void): void {
    if (this.#network.deliver === undefined) work();
    else this.#network.deliver(client, work);
  }

  beat(client: string, me: HostRow, isFirst: boolean): readonly SeenHost[] {
    // What an old primary hears, nobody else does.
    if (this.#stranded.has(client)) return this.#rows();
    const found = this.#hosts.get(me.host);
    if (isFirst || found === undefined || found.row.boot === me.boot) {
      assert(this.#hosts.size < limits.clusterHostsMax, 'a cluster has too many hosts');
      this.#hosts.set(me.host, { row: me, beatAt: this.#clock.now() });
    }
    return this.#rows();
  }

  #rows(): SeenHost[] {
    return [...this.#hosts.values()].map(({ row, beatAt }) => {
      return { ...row, ageMillis: this.#clock.now() - beatAt };
    });
  }

  forget(host: HostId): void {
    this.#hosts.delete(host);
  }

  hint(rows: readonly PlaceHint[]): void {
    for (const row of rows) this.#hints.set(String(row.database), row);
  }

  hints(): readonly PlaceHint[] {
    return [...this.#hints.values()];
  }

  secretBox(name: string, put: Uint8Array | undefined): Uint8Array | undefined {
    if (put !== undefined && !this.#boxes.has(name)) this.#boxes.set(name, put.slice());
    return this.#boxes.get(name)?.slice();
  }

  #server() {
    return {
      replicate: (done: () => void) => this.#clock.after(this.#replicationMillis(), done),
      isStandbyAway: () => this.#isStandbyAway,
      isLying: () => this.isLying,
    };
  }
}

class MemoryDirectory implements Directory {
  readonly #engine: MemoryEngine;
  readonly #client: string;
  #begun: BootId | undefined;

  constructor(engine: MemoryEngine, client: string) {
    this.#engine = engine;
    this.#client = client;
  }

  async beat(me: HostRow): Promise<readonly SeenHost[]> {
    const isFirst = this.#begun !== me.boot;
    const rows = await this.#ask(() => this.#engine.beat(this.#client, me, isFirst));
    this.#begun = me.boot;
    return rows;
  }

  hint(rows: readonly PlaceHint[]): Promise<void> {
    return this.#ask(() => this.#engine.hint(rows));
  }

  hints(): Promise<readonly PlaceHint[]> {
    return this.#ask(() => this.#engine.hints());
  }

  secretBox(name: string, put?: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#ask(() => this.#engine.secretBox(name, put));
  }

  forget(host: HostId): Promise<void> {
    return this.#ask(() => this.#engine.forget(host));
  }

  #ask<T>(work: () => T): Promise<T> {
    return this.#engine.request(this.#client, () => ({ whenDone: (take) => take(work()) }));
  }
}

import { MessageChannel, type MessagePort, Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { atMost } from '../../node/at-most.ts';
import { baseNiceness } from '../../node/child-priority.ts';
import type { Report } from '../../node/report-line.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import type { HostFigures } from './host-counts.ts';
import type { OpenWay, ServiceOutbound, WayOptions } from './outbound.ts';
import type { FromOutbound, KnownNames, OutboundStart, ToOutbound } from './outbound-messages.ts';
import type { OutboundRules } from './outbound-rules.ts';
import type { RenewalMessage } from './request-way.ts';

export interface OutboundThreadOptions {
  readonly rules: OutboundRules;
  /** The database that a name stands for; asked again after `renamed`. */
  readonly databaseNamed: (name: string) => DatabaseIdentity | undefined;
  /** See `OutboundOptions`. */
  readonly onRefused: (database: DatabaseIdentity, host: string) => void;
  readonly nameServers?: readonly string[];
  readonly report: Report;
}

/** A way, and what the thread is to know of it. */
interface Way {
  readonly database: DatabaseIdentity;
  readonly options: WayOptions;
  readonly renewals: MessagePort;
  readonly answers: SharedArrayBuffer;
  /** The end for the thread, while there is none; messages wait in it. */
  port: MessagePort | undefined;
  isReplaced: boolean;
}

/**
 * Sends the requests of all modules from one thread, which starts with the first way and ends with
 * the service. Lanes talk to it without anybody between them. When it dies, what is under way
 * fails, and another one is started.
 */
export class OutboundThread implements ServiceOutbound {
  readonly #options: OutboundThreadOptions;
  readonly #ways = new Map<number, Way>();
  #lastWay = 0;
  #thread: Thread | undefined;
  #isStarting = false;
  /** Until the next start, after one has died. */
  #rest: NodeJS.Timeout | undefined;
  #startedAt = 0;
  /** How long the next start waits; it grows with each thread that does not last. */
  #restMillis = 0;
  #names: KnownNames;
  #figures: readonly HostFigures[] = [];
  /** Who waits for `done`, in order. */
  #asked: (() => void)[] = [];
  #isClosed = false;

  constructor(options: OutboundThreadOptions) {
    this.#options = options;
    this.#names = this.#currentNames();
  }

  get isEnabled(): boolean {
    return this.#options.rules.mode !== 'off';
  }

  open(database: DatabaseIdentity, options: WayOptions): OpenWay {
    this.#lastWay += 1;
    const id = this.#lastWay;
    const { port1, port2 } = new MessageChannel();
    const { port1: renewals, port2: renewed } = new MessageChannel();
    const answers = new SharedArrayBuffer(4);
    const way: Way = { database, options, renewals, answers, port: port1, isReplaced: false };
    this.#ways.set(id, way);
    if (this.#thread === undefined) void this.#start();
    else this.#tellOf(id, way);
    return {
      way: { port: port2, renewals: renewed, answers },
      replaced: () => {
        way.isReplaced = true;
        this.#tell({ kind: 'replaced', way: id });
      },
      close: () => {
        this.#tell({ kind: 'close', way: id });
        this.#end(id);
      },
    };
  }

  async figures(): Promise<readonly HostFigures[]> {
    await atMost(limits.outboundFiguresMillisMax, this.#ask({ kind: 'askFigures' }));
    return this.#figures;
  }

  async renamed(): Promise<void> {
    const names = this.#currentNames();
    if (isSame(names, this.#names)) return;
    this.#names = names;
    await this.#ask({ kind: 'names', names });
  }

  forget(database: DatabaseIdentity): void {
    this.#figures = this.#figures.filter((one) => one.database !== database);
    this.#tell({ kind: 'forget', database });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#rest);
    for (const id of this.#ways.keys()) this.#end(id);
    await this.#thread?.terminate();
  }

  /** Those that the rules mention: the thread needs no others. */
  #currentNames(): KnownNames {
    const { rules, databaseNamed } = this.#options;
    const names = new Map<string, DatabaseIdentity>();
    for (const { database: name } of rules.allow) {
      const database = name === undefined ? undefined : databaseNamed(name);
      if (name !== undefined && database !== undefined) names.set(name, database);
    }
    return names;
  }

  async #start(): Promise<void> {
    if (this.#isStarting || this.#rest !== undefined) return;
    this.#isStarting = true;
    try {
      this.#run(await workerEntry('outbound'));
    } catch (error) {
      this.#died(error);
    } finally {
      this.#isStarting = false;
    }
  }

  #run(entry: string): void {
    if (this.#isClosed) return;
    const { rules, nameServers } = this.#options;
    const workerData: OutboundStart = {
      rules,
      nameServers,
      names: this.#names,
      figures: this.#figures,
      niceness: baseNiceness(),
    };
    const thread = new Thread(entry, {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: limits.outboundHeapMebibytesMax },
      // It talks to strangers, and needs nothing of what the service knows.
      env: {},
      execArgv: [],
    });
    this.#startedAt = performance.now();
    this.#thread = thread;
    let failure: unknown;
    thread.on('message', (message: FromOutbound) => this.#receive(message));
    thread.on('error', (error) => {
      failure = error;
    });
    thread.on('exit', () => {
      this.#thread = undefined;
      this.#died(failure);
    });
    // The service lives for other things.
    thread.unref();
    for (const [id, way] of this.#ways) this.#tellOf(id, way);
  }

  #died(failure: unknown): void {
    for (const done of this.#asked.splice(0)) done();
    if (this.#isClosed) return;
    for (const way of this.#ways.values()) renew(way);
    const cause = failure instanceof Error ? failure.message : 'it ended';
    const message = `The thread that sends the requests of modules has died, and is restarted`;
    this.#options.report({ level: 'error', message: `${message}: ${cause}` });
    const lived = performance.now() - this.#startedAt;
    const { outboundRestMillisMin: min, outboundRestMillisMax: max } = limits;
    const isLasting = this.#startedAt > 0 && lived > max;
    this.#restMillis = isLasting ? min : Math.min(Math.max(2 * this.#restMillis, min), max);
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      void this.#start();
    }, this.#restMillis).unref();
  }

  #receive(message: FromOutbound): void {
    switch (message.kind) {
      case 'broken': {
        const broken = this.#ways.get(message.way)?.options.broken;
        this.#end(message.way);
        broken?.(message.message);
        return;
      }
      case 'refused':
        this.#options.onRefused(message.database, message.host);
        return;
      case 'figures':
        this.#figures = message.figures;
        return;
      case 'done':
        this.#asked.shift()?.();
        return;
    }
  }

  #tellOf(id: number, way: Way): void {
    const { database, options, port, answers, isReplaced } = way;
    const { lanes } = options;
    if (port === undefined) return;
    way.port = undefined;
    this.#tell({ kind: 'open', way: id, database, lanes, port, answers }, [port]);
    if (isReplaced) this.#tell({ kind: 'replaced', way: id });
  }

  #tell(message: ToOutbound, moved: readonly MessagePort[] = []): void {
    this.#thread?.postMessage(message, moved);
  }

  /** Resolves when that is done, or the thread is gone. */
  #ask(message: ToOutbound): Promise<void> {
    if (this.#thread === undefined) return Promise.resolve();
    this.#tell(message);
    return new Promise((resolve) => this.#asked.push(resolve));
  }

  #end(id: number): void {
    const way = this.#ways.get(id);
    this.#ways.delete(id);
    way?.port?.close();
    way?.renewals.close();
  }
}

/** A lane that waits for an answer learns that there will be none. */
function renew(way: Way): void {
  // No thread has taken it, so nothing is lost.
  if (way.port !== undefined) return;
  const { port1, port2 } = new MessageChannel();
  way.port = port1;
  const message: RenewalMessage = { port: port2 };
  way.renewals.postMessage(message, [port2]);
  const answers = new Int32Array(way.answers);
  Atomics.add(answers, 0, 1);
  Atomics.notify(answers, 0);
}

function isSame(one: KnownNames, other: KnownNames): boolean {
  return one.size === other.size && [...one].every(([name, of]) => other.get(name) === of);
}

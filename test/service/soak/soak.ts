import { once } from 'node:events';
import { Random } from '../../../src/testing/random.ts';
import { figureIn } from '../figure.ts';
import { type RunningService, Sandbox } from '../harness.ts';
import type { Person } from '../running.ts';
import { SocketClient } from '../socket-client.ts';
import { speechOf } from '../speech.ts';
import { type Census, Inspector } from './inspector.ts';
import { soakModule } from './soak-module.ts';
import { knock, request, type Target, Visitor } from './visitors.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly cycleMillis: number;
  /** A cycle goes on until so many clients came, also where the machine is slow. */
  readonly visitsPerCycle: number;
  /** Told of each sample. */
  readonly log: (line: string) => void;
}

/** What the process has when nobody but the steady clients is connected. */
export interface Sample {
  readonly rssBytes: number;
  readonly gatewayBytes: number;
  readonly workerBytes: number;
  /** What keeps the process running: sockets, timers, ports. */
  readonly resources: number;
  readonly connections: number;
  readonly querySets: number;
}

export interface SoakReport {
  readonly samples: readonly Sample[];
  readonly visits: number;
  /** Clients that the service gave up because too much waited for them. */
  readonly givenUp: number;
  /** Objects that belong to clients and are more than before the run, by thread. */
  readonly leftovers: readonly string[];
}

/**
 * Runs a service in a process of its own under clients that come, go, stop reading and ask for
 * nonsense, in cycles. After each cycle all but a few steady clients are gone; then memory is
 * measured. Before the first and after the last cycle every object of the process is counted.
 */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const sandbox = await Sandbox.make();
  const bounds = ['--ping-interval', '1000', '--idle-timeout', '4000'];
  const service = await sandbox.startInspected(['--log-level', 'error', ...bounds]);
  try {
    const run = new Soak(options, service, await prepare(service.url));
    return await run.whole();
  } finally {
    service.child.kill('SIGKILL');
    await service.ended;
    sandbox.remove();
  }
}

/** The factor for a machine that does other things, too. */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);
const steadyCount = 8;
/** Times that it looks for what is left. */
const looksMax = 5;
const floodText = 'x'.repeat(1_500);
/** Much more than the system keeps for a socket, and the service besides. */
const floodRoundsMax = 120;
const database = 'soak';

class Soak {
  readonly #options: SoakOptions;
  readonly #service: RunningService;
  readonly #target: Target;
  readonly #random: Random;
  #steady: Visitor[] = [];
  #visits = 0;

  constructor(options: SoakOptions, service: RunningService, target: Target) {
    this.#options = options;
    this.#service = service;
    this.#target = target;
    this.#random = new Random(options.seed);
  }

  async whole(): Promise<SoakReport> {
    const { minutes, log } = this.#options;
    const inspector = await Inspector.open(this.#service.output);
    const end = Date.now() + minutes * 60_000;
    const samples: Sample[] = [];
    try {
      await this.#warmUp(end);
      const before = await this.#census(inspector);
      for (let at = 0; at < steadyCount; at += 1) this.#steady.push(await this.#steadyVisitor());
      for (let cycle = 0; Date.now() < end || cycle < 2; cycle += 1) {
        await this.#cycle(cycle);
        const sample = await this.#sample(inspector);
        samples.push(sample);
        log(JSON.stringify(sample));
      }
      await Promise.all(this.#steady.map((one) => one.leave()));
      await this.#quiet(0);
      const leftovers = await this.#leftovers(inspector, before);
      const { givenUp } = await this.#figures();
      return { samples, visits: this.#visits, givenUp, leftovers };
    } finally {
      inspector.close();
    }
  }

  /** What is there for a moment, such as a timer of a write, is not left: it is looked for again. */
  async #leftovers(inspector: Inspector, before: readonly Census[]): Promise<readonly string[]> {
    for (let looks = 1; ; looks += 1) {
      const found = leftoversOf(before, await this.#census(inspector));
      if (found.length === 0 || looks === looksMax) return found;
      await this.#quiet(0);
    }
  }

  /** What is made once, or kept for a while, is there before anything is counted. */
  async #warmUp(end: number): Promise<void> {
    const until = Date.now() + (end - Date.now()) / 6;
    for (let cycle = 1; cycle < 2 || Date.now() < until; cycle += 1) await this.#cycle(cycle);
    for (const person of this.#target.people) {
      const visitor = await Visitor.arrive({ ...this.#target, people: [person] }, this.#random);
      visitor.subscribe(['SELECT * FROM mine', 'SELECT * FROM in_zone_one']);
      await pause(200);
      await visitor.leave();
    }
    await this.#quiet(0);
  }

  /** Clients of every kind for a while; at the end those are gone that came in it. */
  async #cycle(cycle: number): Promise<void> {
    const random = this.#random;
    const { cycleMillis, visitsPerCycle } = this.#options;
    const end = Date.now() + cycleMillis * 0.8;
    const enough = this.#visits + visitsPerCycle;
    const slow = await this.#slowReaders();
    const visitors: Visitor[] = [];
    const others: Promise<unknown>[] = [];
    while (Date.now() < end || this.#visits < enough) {
      for (let count = random.below(3); count > 0; count -= 1) {
        visitors.push(await this.#arrive());
      }
      for (const one of [...visitors, ...this.#steady]) if (random.chance(0.4)) one.act();
      if (random.chance(0.3)) others.push(knock(this.#target, random));
      if (random.chance(0.3)) others.push(request(this.#target, random));
      while (visitors.length > 12) others.push(visitors.shift()?.leave() ?? Promise.resolve());
      await pause(20);
    }
    if (cycle % 5 === 1) await this.#flood();
    for (const visitor of visitors) others.push(visitor.leave());
    await Promise.all(others);
    for (const { client } of slow) {
      await client.ended;
    }
    await this.#quiet(this.#steady.length);
  }

  async #arrive(): Promise<Visitor> {
    this.#visits += 1;
    return Visitor.arrive(this.#target, this.#random);
  }

  async #steadyVisitor(): Promise<Visitor> {
    const visitor = await this.#arrive();
    for (const text of ['item', 'mine', 'zone']) visitor.subscribe([`SELECT * FROM ${text}`]);
    return visitor;
  }

  /** They are silent, too, so that the service drops them before the cycle ends. */
  async #slowReaders(): Promise<Visitor[]> {
    const slow = [await this.#arrive(), await this.#arrive()];
    for (const one of slow) {
      one.subscribe(['SELECT * FROM item', 'SELECT * FROM bell']);
      one.stopReading();
      setTimeout(() => one.client.socket.resume(), this.#options.cycleMillis * 0.8);
    }
    return slow;
  }

  /** A reader that stops while it goes on to send, until more messages wait for it than may. */
  async #flood(): Promise<void> {
    const speech = speechOf('v3.bsatn');
    const [slow, caller] = await Promise.all([this.#plainClient(), this.#plainClient()]);
    slow.send(speech.subscribe(1, 1, ['SELECT * FROM bell']));
    slow.socket.pause();
    const calls = Array.from({ length: 500 }, (_, id) => speech.call(id, 'ring', [floodText]));
    const { givenUp } = await this.#figures();
    for (let round = 0; round < floodRoundsMax; round += 1) {
      caller.send(Buffer.concat(calls as Uint8Array[]));
      slow.socket.ping();
      // Not faster than the service answers, else it is the caller who is given up.
      await Promise.race([once(caller.socket, 'message'), caller.ended]);
      await pause(50);
      if ((await this.#figures()).givenUp > givenUp) break;
    }
    slow.socket.resume();
    caller.socket.close();
    slow.socket.close();
    await Promise.all([slow.ended, caller.ended]);
  }

  async #plainClient(): Promise<SocketClient> {
    const client = await SocketClient.open(this.#target.url, database, {
      protocols: ['v3.bsatn.spacetimedb'],
      query: 'compression=None&confirmed=false',
    });
    client.socket.on('message', () => client.frames.splice(0));
    return client;
  }

  /** Waits until only so many clients are connected, and what they left behind is done. */
  async #quiet(count: number): Promise<void> {
    const end = Date.now() + 30_000 * slowness;
    for (;;) {
      const { connections, waiting } = await this.#figures();
      if (connections === count && waiting === 0) return;
      if (Date.now() > end) {
        throw new Error(`${connections} clients are there, not ${count}`);
      }
      await pause(20);
    }
  }

  async #sample(inspector: Inspector): Promise<Sample> {
    await inspector.untilPassed();
    const { connections, querySets } = await this.#figures();
    const { rssBytes, heldBytes: gatewayBytes } = await inspector.main.memory();
    let workerBytes = 0;
    for (const worker of inspector.workers) workerBytes += (await worker.memory()).heldBytes;
    const resources = await this.#lasting(inspector);
    return { rssBytes, gatewayBytes, workerBytes, resources, connections, querySets };
  }

  /** What keeps the process running for longer than a file is written or a connection ends. */
  async #lasting(inspector: Inspector): Promise<number> {
    const expression = 'process.getActiveResourcesInfo().length';
    let least = Number.POSITIVE_INFINITY;
    for (let look = 0; look < 10; look += 1) {
      least = Math.min(least, await inspector.main.evaluate<number>(expression));
      await pause(50);
    }
    return least;
  }

  async #census(inspector: Inspector): Promise<Census[]> {
    // Connections of the client library of this process to the service end by themselves.
    await pause(6_000);
    await inspector.untilPassed();
    return [
      await inspector.main.census(),
      ...(await Promise.all(inspector.workers.map((worker) => worker.census()))),
    ];
  }

  async #figures() {
    // A kept connection may end while a heap is looked at, just when it is used again.
    const headers = { connection: 'close' };
    const answer = await fetch(`${this.#target.url}/v1/metrics`, { headers });
    const text = await answer.text();
    const figure = (name: string) => figureIn(text, name);
    return {
      connections: figure('connections'),
      querySets: figure('query_sets'),
      waiting: figure('socket_queued_messages'),
      givenUp: figure('socket_dropped_total'),
    };
  }
}

/**
 * What there is for each client or each of its query sets, and what could keep the process from its
 * end. Prepared statements, pages of tables and the like have bounds of their own.
 */
const ofClients = [
  ...['Connection', 'LiveFeed', 'SendQueue', 'Intake', 'V1', 'V1Sets', 'V2', 'FeedPending'],
  ...['UpgradedSocket', 'StrictSocket', 'Socket', 'IncomingMessage', 'listeners'],
  ...['LiveFragment', 'JoinDelta', 'IndexProbe', 'SourceWatch', 'WatchedRanges', 'EncodedMessage'],
  ...['Timeout', 'Immediate', 'MessagePort', 'AbortController', 'Response', 'ReadableStream'],
];

function leftoversOf(before: readonly Census[], after: readonly Census[]): string[] {
  return after.flatMap((census, thread) =>
    ofClients.flatMap((name) => {
      const more = (census[name] ?? 0) - (before[thread]?.[name] ?? 0);
      return more > 0 ? [`${thread === 0 ? 'gateway' : 'worker'}: ${more} more of ${name}`] : [];
    }),
  );
}

async function prepare(url: string): Promise<Target> {
  const people: Person[] = [];
  for (let at = 0; at < 6; at += 1) {
    const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
    people.push((await answer.json()) as Person);
  }
  const headers = { authorization: `Bearer ${people[0]?.token}` };
  const where = `${url}/v1/database/${database}?host_type=Js`;
  const answer = await fetch(where, { method: 'PUT', headers, body: await soakModule() });
  if (!answer.ok) throw new Error(await answer.text());
  return { url, database, people };
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

import { readdirSync, readlinkSync } from 'node:fs';
import { Random } from '../../../src/testing/random.ts';
import { program } from '../built-program.ts';
import { type RunningService, Sandbox } from '../harness.ts';
import { type Conversation, converse } from '../raw-http.ts';
import type { Person } from '../running.ts';
import { type Census, Inspector } from '../soak/inspector.ts';
import { framings, inOrder, smuggling } from './http-framing.ts';
import { mutations } from './http-mutations.ts';
import { type Draft, plainRequest, type Scene } from './http-requests.ts';

export interface FuzzOptions {
  /** The same seed, the same requests. */
  readonly seed: number;
  readonly requests: number;
  /** How many more come before memory is measured: caches fill, code is compiled. */
  readonly warmUp: number;
  readonly log: (line: string) => void;
}

export interface FuzzReport {
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Connections that the service did not end when their client had. */
  readonly unended: readonly string[];
  /** Whole requests that got no answer. */
  readonly unanswered: readonly string[];
  /** Answers with the status 500 that say nothing, while the log says nothing either. */
  readonly unexplained: readonly string[];
  /** Requests hidden in the body of another one that were answered. */
  readonly smuggled: readonly string[];
  /** What the log of the service says of errors that nobody expected. */
  readonly failures: readonly string[];
  /** How often a database was opened again after its thread had ended. */
  readonly restarts: number;
  /** Objects of connections that are more than before, by class. */
  readonly leftovers: readonly string[];
  /** Sockets of the process that are left when every client has gone. */
  readonly socketsLeft: number;
  readonly grownBytes: { readonly resident: number; readonly gateway: number };
  readonly isUp: boolean;
  /** Whether the database still answers. */
  readonly isServing: boolean;
  readonly millis: number;
}

/** What a report must say, whatever was sent. */
export const nothingWrong = {
  isUp: true,
  isServing: true,
  unended: [],
  unanswered: [],
  unexplained: [],
  smuggled: [],
  failures: [],
  restarts: 0,
  leftovers: [],
  socketsLeft: 0,
} as const satisfies Partial<FuzzReport>;

/**
 * Sends mutated requests over bare sockets to a service in a process of its own, and looks at what
 * comes back, at the log, and at the memory of the process.
 */
export async function fuzzHttp(options: FuzzOptions): Promise<FuzzReport> {
  const sandbox = await Sandbox.make();
  const service = await sandbox.startInspected(['--log-level', 'warn']);
  const inspector = await Inspector.open(service.output);
  try {
    const scene = await prepare(service.url);
    return await new Fuzz(options, { service, inspector, scene, port: sandbox.port }).whole();
  } finally {
    inspector.close();
    service.child.kill('SIGKILL');
    await service.ended;
    sandbox.remove();
  }
}

interface Stage {
  readonly service: RunningService;
  readonly inspector: Inspector;
  readonly scene: Scene;
  readonly port: number;
}

const clientCount = 24;

class Fuzz {
  readonly #options: FuzzOptions;
  readonly #stage: Stage;
  readonly #statuses: Record<string, number> = {};
  readonly #unended: string[] = [];
  readonly #unanswered: string[] = [];
  readonly #silent: string[] = [];
  readonly #smuggled: string[] = [];
  #next = 0;

  constructor(options: FuzzOptions, stage: Stage) {
    this.#options = options;
    this.#stage = stage;
  }

  async whole(): Promise<FuzzReport> {
    const { requests, warmUp, log } = this.#options;
    const { inspector, service } = this.#stage;
    const start = performance.now();
    await this.#send(warmUp);
    const sockets = this.#sockets();
    const objects = await inspector.main.census();
    const before = await inspector.main.memory();
    await this.#send(warmUp + requests);
    const socketsLeft = await this.#socketsBeyond(sockets);
    const after = await inspector.main.memory();
    const leftovers = leftoversOf(objects, await inspector.main.census());
    const failures = service.output.split('\n').filter((line) => line.includes('failed while'));
    const report = {
      statuses: this.#statuses,
      unended: this.#unended,
      unanswered: this.#unanswered,
      unexplained: failures.length === 0 ? this.#silent : [],
      smuggled: this.#smuggled,
      failures,
      restarts: await this.#restarts(),
      leftovers,
      socketsLeft,
      grownBytes: {
        resident: after.rssBytes - before.rssBytes,
        gateway: after.heldBytes - before.heldBytes,
      },
      isUp: service.child.exitCode === null,
      isServing: await this.#isServing(),
      millis: Math.round(performance.now() - start),
    };
    log(JSON.stringify(report, undefined, 1));
    return report;
  }

  /** Sends all requests below a number, many at once. */
  async #send(end: number): Promise<void> {
    const client = async () => {
      while (this.#next < end) {
        const number = this.#next;
        this.#next += 1;
        await this.#one(number);
      }
    };
    await Promise.all(Array.from({ length: clientCount }, client));
  }

  async #one(number: number): Promise<void> {
    const { seed } = this.#options;
    const random = new Random(seed * 1_000_000 + number);
    const draft = mutated(this.#stage.scene, random);
    const framing = random.chance(0.5) ? inOrder : random.pick(framings);
    const conversation = await converse(this.#stage.port, framing.frame(draft, random));
    const { method, target } = draft;
    const what = `${number}: ${framing.name}, ${method} ${target.slice(0, 100)}`;
    this.#look(what, framing.name, conversation);
  }

  #look(what: string, framing: string, conversation: Conversation): void {
    const { answers, hasEnded, rest, wasCut } = conversation;
    for (const { status, body } of answers) {
      this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
      const words = body.toString();
      if (status === 500 && (words === '' || words === 'internal error')) this.#silent.push(what);
    }
    if (!hasEnded) this.#unended.push(what);
    if (framing === smuggling && answers.length > 1) this.#smuggled.push(what);
    const isWhole = framing === 'whole' || framing === 'in pieces';
    const isAnswered = answers.length > 0 || rest.length > 0 || wasCut;
    if (isWhole && !isAnswered) this.#unanswered.push(what);
  }

  #sockets(): number {
    const folder = `/proc/${this.#stage.service.child.pid}/fd`;
    return readdirSync(folder).filter((name) => {
      try {
        return readlinkSync(`${folder}/${name}`).startsWith('socket:');
      } catch {
        return false;
      }
    }).length;
  }

  async #socketsBeyond(count: number): Promise<number> {
    for (let look = 0; look < 100 && this.#sockets() > count; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return Math.max(0, this.#sockets() - count);
  }

  async #isServing(): Promise<boolean> {
    const { service, scene } = this.#stage;
    const where = `${service.url}/v1/database/${scene.database}/sql`;
    const { status } = await fetch(where, { method: 'POST', body: 'SELECT id FROM person' });
    return status === 200;
  }

  async #restarts(): Promise<number> {
    const text = await (await fetch(`${this.#stage.service.url}/v1/metrics`)).text();
    const counts = [...text.matchAll(/^reducerdb_worker_restarts_total\{.*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }
}

/** What there is for each connection or request; some of the last ones may not be gone yet. */
const ofConnections = ['Socket', 'IncomingMessage', 'ServerResponse', 'Follower', 'Connection'];
const leftoversMax = 10;

function leftoversOf(before: Census, after: Census): string[] {
  return ofConnections.flatMap((name) => {
    const more = (after[name] ?? 0) - (before[name] ?? 0);
    return more > leftoversMax ? [`${more} more of ${name}`] : [];
  });
}

/** A request that the service knows, changed up to three times. */
function mutated(scene: Scene, random: Random): Draft {
  const draft = plainRequest(scene, random);
  for (let count = random.below(4); count > 0; count -= 1) random.pick(mutations)(draft, random);
  return draft;
}

async function prepare(url: string): Promise<Scene> {
  const person = async (): Promise<Person> =>
    (await (await fetch(`${url}/v1/identity`, { method: 'POST' })).json()) as Person;
  const [owner, stranger] = [await person(), await person()];
  const headers = { authorization: `Bearer ${owner.token}` };
  const where = `${url}/v1/database/fuzz?host_type=Js`;
  const answer = await fetch(where, { method: 'PUT', headers, body: await program('inn') });
  if (!answer.ok) throw new Error(await answer.text());
  // Its owner is among those who ask; a changed method would delete it.
  await fetch(`${url}/v1/database/fuzz/lock`, { method: 'POST', headers });
  const identity = await (await fetch(`${url}/v1/database/fuzz/identity`)).text();
  return { database: 'fuzz', identity, owner, stranger };
}
